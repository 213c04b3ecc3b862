"""Expected behaviour: kube-scheduler 1.37, PriorityQueue; time is whatever the test says."""

from __future__ import annotations

from typing import Any

import msgspec

from scheduler.api.objects import Pod
from scheduler.framework.cluster_event import UNSCHEDULABLE_TIMEOUT, ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.signature import Signature
from scheduler.framework.status import SUCCESS, Code, Status
from scheduler.queue.backoff import Backoff
from scheduler.queue.queued_pod import QueuedPod, Room
from scheduler.queue.scheduling_queue import SchedulingQueue

NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_TAINT = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
GATES_GONE = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
POD_UPDATE = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE)

REGISTERED = {
    "Fit": (ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE),),
    "Taints": (ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT),),
    "Gates": (GATES_GONE,),
}


def make(uid: str = "a", priority: int = 0, gated: bool = False, version: str = "1") -> PodInfo:
    pod = {
        "metadata": {"name": uid, "namespace": "default", "uid": uid, "resourceVersion": version},
        "spec": {"priority": priority, "schedulingGates": [{"name": "g"}] if gated else None},
    }
    return PodInfo(msgspec.convert(pod, Pod))


def gate(pod: PodInfo) -> Status:
    if pod.pod.spec.scheduling_gates:
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("waiting",), "Gates")
    return SUCCESS


def sort_key(pod: PodInfo, timestamp: float) -> tuple[Any, ...]:
    return (-pod.priority, timestamp)


def make_queue(**options: Any) -> SchedulingQueue:
    given: dict[str, Any] = {"pre_enqueue": gate, **options}
    return SchedulingQueue(
        sort_key=sort_key,
        events_of=lambda _pod, plugin: REGISTERED.get(plugin, ()),
        backoff=Backoff(),
        **given,
    )


def pop(queue: SchedulingQueue, now: float) -> QueuedPod:
    queued = queue.pop(now)
    assert queued is not None
    return queued


def reject(queue: SchedulingQueue, now: float, *plugins: str) -> QueuedPod:
    """Pop the next pod and fail it."""
    queued = pop(queue, now)
    queue.add_failed(queued, queued.pod, plugins, now)
    return queued


def room_of(queue: SchedulingQueue, uid: str) -> Room | None:
    queued = queue.get(uid)
    return None if queued is None else queued.room


def test_an_empty_queue_gives_nothing() -> None:
    assert make_queue().pop(0.0) is None


def test_higher_priority_goes_first() -> None:
    queue = make_queue()
    queue.add(make("low", priority=1), 0.0)
    queue.add(make("high", priority=9), 1.0)

    assert [pop(queue, 2.0).pod.uid for _ in range(2)] == ["high", "low"]


def test_equal_priority_goes_by_time_and_equal_time_by_arrival() -> None:
    queue = make_queue()
    for uid, at in (("late", 5.0), ("first", 1.0), ("second", 1.0)):
        queue.add(make(uid), at)

    assert [pop(queue, 9.0).pod.uid for _ in range(3)] == ["first", "second", "late"]


def test_a_pop_counts_an_attempt_and_puts_the_pod_in_flight() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)

    queued = pop(queue, 1.0)

    assert (queued.attempts, queued.initial_attempt_timestamp) == (1, 0.0)
    assert queue.is_in_flight("a")
    assert len(queue) == 0


def test_a_rejected_pod_is_parked() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    reject(queue, 1.0, "Fit")

    assert room_of(queue, "a") is Room.UNSCHEDULABLE
    assert queue.pop(1.0) is None
    assert not queue.is_in_flight("a")


def test_an_event_that_the_rejecting_plugin_registered_wakes_the_pod() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    reject(queue, 1.0, "Fit")

    assert queue.move_all(NODE_ADD, 5.0) == 1
    assert room_of(queue, "a") is Room.ACTIVE


def test_an_event_that_it_did_not_register_leaves_the_pod_parked() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    reject(queue, 1.0, "Fit")

    assert queue.move_all(NODE_TAINT, 5.0) == 0
    assert room_of(queue, "a") is Room.UNSCHEDULABLE


def test_a_pod_woken_during_its_backoff_waits_in_backoff() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    reject(queue, 1.0, "Fit")

    queue.move_all(NODE_ADD, 1.5)

    assert room_of(queue, "a") is Room.BACKOFF


def test_with_nothing_active_a_rejected_pod_in_backoff_is_popped_at_once() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    reject(queue, 1.0, "Fit")
    queue.move_all(NODE_ADD, 1.5)

    assert pop(queue, 1.6).pod.uid == "a"
    assert queue.incoming[Room.ACTIVE, "PopFromBackoffQ"] == 1


def test_an_active_pod_goes_before_one_in_backoff() -> None:
    queue = make_queue()
    queue.add(make("a", priority=9), 0.0)
    reject(queue, 1.0, "Fit")
    queue.move_all(NODE_ADD, 1.5)
    queue.add(make("b"), 1.6)

    assert pop(queue, 1.7).pod.uid == "b"


def test_after_an_error_a_pod_backs_off_and_is_never_popped_early() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    reject(queue, 1.0)

    assert room_of(queue, "a") is Room.BACKOFF
    assert queue.pop(1.9) is None


def test_the_flush_activates_what_has_waited_long_enough() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    reject(queue, 1.0)

    queue.flush(2.9)
    assert queue.pop(2.9) is None
    queue.flush(3.0)
    assert pop(queue, 3.0).pod.uid == "a"
    assert queue.incoming[Room.ACTIVE, "BackoffComplete"] == 1


def test_a_rejection_resets_errors_and_an_error_keeps_rejections() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    reject(queue, 0.0)
    queue.flush(10.0)
    queued = reject(queue, 10.0, "Fit")
    assert (queued.consecutive_errors, queued.unschedulable_count) == (0, 1)

    queue.move_all(NODE_ADD, 20.0)
    queued = reject(queue, 20.0)
    assert (queued.consecutive_errors, queued.unschedulable_count) == (1, 1)


def test_an_event_during_the_attempt_is_not_lost() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    queued = pop(queue, 1.0)
    queue.move_all(NODE_ADD, 1.1)
    queue.add_failed(queued, queued.pod, ("Fit",), 1.2)

    assert room_of(queue, "a") is Room.BACKOFF


def test_an_event_before_the_attempt_does_not_count() -> None:
    queue = make_queue()
    queue.add(make("other"), 0.0)
    queue.add(make(), 0.1)
    pop(queue, 0.2)
    queue.move_all(NODE_ADD, 0.3)
    reject(queue, 0.4, "Fit")

    assert room_of(queue, "a") is Room.UNSCHEDULABLE


def test_an_own_update_during_the_attempt_is_recorded_for_it() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    queued = pop(queue, 1.0)
    queue.update(make(version="2"), [GATES_GONE], 1.1)
    assert room_of(queue, "a") is None

    queue.add_failed(queued, make(version="2"), ("Gates",), 1.2)
    assert room_of(queue, "a") is Room.BACKOFF


def test_a_gated_pod_is_parked_and_never_popped() -> None:
    queue = make_queue()
    queue.add(make(gated=True), 0.0)

    assert room_of(queue, "a") is Room.GATED
    assert queue.pop(1.0) is None
    assert queue.counts()[Room.GATED] == 1


def test_a_gated_pod_enters_when_its_gates_are_gone() -> None:
    queue = make_queue()
    queue.add(make(gated=True), 0.0)

    queue.update(make(version="2"), [GATES_GONE], 7.0)

    queued = pop(queue, 8.0)
    assert queued.initial_attempt_timestamp == 7.0


def test_a_gated_pod_does_not_hear_other_events() -> None:
    queue = make_queue()
    queue.add(make(gated=True), 0.0)

    assert queue.move_all(NODE_ADD, 5.0) == 0
    assert room_of(queue, "a") is Room.GATED


def test_a_gated_pod_whose_gates_stay_remains_gated_after_the_flush() -> None:
    queue = make_queue()
    queue.add(make(gated=True), 0.0)
    queue.flush(0.0)

    queue.flush(400.0)

    assert room_of(queue, "a") is Room.GATED


def test_an_update_of_an_active_pod_moves_it_to_its_new_place() -> None:
    queue = make_queue()
    queue.add(make("a"), 0.0)
    queue.add(make("b"), 1.0)
    queue.update(make("b", priority=5, version="2"), [POD_UPDATE], 2.0)

    assert [pop(queue, 3.0).pod.priority for _ in range(2)] == [5, 0]


def test_an_update_that_no_plugin_asked_for_leaves_a_parked_pod() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    reject(queue, 1.0, "Fit")
    queue.update(make(version="2"), [POD_UPDATE], 9.0)

    assert room_of(queue, "a") is Room.UNSCHEDULABLE
    queued = queue.get("a")
    assert queued is not None
    assert queued.pod.pod.metadata.resource_version == "2"


def test_an_update_of_an_unknown_pod_adds_it() -> None:
    queue = make_queue()
    queue.update(make(), [], 0.0)

    assert room_of(queue, "a") is Room.ACTIVE


def test_a_deleted_pod_is_not_popped() -> None:
    queue = make_queue()
    queue.add(make("a"), 0.0)
    queue.add(make("b"), 1.0)
    queue.delete("a")

    assert pop(queue, 2.0).pod.uid == "b"
    assert queue.pop(2.0) is None


def test_a_pod_parked_for_over_five_minutes_is_tried_again() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    reject(queue, 0.0, "Nobody")
    queue.flush(0.0)

    queue.flush(300.0)
    assert room_of(queue, "a") is Room.UNSCHEDULABLE
    queue.flush(330.0)
    assert pop(queue, 330.0).was_flushed
    assert queue.incoming[Room.ACTIVE, "UnschedulableTimeout"] == 1


def test_long_parked_pods_are_looked_at_every_thirty_seconds_only() -> None:
    queue = make_queue(max_unschedulable_seconds=5.0)
    queue.add(make(), 0.0)
    queue.flush(0.0)
    reject(queue, 0.0, "Nobody")

    queue.flush(29.0)
    assert room_of(queue, "a") is Room.UNSCHEDULABLE
    queue.flush(30.0)
    assert room_of(queue, "a") is Room.ACTIVE


def test_a_wildcard_event_wakes_whoever_rejected_the_pod() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    reject(queue, 0.0, "Nobody")

    assert queue.move_all(UNSCHEDULABLE_TIMEOUT, 9.0) == 1


def test_the_pod_that_caused_an_event_can_be_left_out() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    reject(queue, 0.0, "Fit")

    assert queue.move_all(NODE_ADD, 9.0, except_uid="a") == 0


def test_counts_name_each_room() -> None:
    queue = make_queue()
    queue.add(make("rejected", priority=2), 0.0)
    reject(queue, 0.0, "Fit")
    queue.add(make("failed", priority=2), 0.0)
    reject(queue, 0.0)
    queue.add(make("gated", gated=True), 0.0)
    queue.add(make("ready"), 0.0)

    assert queue.counts() == {Room.ACTIVE: 1, Room.BACKOFF: 1, Room.UNSCHEDULABLE: 1, Room.GATED: 1}
    assert queue.unschedulable_plugins()["Fit", ""] == 1


def test_a_recreated_pod_of_the_same_name_is_another_pod() -> None:
    queue = make_queue()
    queue.add(make("old"), 0.0)
    queue.delete("old")
    queue.add(make("new"), 1.0)

    assert pop(queue, 2.0).pod.uid == "new"


def test_many_moves_do_not_grow_the_heap() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    for version in range(2, 5000):
        queue.update(make(version=str(version)), [POD_UPDATE], 1.0)

    assert len(queue._active._places) < 50
    assert pop(queue, 2.0).pod.pod.metadata.resource_version == "4999"


def test_an_event_may_help_only_pods_up_to_a_priority() -> None:
    queue = make_queue()
    for priority in (4, 5, 6):
        queue.add(make(f"p{priority}", priority=priority), 0.0)
        reject(queue, 0.0, "Fit")

    assert queue.move_all(NODE_ADD, 9.0, up_to_priority=5) == 2
    assert room_of(queue, "p6") is Room.UNSCHEDULABLE


def test_a_flushed_pod_that_fails_again_and_is_woken_by_an_event_was_not_flushed() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    reject(queue, 0.0, "Fit")
    queue.flush(0.0)
    queue.flush(330.0)
    assert reject(queue, 331.0, "Fit").was_flushed is False
    queue.move_all(NODE_ADD, 400.0)

    assert not pop(queue, 400.0).was_flushed


def signed(pod: PodInfo) -> Signature | None:
    """A signature for each priority; none for pods without one."""
    return SIGNATURES.get(pod.priority)


SIGNATURES = {priority: Signature("reprise", (priority,)) for priority in (1, 2)}
ONE, TWO = SIGNATURES[1], SIGNATURES[2]


def test_a_waiting_pod_is_found_by_its_signature_in_whichever_room() -> None:
    queue = make_queue(sign=signed)
    assert not queue.is_waiting(ONE)
    queue.add(make("a", priority=1), 0.0)
    assert (queue.is_waiting(ONE), queue.is_waiting(TWO)) == (True, False)

    queued = pop(queue, 1.0)
    assert queued.signature is ONE
    assert not queue.is_waiting(ONE)
    queue.add_failed(queued, queued.pod, ("Fit",), 1.0)
    assert queue.is_waiting(ONE)
    queue.move_all(NODE_ADD, 1.5)
    assert room_of(queue, "a") is Room.BACKOFF
    assert queue.is_waiting(ONE)
    queue.flush(9.0)
    assert room_of(queue, "a") is Room.ACTIVE
    assert queue.is_waiting(ONE)
    queue.delete("a")
    assert not queue.is_waiting(ONE)


def test_pods_with_one_signature_are_counted() -> None:
    queue = make_queue(sign=signed)
    queue.add(make("a", priority=1), 0.0)
    queue.add(make("b", priority=1), 0.0)
    queue.delete("a")
    assert queue.is_waiting(ONE)

    queue.delete("b")
    assert not queue.is_waiting(ONE)


def test_a_pod_that_changes_is_signed_anew() -> None:
    queue = make_queue(sign=signed)
    queue.add(make("a", priority=1), 0.0)
    queue.update(make("a", priority=2, version="2"), [POD_UPDATE], 1.0)
    assert (queue.is_waiting(ONE), queue.is_waiting(TWO)) == (False, True)

    queue.update(make("a", priority=3, version="3"), [POD_UPDATE], 1.0)
    assert (queue.is_waiting(ONE), queue.is_waiting(TWO)) == (False, False)
    queue.update(make("a", priority=1, version="4"), [POD_UPDATE], 1.0)
    assert queue.is_waiting(ONE)
    assert pop(queue, 2.0).signature is ONE


def test_a_pod_that_failed_is_signed_as_it_is_by_then() -> None:
    queue = make_queue(sign=signed)
    queue.add(make("a", priority=1), 0.0)
    queued = pop(queue, 0.0)
    queue.add_failed(queued, make("a", priority=2, version="2"), ("Fit",), 1.0)

    assert (queue.is_waiting(ONE), queue.is_waiting(TWO)) == (False, True)


def test_long_parked_pods_are_looked_at_every_thirty_seconds_whatever_the_time() -> None:
    queue = make_queue(max_unschedulable_seconds=5.0)
    queue.flush(1000.0)
    queue.add(make(), 1000.0)
    reject(queue, 1000.0, "Nobody")

    queue.flush(1029.0)
    assert room_of(queue, "a") is Room.UNSCHEDULABLE
    queue.flush(1030.0)
    assert room_of(queue, "a") is Room.ACTIVE


def test_a_pod_that_was_parked_a_moment_ago_is_not_flushed_whatever_the_time() -> None:
    queue = make_queue()
    queue.flush(1000.0)
    queue.add(make(), 1010.0)
    reject(queue, 1010.0, "Nobody")
    queue.flush(1030.0)

    assert room_of(queue, "a") is Room.UNSCHEDULABLE


def test_a_pod_that_stays_gated_is_asked_about_again_five_minutes_after_its_last_flush() -> None:
    asked: list[PodInfo] = []

    def pre_enqueue(pod: PodInfo) -> Status:
        asked.append(pod)
        return gate(pod)

    queue = make_queue(pre_enqueue=pre_enqueue)
    queue.flush(0.0)
    queue.add(make(gated=True), 0.0)
    counts = []
    for now in (300.0, 330.0, 360.0, 630.0, 660.0):
        queue.flush(now)
        counts.append(len(asked))

    assert counts == [1, 2, 2, 2, 3]
