"""VolumeUses: which volumes the pods of each node use, by volume instead of by node: a pod asks for few of them.

Inline disks conflict as kube-scheduler 1.37's VolumeRestrictions has it: two users of one disk, unless both only read it; an
Amazon disk always; two RBD images when they share a monitor, the pool and the name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from scheduler.api.objects import Volume
from scheduler.cache.columns import Column
from scheduler.framework.pod_info import PodInfo

Disk: TypeAlias = tuple[str, ...]
"""What tells one disk from another; an RBD image is one disk for each of its monitors."""

_Counts: TypeAlias = dict[int, int]


class _Users:
    """Users of one disk by row: all of them, and those that write."""

    __slots__ = ("rows", "writing")

    def __init__(self) -> None:
        self.rows: _Counts = {}
        self.writing: _Counts = {}


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


def all_claims_of(pod: PodInfo) -> list[str]:
    """``namespace/name`` of the claims of the pod, those of ephemeral volumes among them."""
    metadata = pod.pod.metadata
    found = []
    for volume in pod.storage_volumes:
        if volume.persistent_volume_claim is not None:
            found.append(f"{metadata.namespace}/{volume.persistent_volume_claim.claim_name}")
        elif volume.ephemeral is not None:
            found.append(f"{metadata.namespace}/{metadata.name}-{volume.name}")
    return found


def is_doubtful(volume: Volume) -> bool:
    """Whether a rule that has to tell volumes apart may fail on this one (kube-scheduler 1.37: NodeVolumeLimits)."""
    claim, aws, azure = volume.persistent_volume_claim, volume.aws_elastic_block_store, volume.azure_disk
    return (
        volume.ephemeral is not None
        or (claim is not None and not claim.claim_name)
        or (aws is not None and aws.volume_id.startswith("aws://"))
        or (azure is not None and azure.kind is not None)
    )


class VolumeUses:
    """What pods on nodes use. ``counts``: number of their volumes that volume rules look at, by row; ``doubtful``: of those
    that a rule may fail on.
    """

    def __init__(self, capacity: int) -> None:
        self.counts = Column(np.int64, capacity)
        self.doubtful = Column(np.int64, capacity)
        self._pods: dict[int, dict[str, PodInfo]] = {}
        self._disks: dict[Disk, _Users] = {}
        self._claims: dict[str, _Counts] = {}
        self._notes: dict[int, dict[str, Any]] = {}

    def notes(self, row: int) -> dict[str, Any]:
        """What plugins have worked out of the row's volumes and attachments; empty after each change of what that rests on."""
        return self._notes.setdefault(row, {})

    def forget(self, row: int) -> None:
        """Something of the row's volumes or attachments is another one now."""
        self._notes.pop(row, None)

    def forget_claim(self, key: str) -> None:
        """A claim, as ``namespace/name``, or its volume is another one now."""
        for row in self._claims.get(key, ()):
            self._notes.pop(row, None)

    def forget_all(self) -> None:
        self._notes.clear()

    def add(self, row: int, pod: PodInfo) -> None:
        self._pods.setdefault(row, {})[pod.uid] = pod
        self.forget(row)
        self._count_claims(row, pod, 1)
        for volume in pod.storage_volumes:
            self.counts.cells[row] += 1
            self.doubtful.cells[row] += is_doubtful(volume)
            self._count_disks(row, volume, 1)

    def remove(self, row: int, pod: PodInfo) -> None:
        """Undo ``add`` of a pod with the same UID and volumes."""
        there = self._pods[row]
        del there[pod.uid]
        if not there:
            del self._pods[row]
        self.forget(row)
        self._count_claims(row, pod, -1)
        for volume in pod.storage_volumes:
            self.counts.cells[row] -= 1
            self.doubtful.cells[row] -= is_doubtful(volume)
            self._count_disks(row, volume, -1)

    def _count_claims(self, row: int, pod: PodInfo, change: int) -> None:
        for key in all_claims_of(pod):
            rows = self._claims.setdefault(key, {})
            _count(rows, row, change)
            if not rows:
                del self._claims[key]

    def _count_disks(self, row: int, volume: Volume, change: int) -> None:
        for disk, read_only in disks_of(volume):
            users = self._disks.setdefault(disk, _Users())
            _count(users.rows, row, change)
            if not read_only:
                _count(users.writing, row, change)
            if not users.rows:
                del self._disks[disk]

    def pods(self, row: int) -> list[PodInfo]:
        """The row's pods with such volumes, in the order they came."""
        return list(self._pods.get(row, {}).values())

    def rows_with_pods(self) -> list[int]:
        return sorted(self._pods)

    def conflicts(self, volume: Volume) -> list[_Counts]:
        """The rows whose pods keep another pod from using the disks of the volume, as keys of dicts."""
        found = [(self._disks.get(disk), read_only) for disk, read_only in disks_of(volume)]
        return [users.writing if read_only else users.rows for users, read_only in found if users is not None]

    def grow(self, capacity: int) -> None:
        self.counts.grow(capacity)
        self.doubtful.grow(capacity)

    def uses(self) -> Iterator[tuple[int, str]]:
        """Every (row, UID of a pod)."""
        return ((row, uid) for row, pods in self._pods.items() for uid in pods)

    def claims(self) -> Iterator[tuple[str, int, int]]:
        """Every (claim, row, number of volumes that name it)."""
        return ((key, row, number) for key, rows in self._claims.items() for row, number in rows.items())

    def disks(self) -> Iterator[tuple[Disk, int, int, int]]:
        """Every (disk, row, number of users, number of those that write)."""
        for disk, users in self._disks.items():
            for row, number in users.rows.items():
                yield disk, row, number, users.writing.get(row, 0)


def _count(counts: _Counts, row: int, change: int) -> None:
    number = counts.get(row, 0) + change
    if number:
        counts[row] = number
    else:
        del counts[row]
