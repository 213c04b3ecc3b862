"""What events do for waiting pods, as the plugins that rejected them say (kube-scheduler 1.37: isPodWorthRequeuing)."""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeAlias

from scheduler.framework.cluster_event import ClusterEvent
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.queueing_hint import Hint
from scheduler.queue.in_flight import Missed
from scheduler.queue.parked import Rejector
from scheduler.queue.queued_pod import QueuedPod

EventsOf: TypeAlias = Callable[[PodInfo, str], tuple[ClusterEvent, ...]]
"""The events that a plugin registered for, given a pod of its profile and its name."""

AskHint: TypeAlias = Callable[[PodInfo, str, ClusterEvent, Any, Any], Hint]
"""Whether an event that a plugin, by its name, registered for helps a pod: see EnqueueExtensions.queueing_hint."""


class Retry(enum.IntEnum):
    """What an event does for a pod (kube-scheduler 1.37: queueingStrategy)."""

    NOT = 0
    AFTER_BACKOFF = 1
    AT_ONCE = 2


class Hearing:
    """Who registered for what, and what they make of it.

    Args:
        likeness: what of a pod the hints of its rejecting plugins look at: see ParkedPods.
        is_of_interest: whether any plugin registered for an event at all.
    """

    def __init__(
        self,
        events_of: EventsOf,
        hint: AskHint = lambda _pod, _plugin, _event, _old, _new: Hint.QUEUE,
        likeness: Callable[[QueuedPod], Hashable] = lambda _queued: None,
        is_of_interest: Callable[[ClusterEvent], bool] = lambda _event: True,
    ) -> None:
        self._events_of = events_of
        self._hint = hint
        self.likeness = likeness
        self.is_of_interest = is_of_interest
        self._heard: dict[tuple[Rejector, ClusterEvent], bool] = {}

    def forget(self) -> None:
        """Other plugins have registered: ask them anew."""
        self._heard.clear()

    def hears(self, rejector: Rejector, pod: PodInfo, event: ClusterEvent) -> bool:
        """Whether the plugin, of the pod's profile, registered for the event."""
        key = (rejector, event)
        heard = self._heard.get(key)
        if heard is None:
            registered = self._events_of(pod, rejector[1])
            heard = self._heard[key] = any(each.matches(event) for each in registered)
        return heard

    def is_open(self, queued: QueuedPod, event: ClusterEvent) -> bool:
        """Whether the pod is looked at for the event: a gated one for events of its gating plugin only."""
        gating = queued.gating_plugin
        if not gating or event.is_wildcard:
            return True
        return self.hears((queued.pod.pod.spec.scheduler_name, gating), queued.pod, event)

    def retry(self, queued: QueuedPod, event: ClusterEvent, old: Any, new: Any) -> Retry:
        """What the event does for the pod, by those of its rejecting plugins that registered for it."""
        if not queued.unschedulable_plugins or event.is_wildcard:
            return Retry.AFTER_BACKOFF
        pod, pending = queued.pod, queued.pending_plugins
        best = Retry.NOT
        for plugin in queued.unschedulable_plugins:
            if not self.hears((pod.pod.spec.scheduler_name, plugin), pod, event):
                continue
            if self._hint(pod, plugin, event, old, new) is Hint.SKIP:
                continue
            if plugin in pending:
                return Retry.AT_ONCE
            if not pending:
                return Retry.AFTER_BACKOFF
            best = Retry.AFTER_BACKOFF
        return best

    def retry_after(self, queued: QueuedPod, missed: Iterable[Missed]) -> Retry:
        """What several events together do: the most that one of them does."""
        most = Retry.AT_ONCE if queued.pending_plugins else Retry.AFTER_BACKOFF
        best = Retry.NOT
        for event, old, new in missed:
            best = max(best, self.retry(queued, event, old, new))
            if best is most:
                break
        return best
