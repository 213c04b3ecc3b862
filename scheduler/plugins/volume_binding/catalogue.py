"""The capacities of storage classes, read once, however many pods ask."""

from __future__ import annotations

from typing import NamedTuple

from scheduler.api.storage import CSIStorageCapacity
from scheduler.plugins.volume_binding.facts import Capacity, read_capacity

_CLASSES = 32


class _Read(NamedTuple):
    listed: tuple[CSIStorageCapacity, ...]
    facts: tuple[Capacity, ...]


class CapacityCatalogue:
    """What was read of the capacities of a class, kept while an object stays the same one."""

    def __init__(self) -> None:
        self._classes: dict[str, _Read] = {}

    def of(self, storage_class: str, listed: tuple[CSIStorageCapacity, ...]) -> tuple[Capacity, ...]:
        """The facts of each capacity, of which ``listed`` are all there are now; the same tuple for the same tuple."""
        known = self._classes.pop(storage_class, None)
        if known is None or known.listed is not listed:
            before = {} if known is None else dict(zip(map(id, known.listed), known.facts, strict=True))
            facts = tuple(before[id(one)] if id(one) in before else read_capacity(one) for one in listed)
            known = _Read(listed, facts)
        # Put at the end: the class that was not asked for longest is the first to go.
        self._classes[storage_class] = known
        if len(self._classes) > _CLASSES:
            del self._classes[next(iter(self._classes))]
        return known.facts
