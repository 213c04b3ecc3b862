"""Namespaces and their labels, and which of them a selector matches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scheduler.api.selectors import LabelMatcher

Labels = Mapping[str, str]

_MOST_ANSWERS = 256


class Namespaces:
    """``version``: another number after each change of a name or of labels."""

    def __init__(self) -> None:
        self.version = 0
        self._labels: dict[str, Labels] = {}
        self._answers: dict[LabelMatcher, frozenset[str]] = {}

    def apply(self, name: str, labels: Labels) -> bool:
        """A namespace as the watch shows it. Returns whether that is news."""
        if self._labels.get(name) == labels:
            return False
        self._labels[name] = labels
        self._changed()
        return True

    def remove(self, name: str) -> bool:
        """The namespace is gone. Returns whether it was known."""
        if self._labels.pop(name, None) is None:
            return False
        self._changed()
        return True

    def _changed(self) -> None:
        self.version += 1
        self._answers.clear()

    def labels(self, name: str) -> Labels | None:
        """None for a namespace that is not known."""
        return self._labels.get(name)

    def matching(self, selector: LabelMatcher) -> frozenset[str]:
        """Names of the known namespaces whose labels the selector matches."""
        answer = self._answers.get(selector)
        if answer is None:
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            names = (name for name, labels in self._labels.items() if selector.matches(labels))
            answer = self._answers[selector] = frozenset(names)
        return answer

    def items(self) -> Iterator[tuple[str, Labels]]:
        return iter(self._labels.items())
