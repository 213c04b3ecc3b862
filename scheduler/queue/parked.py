"""Pods that wait for an event, grouped by what could wake them, so that a group is asked once whatever its size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from scheduler.queue.queued_pod import QueuedPod


class Waker(NamedTuple):
    """What decides whether an event wakes a pod: its profile, who gates it ("" for nobody) and who rejected it."""

    scheduler_name: str
    gating_plugin: str
    unschedulable_plugins: tuple[str, ...]


class ParkedPods:
    """Unschedulable and gated pods. Groups are in the order in which they came to be, pods in the order they came."""

    def __init__(self) -> None:
        self._groups: dict[Waker, dict[str, QueuedPod]] = {}
        self._wakers: dict[str, Waker] = {}
        self.gated_count = 0

    def __len__(self) -> int:
        return len(self._wakers)

    def __contains__(self, uid: str) -> bool:
        return uid in self._wakers

    def __iter__(self) -> Iterator[QueuedPod]:
        for group in self._groups.values():
            yield from group.values()

    def woken_by(self, wakes: Callable[[QueuedPod], bool]) -> list[QueuedPod]:
        """All pods of the groups of which ``wakes`` says so, given one pod of the group."""
        woken = (group for group in self._groups.values() if wakes(next(iter(group.values()))))
        return [queued for group in woken for queued in group.values()]

    def add(self, queued: QueuedPod) -> None:
        """Put the pod in, or where it belongs by now."""
        uid = queued.pod.uid
        waker = Waker(queued.pod.pod.spec.scheduler_name, queued.gating_plugin, queued.unschedulable_plugins)
        if self._wakers.get(uid) == waker:
            return
        self.remove(uid)
        self._wakers[uid] = waker
        self._groups.setdefault(waker, {})[uid] = queued
        self.gated_count += bool(waker.gating_plugin)

    def remove(self, uid: str) -> None:
        waker = self._wakers.pop(uid, None)
        if waker is None:
            return
        group = self._groups[waker]
        del group[uid]
        if not group:
            del self._groups[waker]
        self.gated_count -= bool(waker.gating_plugin)
