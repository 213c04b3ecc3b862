"""The scheduling queue (kube-scheduler 1.37: PriorityQueue), keyed by pod UID, with time as an argument."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from scheduler.framework.cluster_event import FORCE_ACTIVATE, UNSCHEDULABLE_TIMEOUT, ClusterEvent
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.signature import Signature
from scheduler.framework.status import Code, Status
from scheduler.queue.backoff import Backoff
from scheduler.queue.hearing import Hearing, Retry
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

    Args:
        sort_key: the order of the active queue (QueueSort).
        pre_enqueue: whether a pod may enter the active queue (PreEnqueue).
        hearing: who registered for which events, and what they make of them.
        sign: the pod's part of the key of the batch cache; asked when a pod comes and when it changes.
    """

    def __init__(
        self,
        *,
        sort_key: Callable[[PodInfo, float], tuple[Any, ...]],
        pre_enqueue: Callable[[PodInfo], Status],
        hearing: Hearing,
        backoff: Backoff,
        sign: Callable[[PodInfo], Signature | None] = lambda _pod: None,
        max_unschedulable_seconds: float = MAX_UNSCHEDULABLE_SECONDS,
    ) -> None:
        self._sort_key = sort_key
        self._pre_enqueue = pre_enqueue
        self._hearing = hearing
        self._backoff = backoff
        self._sign = sign
        self.nominator = Nominator()
        self._max_unschedulable_seconds = max_unschedulable_seconds
        self._pods: dict[str, QueuedPod] = {}
        self._signed: dict[Signature, int] = {}
        self._edition = 0
        """How often what signs, sorts and rejects has changed."""
        self._active = PodHeap()
        self._backing_off = PodHeap()
        self._backing_off_after_error = PodHeap()
        self._parked = ParkedPods(hearing.likeness)
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
        queued = QueuedPod(pod, now, signature=self._sign(pod), edition=self._edition)
        self.nominator.update(pod)
        if self._is_admitted(queued, POD_ADDED):
            self._enter_active(queued, POD_ADDED, now)

    def update(self, pod: PodInfo, events: Iterable[ClusterEvent], now: float, *, old: PodInfo | None = None) -> None:
        """A pod changed; ``events`` are its own changes. A parked pod is tried again when one of them may help.

        Args:
            old: the pod as it was, of one that is in flight.
        """
        queued = self._pods.get(pod.uid)
        self.nominator.update(pod)
        if pod.uid in self._in_flight:
            self.record_own(pod, events, old=old)
            return
        if queued is None:
            self.add(pod, now)
            return
        before = queued.pod
        self._change(queued, pod)
        if queued.room is Room.ACTIVE:
            self._push(self._active, self._sort_key(pod, queued.timestamp), queued)
        elif queued.room is Room.BACKOFF:
            self._place_backoff(queued)
        else:
            self._parked.add(queued)
            for event in events:
                # Its gating plugin need not have registered for it: a change of its own can help any pod.
                retry = self._hearing.retry(queued, event, before, pod)
                if retry and self._requeue(queued, event.label, now, at_once=retry is Retry.AT_ONCE):
                    break

    def record_own(self, pod: PodInfo, events: Iterable[ClusterEvent], *, old: PodInfo | None) -> None:
        """Changes of a pod that is in flight, which count should its attempt fail."""
        for event in events:
            self._in_flight.record(event, pod.uid, old=old, new=pod)

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
        if queued.edition != self._edition:
            self._sign_anew(queued)
        queued.attempts += 1
        queued.room = _IN_FLIGHT
        self._in_flight.start(uid)
        return queued

    def done(self, uid: str) -> None:
        """The pod needs no retry, or none that events could bring about."""
        self._in_flight.done(uid)

    def add_failed(
        self, queued: QueuedPod, pod: PodInfo, plugins: tuple[str, ...], now: float, *, pending: tuple[str, ...] = ()
    ) -> None:
        """Put a pod back after a failed attempt, with its present object and the plugins that rejected it.

        No plugins means an error: retried after the back-off, whatever happens. A rejected pod is parked, unless an
        event since it was popped may have helped. A pod that is no longer in flight backs off.

        Args:
            pending: those of the plugins whose status was Pending.
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
        queued.pending_plugins = pending
        if plugins:
            queued.unschedulable_count += 1
            queued.consecutive_errors = 0
        else:
            queued.consecutive_errors += 1
        retry = Retry.AFTER_BACKOFF if not plugins or not was_in_flight else self._hearing.retry_after(queued, missed)
        if retry:
            self._requeue(queued, ATTEMPT_FAILED, now, at_once=retry is Retry.AT_ONCE)
        else:
            self._park(queued, ATTEMPT_FAILED)

    def take_newer(self, queued: QueuedPod, pod: PodInfo) -> None:
        """A pod in flight has changed, and what becomes of it is decided on its present object."""
        self._change(queued, pod)

    def change(
        self, *, sort_key: Callable[[PodInfo, float], tuple[Any, ...]], sorts_alike: bool, backoff: Backoff
    ) -> None:
        """Another configuration: what signs, hears and rejects is another, as ``sign``, ``hearing`` and ``pre_enqueue`` answer by now.

        Pods are signed anew when they are popped, not all of them now.

        Args:
            sorts_alike: ``sort_key`` orders pods as the one before did, so that they can stay in their places.
        """
        self._edition += 1
        self._hearing.forget()
        is_same = sorts_alike and backoff == self._backoff
        self._sort_key, self._backoff = sort_key, backoff
        if is_same:
            return
        for queued in self._pods.values():
            if queued.room is Room.ACTIVE:
                self._push(self._active, self._sort_key(queued.pod, queued.timestamp), queued)
            elif queued.room is Room.BACKOFF:
                self._push_backoff(queued)

    def signature_of(self, queued: QueuedPod) -> Signature | None:
        """The pod's signature; None also when what it has is of an earlier configuration."""
        return queued.signature if queued.edition == self._edition else None

    def _sign_anew(self, queued: QueuedPod) -> None:
        queued.signature = self._sign(queued.pod)
        queued.edition = self._edition

    def is_waiting(self, signature: Signature) -> bool:
        """Whether a pod with this signature waits."""
        return signature in self._signed

    def _change(self, queued: QueuedPod, pod: PodInfo) -> None:
        """The pod's present object takes the place of the one that was queued."""
        if queued.pod is pod:
            return
        waits = self._leave(pod.uid) is not None
        queued.pod = pod
        self._sign_anew(queued)
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
        self,
        event: ClusterEvent,
        now: float,
        *,
        old: Any = None,
        new: Any = None,
        except_uid: str = "",
        up_to_priority: int | None = None,
    ) -> int:
        """Wake every parked pod that the event may help; how many moved.

        Args:
            old: the object as it was, and ``new`` as it is: see EnqueueExtensions.queueing_hint.
            except_uid: a pod that is not to be woken.
            up_to_priority: pods of a higher priority than this are not helped.
        """
        # Most of the time nobody is parked, and most events are of pods that were placed.
        moved = self._wake(event, now, old, new, except_uid, up_to_priority) if len(self._parked) else 0
        if len(self._in_flight) and self._hearing.is_of_interest(event):
            self._in_flight.record(event, old=old, new=new)
        return moved

    def _wake(
        self, event: ClusterEvent, now: float, old: Any, new: Any, except_uid: str, up_to_priority: int | None
    ) -> int:
        if event.is_wildcard:
            groups = self._parked.groups()
        else:
            groups = self._parked.rejected_by(lambda rejector, queued: self._hearing.hears(rejector, queued.pod, event))
        moved = 0
        for group in groups:
            if not self._hearing.is_open(group.first(), event):
                continue
            retry = self._hearing.retry(group.first(), event, old, new)
            if not retry:
                continue
            for queued in list(group.pods.values()):
                if queued.pod.uid != except_uid and (up_to_priority is None or queued.pod.priority <= up_to_priority):
                    moved += self._requeue(queued, event.label, now, at_once=retry is Retry.AT_ONCE)
        return moved

    def activate(self, uids: Iterable[str], now: float) -> None:
        """Try these pods again at once, whatever rejected them (kube-scheduler 1.37: Activate). One in flight is tried again
        should its attempt fail; one that is not known is left out.
        """
        for uid in uids:
            queued = self._pods.get(uid)
            if queued is None:
                if uid in self._in_flight:
                    self._in_flight.record(FORCE_ACTIVATE, uid)
            elif queued.room is Room.BACKOFF:
                self._take_out(uid)
                self._enter_active(queued, FORCE_ACTIVATE.label, now)
            elif queued.room is not Room.ACTIVE:
                self._requeue(queued, FORCE_ACTIVATE.label, now, at_once=True)

    def set_back(self, seconds: float) -> None:
        """The clock was set back by so many seconds: everybody has waited for as long as before."""
        if self._flushed_at is not None:
            self._flushed_at -= seconds
        for queued in self._pods.values():
            queued.set_back(seconds)
            if queued.room is Room.ACTIVE:
                self._push(self._active, self._sort_key(queued.pod, queued.timestamp), queued)
            elif queued.room is Room.BACKOFF:
                self._place_backoff(queued)

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

    def _requeue(self, queued: QueuedPod, label: str, now: float, *, at_once: bool = False) -> bool:
        """Let the pod be tried again, at once or after its back-off; False when PreEnqueue keeps it out."""
        if not self._is_admitted(queued, label):
            return False
        self._take_out(queued.pod.uid)
        if not at_once and self._backoff.is_backing_off(queued, now):
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
        self._push_backoff(queued)

    def _push_backoff(self, queued: QueuedPod) -> None:
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
