"""PodMatch: which pods a plugin counts on each node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from scheduler.api.selectors import LabelMatcher


class PodSelection(NamedTuple):
    """Pods of these namespaces whose labels the matcher matches; ``namespaces`` None stands for all of them."""

    namespaces: frozenset[str] | None
    labels: LabelMatcher

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return (self.namespaces is None or namespace in self.namespaces) and self.labels.matches(labels)


class PodMatch(msgspec.Struct, frozen=True, cache_hash=True):
    """Pods that are in every one of the selections; ``counts_terminating``: those that are being deleted count as well.

    A key that is looked up with each decision, so that it keeps its hash.
    """

    selections: tuple[PodSelection, ...]
    counts_terminating: bool = True

    def matches(self, namespace: str, labels: Mapping[str, str], *, is_terminating: bool) -> bool:
        if is_terminating and not self.counts_terminating:
            return False
        return all(selection.matches(namespace, labels) for selection in self.selections)

    @property
    def namespaces(self) -> frozenset[str] | None:
        """No pod of another namespace matches; None when that is not known."""
        found: frozenset[str] | None = None
        for selection in self.selections:
            if selection.namespaces is not None:
                found = selection.namespaces if found is None else found & selection.namespaces
        return found
