"""What rules look at of a PersistentVolume, read once; and the volumes of a class, to find those for a claim."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from scheduler.api import quantity
from scheduler.api.objects import NodeSelector
from scheduler.api.selectors import LabelMatcher
from scheduler.api.storage import PersistentVolume
from scheduler.framework.ops import IdArray, IntArray
from scheduler.framework.ranking import Ranking
from scheduler.framework.reach import Reach, reach_of_affinity

FILESYSTEM = "Filesystem"

_STORAGE = "storage"
_AVAILABLE = "Available"


class VolumeKind(NamedTuple):
    """What many volumes have in common."""

    mode: str
    attributes_class: str
    access_modes: frozenset[str]


class Volume(NamedTuple):
    """A PersistentVolume.

    Attributes:
        size: in units of 10**-9.
        size_bytes: the same, rounded up.
        is_free: available to any claim.
        reach: the nodes that it can be used on.
    """

    object: PersistentVolume
    size: int
    size_bytes: int
    kind: VolumeKind
    is_free: bool
    is_terminating: bool
    reach: Reach

    @property
    def name(self) -> str:
        return self.object.metadata.name


def required_of(volume: PersistentVolume) -> NodeSelector | None:
    affinity = volume.spec.node_affinity
    return affinity.required if affinity is not None else None


def read_volume(volume: PersistentVolume, before: Volume | None = None) -> Volume:
    """``before``: what was read of it last; what has not changed is not read again."""
    spec = volume.spec
    capacity = (spec.capacity or {}).get(_STORAGE, 0)
    is_terminating = volume.metadata.deletion_timestamp is not None
    is_free = volume.status.phase == _AVAILABLE and spec.claim_ref is None and not is_terminating
    if before is not None and before.object.spec.node_affinity == spec.node_affinity:
        reach = before.reach
    else:
        reach = reach_of_affinity(required_of(volume))
    mode = FILESYSTEM if spec.volume_mode is None else spec.volume_mode
    return Volume(
        object=volume,
        size=quantity.nano(capacity),
        size_bytes=quantity.value(capacity),
        kind=VolumeKind(mode, spec.volume_attributes_class_name or "", frozenset(spec.access_modes or ())),
        is_free=is_free,
        is_terminating=is_terminating,
        reach=reach,
    )


class VolumeList(NamedTuple):
    """The volumes of a class at one time, by number; the numbers are not all in use.

    Attributes:
        size_bytes: shape ``(len(volumes),)``.
        field: the number in ``fields`` of each volume's ``storageClassName``; the class can be named by an annotation instead.
    """

    volumes: tuple[Volume, ...]
    size_bytes: IntArray
    field: IdArray
    fields: tuple[str, ...]


class ClassVolumes(Protocol):
    """The PersistentVolumes of a class."""

    def listed(self) -> VolumeList: ...

    def number_of(self, name: str) -> int | None:
        """The number of a volume of the class; None for any other one."""
        ...

    def smallest_first(
        self, size: int, is_suitable: Callable[[VolumeKind], bool], selector: LabelMatcher | None
    ) -> Ranking:
        """The free volumes of at least this size (in units of 10**-9), from the smallest on and equal ones by name."""
        ...
