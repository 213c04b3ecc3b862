"""Pods that Permit has told to wait (kube-scheduler 1.37: waitingPodsMap)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scheduler.config.duration import format_duration
from scheduler.framework.binding import LONGEST_WAIT_SECONDS
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Code, Status


class PermitWait:
    """One pod that waits, and what has been said of it: the first verdict holds.

    Args:
        since: when it began to wait.
        timeouts: seconds by plugin, in the order in which they asked to wait.
        settled: called once, with the pod's UID, when there is a verdict.
    """

    def __init__(
        self,
        pod: PodInfo,
        node_name: str,
        since: float,
        timeouts: Mapping[str, float],
        settled: Callable[[str], object],
    ) -> None:
        self.pod = pod
        self.node_name = node_name
        self.since = since
        self.verdict: Status | None = None
        self._timeouts = {plugin: min(seconds, LONGEST_WAIT_SECONDS) for plugin, seconds in timeouts.items()}
        self._settled = settled

    @property
    def pending_plugins(self) -> tuple[str, ...]:
        return tuple(self._timeouts)

    def allow(self, plugin: str) -> None:
        self._timeouts.pop(plugin, None)
        if not self._timeouts:
            self._settle(SUCCESS)

    def reject(self, plugin: str, message: str) -> bool:
        return self._settle(Status(Code.UNSCHEDULABLE, (message,), plugin))

    def preempt(self, plugin: str, message: str) -> bool:
        """The pod has to make room for another one, and is tried again; False when that comes too late."""
        return self._settle(Status(Code.ERROR, (message,), plugin))

    def expire(self, now: float) -> None:
        """Reject the pod if a plugin that has not allowed it asked for no longer wait than this; the shortest one counts."""
        if self.verdict is not None:
            return
        plugin = min(self._timeouts, key=self._timeouts.__getitem__)
        timeout = self._timeouts[plugin]
        if now >= self.since + timeout:
            self.reject(plugin, f"rejected due to timeout after waiting {format_duration(timeout)} at plugin {plugin}")

    def _settle(self, verdict: Status) -> bool:
        if self.verdict is not None:
            return False
        self.verdict = verdict
        self._settled(self.pod.uid)
        return True
