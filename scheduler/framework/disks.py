"""Inline disks that two pods cannot share (kube-scheduler 1.37: VolumeRestrictions).

Two users of one disk conflict, unless both only read it; an Amazon disk always; two RBD images when they share a monitor, the
pool and the name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from scheduler.api.objects import Volume

Disk: TypeAlias = tuple[str, ...]
"""What tells one disk from another; an RBD image is one disk for each of its monitors."""


def disks_of(volume: Volume) -> Iterator[tuple[Disk, bool]]:
    """The inline disks of a volume, each with whether it is only read; an Amazon disk counts as written to."""
    if volume.gce_persistent_disk is not None:
        yield ("gce", volume.gce_persistent_disk.pd_name), volume.gce_persistent_disk.read_only
    if volume.aws_elastic_block_store is not None:
        yield ("aws", volume.aws_elastic_block_store.volume_id), False
    if volume.iscsi is not None:
        yield ("iscsi", volume.iscsi.iqn), volume.iscsi.read_only
    if volume.rbd is not None:
        source = volume.rbd
        for monitor in sorted(set(source.monitors or ())):
            yield ("rbd", monitor, source.pool, source.image), source.read_only


def share_disk(volume: Volume, other: Volume) -> bool:
    """Whether two pods with these volumes conflict."""
    others = list(disks_of(other))
    return any(
        disk == their_disk and not (read_only and they_read_only)
        for disk, read_only in disks_of(volume)
        for their_disk, they_read_only in others
    )
