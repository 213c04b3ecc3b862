"""The volumes of storage classes, read and put in order once, however many pods ask."""

from __future__ import annotations

from typing import NamedTuple

from scheduler.api.storage import PersistentVolume
from scheduler.plugins.volume_binding.facts import Volume, read_volume

_CLASSES = 32


class VolumesOfClass(NamedTuple):
    """``by_size``: the numbers of ``volumes``, by size and then in their own order."""

    listed: tuple[PersistentVolume, ...]
    volumes: tuple[Volume, ...]
    by_size: tuple[int, ...]


class VolumeCatalogue:
    """Keeps what was read of a volume while the object stays the same one."""

    def __init__(self) -> None:
        self._classes: dict[str, VolumesOfClass] = {}

    def of(self, storage_class: str, listed: tuple[PersistentVolume, ...]) -> VolumesOfClass:
        """The volumes of a class, of which ``listed`` are all there are now."""
        known = self._classes.pop(storage_class, None)
        if known is None or known.listed is not listed:
            before = {id(one.object): one for one in known.volumes} if known is not None else {}
            volumes = tuple(before.get(id(one)) or read_volume(one) for one in listed)
            numbers = sorted(range(len(volumes)), key=lambda number: volumes[number].size)
            known = VolumesOfClass(listed, volumes, tuple(numbers))
        # Put at the end: the class that was not asked for longest is the first to go.
        self._classes[storage_class] = known
        if len(self._classes) > _CLASSES:
            del self._classes[next(iter(self._classes))]
        return known
