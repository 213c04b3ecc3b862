"""Preemptions that are under way: whose victims are being deleted, and who waits for it (KEP-4832)."""

from __future__ import annotations

from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Code, Status

GATE = "DefaultPreemption"
"""The plugin whose name is given where a pod is held back at PreEnqueue until its victims are deleted."""

_WAITING = Status(
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("waiting for the preemption for this pod to be finished",), GATE
)


class RunningPreemption:
    """One pod's preemption.

    Attributes:
        preemptor: as it was decided on.
        last: the victim that is deleted when all others are.
        is_last_sent: its deletion is under way.
        unanswered: number of deletions that are.
        has_failed: some victim could not be deleted.
        must_activate: something that would have woken the preemptor did not happen, or has happened already.
    """

    def __init__(self, preemptor: PodInfo, node_name: str, plugin: str, last: PodInfo) -> None:
        self.preemptor = preemptor
        self.node_name = node_name
        self.plugin = plugin
        self.last = last
        self.is_last_sent = False
        self.unanswered = 0
        self.has_failed = False
        self.must_activate = False


class Preemptions:
    """All that are under way, by the preemptor's UID."""

    def __init__(self) -> None:
        self.running: dict[str, RunningPreemption] = {}
        self._sent: dict[int, tuple[RunningPreemption, PodInfo]] = {}
        self._last_number = 0

    def number(self, preemption: RunningPreemption, victim: PodInfo) -> int:
        """A number for a deletion that is about to be sent: its answer will carry it."""
        self._last_number += 1
        self._sent[self._last_number] = (preemption, victim)
        preemption.unanswered += 1
        return self._last_number

    def answered(self, number: int) -> tuple[RunningPreemption, PodInfo] | None:
        """What the deletion of this number was for; None when there was none."""
        sent = self._sent.pop(number, None)
        if sent is not None:
            sent[0].unanswered -= 1
        return sent

    def finish(self, preemption: RunningPreemption) -> None:
        uid = preemption.preemptor.uid
        if self.running.get(uid) is preemption:
            del self.running[uid]

    def gate(self, uid: str, cache: Cache) -> Status:
        """Whether a pod has to wait until its victims are deleted; not when the last one is seen to be gone, or to go."""
        preemption = self.running.get(uid)
        if preemption is None:
            return SUCCESS
        if preemption.is_last_sent:
            last = cache.pod(preemption.last.uid)
            if last is None or last.pod.pod.metadata.deletion_timestamp is not None:
                return SUCCESS
        return _WAITING
