"""Pods that wait for an event, grouped by what could wake them, so that a group is asked once whatever its size."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import NamedTuple, TypeAlias

from scheduler.queue.queued_pod import QueuedPod

Rejector: TypeAlias = tuple[str, str]
"""A plugin, as (schedulerName of its profile, its name)."""


class Waker(NamedTuple):
    """What decides whether an event wakes a pod: its profile, who gates it ("" for nobody), who rejected it, and what of the pod
    these look at.
    """

    scheduler_name: str
    gating_plugin: str
    unschedulable_plugins: tuple[str, ...]
    pending_plugins: tuple[str, ...]
    likeness: Hashable

    def rejectors(self) -> tuple[Rejector, ...]:
        return tuple((self.scheduler_name, name) for name in self.unschedulable_plugins)


class Group:
    """Parked pods that the same events wake, in the order they came. ``number`` grows from group to group."""

    __slots__ = ("number", "pods", "waker")

    def __init__(self, waker: Waker, number: int) -> None:
        self.waker = waker
        self.number = number
        self.pods: dict[str, QueuedPod] = {}

    def first(self) -> QueuedPod:
        """One pod, that answers for all."""
        return next(iter(self.pods.values()))


class ParkedPods:
    """Unschedulable and gated pods.

    Args:
        likeness: of which pods one answers for the other, when the same plugins rejected both: those with equal ones.
    """

    def __init__(self, likeness: Callable[[QueuedPod], Hashable] = lambda _queued: None) -> None:
        self._likeness = likeness
        self._groups: dict[Waker, Group] = {}
        self._group_of: dict[str, Group] = {}
        self._by_rejector: dict[Rejector, dict[int, Group]] = {}
        self._last_number = 0
        self.gated_count = 0

    def __len__(self) -> int:
        return len(self._group_of)

    def __contains__(self, uid: str) -> bool:
        return uid in self._group_of

    def __iter__(self) -> Iterator[QueuedPod]:
        for group in self._groups.values():
            yield from group.pods.values()

    def groups(self) -> list[Group]:
        """In the order in which they came to be."""
        return list(self._groups.values())

    def rejected_by(self, hears: Callable[[Rejector, QueuedPod], bool]) -> list[Group]:
        """The groups with a rejecting plugin of which ``hears`` says so, given one of its pods; ordered as ``groups``."""
        found: dict[int, Group] = {}
        for rejector, groups in self._by_rejector.items():
            if hears(rejector, next(iter(groups.values())).first()):
                found.update(groups)
        return [found[number] for number in sorted(found)]

    def add(self, queued: QueuedPod) -> None:
        """Put the pod in, or where it belongs by now."""
        uid = queued.pod.uid
        waker = Waker(
            queued.pod.pod.spec.scheduler_name,
            queued.gating_plugin,
            queued.unschedulable_plugins,
            queued.pending_plugins,
            self._likeness(queued),
        )
        known = self._group_of.get(uid)
        if known is not None and known.waker == waker:
            return
        self.remove(uid)
        group = self._groups.get(waker) or self._new_group(waker)
        group.pods[uid] = queued
        self._group_of[uid] = group
        self.gated_count += bool(waker.gating_plugin)

    def _new_group(self, waker: Waker) -> Group:
        self._last_number += 1
        group = self._groups[waker] = Group(waker, self._last_number)
        for rejector in waker.rejectors():
            self._by_rejector.setdefault(rejector, {})[group.number] = group
        return group

    def remove(self, uid: str) -> None:
        group = self._group_of.pop(uid, None)
        if group is None:
            return
        del group.pods[uid]
        self.gated_count -= bool(group.waker.gating_plugin)
        if group.pods:
            return
        del self._groups[group.waker]
        for rejector in group.waker.rejectors():
            groups = self._by_rejector[rejector]
            del groups[group.number]
            if not groups:
                del self._by_rejector[rejector]
