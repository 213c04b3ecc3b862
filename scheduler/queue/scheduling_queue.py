"""The scheduling queue (kube-scheduler 1.37: PriorityQueue), keyed by pod UID, with time as an argument."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from scheduler.framework.cluster_event import UNSCHEDULABLE_TIMEOUT, ClusterEvent
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.signature import Signature
from scheduler.framework.status import Code, Status
from scheduler.queue.backoff import Backoff
from scheduler.queue.in_flight import InFlight
from scheduler.queue.nominator import Nominator
from scheduler.queue.parked import ParkedPods
from scheduler.queue.pod_heap import PodHeap
from scheduler.queue.queued_pod import QueuedPod, Room

POD_ADDED = "UnscheduledPodAdd"
ATTEMPT_FAILED = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POPPED_FROM_BACKOFF = "PopFromBackoffQ"

FLUSH_INTERVAL_SECONDS = 30.0
MAX_UNSCHEDULABLE_SECONDS = 300.0

_IN_FLIGHT = Room.IN_FLIGHT  # to look a member of an Enum up takes as long as a call


class SchedulingQueue:
    """Pods of ours that have no node yet.

    Until plugins give hints, any event that a rejecting plugin registered for wakes the pod.

    Args:
        sort_key: the order of the active queue (QueueSort).
        pre_enqueue: whether a pod may enter the active queue (PreEnqueue).
        events_of: the events that a plugin registered for, given a pod and the plugin's name.
        sign: the pod's part of the key of the batch cache; asked when a pod comes and when it changes.
    """

    def __init__(
        self,
        *,
        sort_key: Callable[[PodInfo, float], tuple[Any, ...]],
        pre_enqueue: Callable[[PodInfo], Status],
        events_of: Callable[[PodInfo, str], tuple[ClusterEvent, ...]],
        backoff: Backoff,
        sign: Callable[[PodInfo], Signature | None] = lambda _pod: None,
        max_unschedulable_seconds: float = MAX_UNSCHEDULABLE_SECONDS,
    ) -> None:
        self._sort_key = sort_key
        self._pre_enqueue = pre_enqueue
        self._events_of = events_of
        self._backoff = backoff
        self._sign = sign
        self.nominator = Nominator()
        self._max_unschedulable_seconds = max_unschedulable_seconds
        self._pods: dict[str, QueuedPod] = {}
        self._signed: dict[Signature, int] = {}
        self._active = PodHeap()
        self._backing_off = PodHeap()
        self._backing_off_after_error = PodHeap()
        self._parked = ParkedPods()
        self._in_flight = InFlight()
        self._tickets = 0
        self._flushed_at: float | None = None
        self.incoming: Counter[tuple[str, str]] = Counter()
        """Moves into a room by (room, event label); gated pods count as unschedulable (scheduler_queue_incoming_pods_total)."""

    def __len__(self) -> int:
        """Pods that wait; those in flight are not among them."""
        return len(self._pods)

    def get(self, uid: str) -> QueuedPod | None:
        return self._pods.get(uid)

    def is_in_flight(self, uid: str) -> bool:
        return uid in self._in_flight

    def counts(self) -> dict[Room, int]:
        """Waiting pods by room."""
        gated = self._parked.gated_count
        return {
            Room.ACTIVE: len(self._active),
            Room.BACKOFF: len(self._backing_off) + len(self._backing_off_after_error),
            Room.UNSCHEDULABLE: len(self._parked) - gated,
            Room.GATED: gated,
        }

    def unschedulable_plugins(self) -> Counter[tuple[str, str]]:
        """Waiting pods by the plugin that rejected them last, and their schedulerName."""
        return Counter(
            (name, queued.pod.pod.spec.scheduler_name)
            for queued in self._pods.values()
            for name in queued.unschedulable_plugins
        )

    def waiting(self) -> Iterator[QueuedPod]:
        return iter(self._pods.values())

    def add(self, pod: PodInfo, now: float) -> None:
        """A pod that was not known before."""
        queued = QueuedPod(pod, now, signature=self._sign(pod))
        self.nominator.update(pod)
        if self._is_admitted(queued, POD_ADDED):
            self._enter_active(queued, POD_ADDED, now)

    def update(self, pod: PodInfo, events: Iterable[ClusterEvent], now: float) -> None:
        """A pod changed; ``events`` are its own changes. A parked pod is tried again when one of them may help."""
        queued = self._pods.get(pod.uid)
        self.nominator.update(pod)
        if pod.uid in self._in_flight:
            for event in events:
                self._in_flight.record(event, pod.uid)
            return
        if queued is None:
            self.add(pod, now)
            return
        self._change(queued, pod)
        if queued.room is Room.ACTIVE:
            self._push(self._active, self._sort_key(pod, queued.timestamp), queued)
        elif queued.room is Room.BACKOFF:
            self._place_backoff(queued)
        else:
            for event in events:
                if self._is_worth_requeuing(queued, event) and self._requeue(queued, event.label, now):
                    break

    def delete(self, uid: str) -> None:
        """The pod is gone or was bound by someone. A pod in flight stays in flight until ``done``."""
        self.nominator.remove(uid)
        queued = self._leave(uid)
        if queued is not None:
            self._take_out(uid)

    def pop(self, now: float) -> QueuedPod | None:
        """The next pod to try, now in flight. With nothing active, one that backs off after a rejection goes at once."""
        queued = self._active.pop()
        if queued is None:
            queued = self._backing_off.pop()
            if queued is None:
                return None
            self.incoming[Room.ACTIVE, POPPED_FROM_BACKOFF] += 1
        uid = queued.pod.uid
        self._leave(uid)
        queued.attempts += 1
        queued.room = _IN_FLIGHT
        self._in_flight.start(uid)
        return queued

    def done(self, uid: str) -> None:
        """The pod needs no retry, or none that events could bring about."""
        self._in_flight.done(uid)

    def add_failed(self, queued: QueuedPod, pod: PodInfo, plugins: tuple[str, ...], now: float) -> None:
        """Put a pod back after a failed attempt, with its present object and the plugins that rejected it.

        No plugins means an error: retried after the back-off, whatever happens. A rejected pod is parked, unless an
        event since it was popped may have helped. A pod that is no longer in flight backs off.
        """
        if pod.uid in self._pods:
            self._in_flight.done(pod.uid)
            return
        missed = tuple(self._in_flight.events_since_start(pod.uid))
        was_in_flight = pod.uid in self._in_flight
        self._in_flight.done(pod.uid)
        # Its nomination is about to be cleared, and is worth nothing already.
        self.nominator.remove(pod.uid)
        self._change(queued, pod)
        queued.timestamp = now
        queued.was_flushed = False
        queued.flushed_at = 0.0
        queued.unschedulable_plugins = plugins
        if plugins:
            queued.unschedulable_count += 1
            queued.consecutive_errors = 0
        else:
            queued.consecutive_errors += 1
        if not plugins or not was_in_flight or any(self._is_worth_requeuing(queued, event) for event in missed):
            self._requeue(queued, ATTEMPT_FAILED, now)
        else:
            self._park(queued, ATTEMPT_FAILED)

    def is_waiting(self, signature: Signature) -> bool:
        """Whether a pod with this signature waits."""
        return signature in self._signed

    def _change(self, queued: QueuedPod, pod: PodInfo) -> None:
        """The pod's present object takes the place of the one that was queued."""
        if queued.pod is pod:
            return
        waits = self._leave(pod.uid) is not None
        queued.pod = pod
        queued.signature = self._sign(pod)
        if waits:
            self._join(queued)

    def _join(self, queued: QueuedPod) -> None:
        if queued.pod.uid not in self._pods and queued.signature is not None:
            self._signed[queued.signature] = self._signed.get(queued.signature, 0) + 1
        self._pods[queued.pod.uid] = queued

    def _leave(self, uid: str) -> QueuedPod | None:
        queued = self._pods.pop(uid, None)
        if queued is not None and queued.signature is not None:
            left = self._signed[queued.signature] - 1
            if left:
                self._signed[queued.signature] = left
            else:
                del self._signed[queued.signature]
        return queued

    def move_all(
        self, event: ClusterEvent, now: float, *, except_uid: str = "", up_to_priority: int | None = None
    ) -> int:
        """Wake every parked pod that the event may help; how many moved.

        Args:
            except_uid: a pod that is not to be woken.
            up_to_priority: pods of a higher priority than this are not helped.
        """
        # Most of the time nobody is parked, and most events are of pods that were placed.
        moved = self._wake(event, now, except_uid, up_to_priority) if len(self._parked) else 0
        self._in_flight.record(event)
        return moved

    def _wake(self, event: ClusterEvent, now: float, except_uid: str, up_to_priority: int | None) -> int:
        woken = self._parked.woken_by(
            lambda queued: self._hears(queued, event) and self._is_worth_requeuing(queued, event)
        )
        return sum(
            self._requeue(queued, event.label, now)
            for queued in woken
            if queued.pod.uid != except_uid and (up_to_priority is None or queued.pod.priority <= up_to_priority)
        )

    def flush(self, now: float) -> None:
        """What is due: back-offs that ended, and pods that were parked for too long."""
        for heap in (self._backing_off, self._backing_off_after_error):
            while (first := heap.peek()) is not None and not self._backoff.is_backing_off(first[1], now):
                queued = heap.pop()
                assert queued is not None
                self._enter_active(queued, BACKOFF_COMPLETE, now)
        if self._flushed_at is None:
            self._flushed_at = now
        if now - self._flushed_at >= FLUSH_INTERVAL_SECONDS:
            self._flushed_at = now
            self._flush_parked(now)

    def _flush_parked(self, now: float) -> None:
        for queued in list(self._parked):
            if now - max(queued.timestamp, queued.flushed_at) > self._max_unschedulable_seconds:
                queued.was_flushed = True
                queued.flushed_at = now
                self._requeue(queued, UNSCHEDULABLE_TIMEOUT.label, now)

    def _hears(self, queued: QueuedPod, event: ClusterEvent) -> bool:
        """A gated pod is looked at for events of its gating plugin only."""
        if not queued.gating_plugin or event.is_wildcard:
            return True
        return self._matches(queued.pod, queued.gating_plugin, event)

    def _is_worth_requeuing(self, queued: QueuedPod, event: ClusterEvent) -> bool:
        if not queued.unschedulable_plugins or event.is_wildcard:
            return True
        return any(self._matches(queued.pod, plugin, event) for plugin in queued.unschedulable_plugins)

    def _matches(self, pod: PodInfo, plugin: str, event: ClusterEvent) -> bool:
        return any(registered.matches(event) for registered in self._events_of(pod, plugin))

    def _requeue(self, queued: QueuedPod, label: str, now: float) -> bool:
        """Let the pod be tried again, at once or after its back-off; False when PreEnqueue keeps it out."""
        if not self._is_admitted(queued, label):
            return False
        self._take_out(queued.pod.uid)
        if self._backoff.is_backing_off(queued, now):
            self._place_backoff(queued)
            self.incoming[Room.BACKOFF, label] += 1
        else:
            self._enter_active(queued, label, now)
        return True

    def _is_admitted(self, queued: QueuedPod, label: str) -> bool:
        """Run PreEnqueue; a pod that is kept out is parked as gated."""
        status = self._pre_enqueue(queued.pod)
        if status.code is Code.SUCCESS:
            queued.gating_plugin = ""
            return True
        already_gated = queued.pod.uid in self._parked and bool(queued.gating_plugin)
        queued.gating_plugin = status.plugin
        if status.plugin not in queued.unschedulable_plugins:
            queued.unschedulable_plugins = tuple(sorted((*queued.unschedulable_plugins, status.plugin)))
        queued.was_flushed = False
        if already_gated:
            self._parked.add(queued)
        else:
            self._park(queued, label)
        return False

    def _park(self, queued: QueuedPod, label: str) -> None:
        self._take_out(queued.pod.uid)
        queued.room = Room.GATED if queued.gating_plugin else Room.UNSCHEDULABLE
        self._join(queued)
        self._parked.add(queued)
        self.incoming[Room.UNSCHEDULABLE, label] += 1

    def _enter_active(self, queued: QueuedPod, label: str, now: float) -> None:
        queued.room = Room.ACTIVE
        if queued.initial_attempt_timestamp is None:
            queued.initial_attempt_timestamp = now
        self._join(queued)
        self._push(self._active, self._sort_key(queued.pod, queued.timestamp), queued)
        self.incoming[Room.ACTIVE, label] += 1

    def _place_backoff(self, queued: QueuedPod) -> None:
        queued.room = Room.BACKOFF
        self._join(queued)
        expiration = self._backoff.expiration(queued) or 0.0
        if queued.unschedulable_plugins:
            self._push(self._backing_off, (expiration, self._sort_key(queued.pod, queued.timestamp)), queued)
        else:
            self._push(self._backing_off_after_error, expiration, queued)

    def _push(self, heap: PodHeap, key: Any, queued: QueuedPod) -> None:
        self._tickets += 1
        heap.push(key, self._tickets, queued)

    def _take_out(self, uid: str) -> None:
        self._active.remove(uid)
        self._backing_off.remove(uid)
        self._backing_off_after_error.remove(uid)
        self._parked.remove(uid)
