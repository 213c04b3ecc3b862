"""The volumes and capacities of storage classes, read and put in order once, however many pods ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from scheduler.api.storage import CSIStorageCapacity, PersistentVolume
from scheduler.plugins.volume_binding.facts import Capacity, Volume, read_capacity, read_volume

_CLASSES = 32

ObjectT = TypeVar("ObjectT")
FactsT = TypeVar("FactsT")


class _Read(NamedTuple, Generic[ObjectT, FactsT]):
    listed: tuple[ObjectT, ...]
    facts: tuple[FactsT, ...]


class ReadObjects(Generic[ObjectT, FactsT]):
    """What was read of the objects of a class, kept while an object stays the same one."""

    def __init__(self, read: Callable[[ObjectT], FactsT]) -> None:
        self._read = read
        self._classes: dict[str, _Read[ObjectT, FactsT]] = {}

    def of(self, storage_class: str, listed: tuple[ObjectT, ...]) -> tuple[FactsT, ...]:
        """The facts of each object, of which ``listed`` are all there are now; the same tuple for the same tuple."""
        known = self._classes.pop(storage_class, None)
        if known is None or known.listed is not listed:
            before = {} if known is None else dict(zip(map(id, known.listed), known.facts, strict=True))
            facts = tuple(before[id(one)] if id(one) in before else self._read(one) for one in listed)
            known = _Read(listed, facts)
        # Put at the end: the class that was not asked for longest is the first to go.
        self._classes[storage_class] = known
        if len(self._classes) > _CLASSES:
            del self._classes[next(iter(self._classes))]
        return known.facts


class VolumesOfClass(NamedTuple):
    """``by_size``: the numbers of ``volumes``, by size and then in their own order."""

    volumes: tuple[Volume, ...]
    by_size: tuple[int, ...]


class Catalogue:
    """Volumes and capacities by class."""

    def __init__(self) -> None:
        self._volumes: ReadObjects[PersistentVolume, Volume] = ReadObjects(read_volume)
        self._capacities: ReadObjects[CSIStorageCapacity, Capacity] = ReadObjects(read_capacity)

    def volumes(self, storage_class: str, listed: tuple[PersistentVolume, ...]) -> VolumesOfClass:
        volumes = self._volumes.of(storage_class, listed)
        numbers = sorted(range(len(volumes)), key=lambda number: volumes[number].size)
        return VolumesOfClass(volumes, tuple(numbers))

    def capacities(self, storage_class: str, listed: tuple[CSIStorageCapacity, ...]) -> tuple[Capacity, ...]:
        return self._capacities.of(storage_class, listed)
