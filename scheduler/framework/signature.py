"""Signatures: what of a pod the decision on it depends on (KEP-5598)."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary


class Signature:
    """Equal fragments are one object, so that signatures compare and hash by identity."""

    __slots__ = ("__weakref__", "fragments", "scheduler_name")

    def __init__(self, scheduler_name: str, fragments: tuple[Any, ...]) -> None:
        self.scheduler_name = scheduler_name
        self.fragments = fragments


class Signatures:
    """Gives out one Signature for equal fragments, for as long as anyone holds it."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[tuple[str, tuple[Any, ...]], Signature] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, scheduler_name: str, fragments: tuple[Any, ...]) -> Signature:
        key = (scheduler_name, fragments)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Signature(scheduler_name, fragments)
        return found
