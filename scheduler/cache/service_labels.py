"""Services of one namespace, found by the labels of a pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

Label = tuple[str, str]
Labels = Mapping[str, str]


class ServiceLabels:
    """What Services select by. One that selects by nothing is none here: a null selector matches no pod, {} adds nothing.

    Each is filed under that label of its selector under which the fewest are, so that a pod is compared with few of those that
    do not match it.
    """

    __slots__ = ("_by_label", "_filed_under", "_keys")

    def __init__(self) -> None:
        self._by_label: dict[Label, dict[str, Labels]] = {}
        self._filed_under: dict[str, Label] = {}
        self._keys: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._filed_under)

    def apply(self, name: str, selector: Labels) -> bool:
        """What the Service of this name selects by, at least one label. Returns whether that is news."""
        filed_under = self._filed_under.get(name)
        if filed_under is not None and self._by_label[filed_under][name] == selector:
            return False
        self.remove(name)
        rarest = min(selector.items(), key=lambda label: len(self._by_label.get(label, ())))
        self._filed_under[name] = rarest
        self._by_label.setdefault(rarest, {})[name] = selector
        self._keys.update(selector.keys())
        return True

    def remove(self, name: str) -> bool:
        """The Service selects nothing any more. Returns whether it did."""
        filed_under = self._filed_under.pop(name, None)
        if filed_under is None:
            return False
        there = self._by_label[filed_under]
        for key in there.pop(name):
            self._keys[key] -= 1
            if not self._keys[key]:
                del self._keys[key]
        if not there:
            del self._by_label[filed_under]
        return True

    def looked_at(self, labels: Labels) -> tuple[Label, ...]:
        """Those of a pod's labels, sorted, whose keys some Service selects by: pods that have them in common match alike."""
        keys = self._keys
        return tuple(sorted([label for label in labels.items() if label[0] in keys])) if keys else ()

    def matching(self, labels: Labels) -> Iterator[Labels]:
        """What the Services that match a pod with these labels select by, in an order that depends on their history."""
        for label in labels.items():
            for selector in self._by_label.get(label, {}).values():
                if selector.items() <= labels.items():
                    yield selector
