"""VolumeUses: which volumes the pods of each node use, by volume instead of by node: a pod asks for few of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from scheduler.api.objects import Volume
from scheduler.framework.disks import Disk, disks_of
from scheduler.framework.pod_info import PodInfo

_Counts: TypeAlias = dict[int, int]


class _Users:
    """Users of one disk by row: all of them, and those that write."""

    __slots__ = ("rows", "writing")

    def __init__(self) -> None:
        self.rows: _Counts = {}
        self.writing: _Counts = {}


class VolumeUses:
    """What pods on nodes use: by row the pods with volumes that volume rules look at, and by disk the rows."""

    def __init__(self) -> None:
        self._pods: dict[int, dict[str, PodInfo]] = {}
        self._disks: dict[Disk, _Users] = {}

    def add(self, row: int, pod: PodInfo) -> None:
        self._pods.setdefault(row, {})[pod.uid] = pod
        for volume in pod.storage_volumes:
            self._count_disks(row, volume, 1)

    def remove(self, row: int, pod: PodInfo) -> None:
        """Undo ``add`` of a pod with the same UID and volumes."""
        there = self._pods[row]
        del there[pod.uid]
        if not there:
            del self._pods[row]
        for volume in pod.storage_volumes:
            self._count_disks(row, volume, -1)

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

    def conflicts(self, volume: Volume) -> list[_Counts]:
        """The rows whose pods keep another pod from using the disks of the volume, as keys of dicts."""
        found = [(self._disks.get(disk), read_only) for disk, read_only in disks_of(volume)]
        return [users.writing if read_only else users.rows for users, read_only in found if users is not None]

    def uses(self) -> Iterator[tuple[int, str]]:
        """Every (row, UID of a pod)."""
        return ((row, uid) for row, pods in self._pods.items() for uid in pods)

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
