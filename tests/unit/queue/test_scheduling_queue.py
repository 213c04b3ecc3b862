"""What waits where, and what wakes it. Expected: kube-scheduler 1.37, PriorityQueue; time is whatever the test says."""

from __future__ import annotations

from scheduler.framework.cluster_event import UNSCHEDULABLE_TIMEOUT
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Status
from scheduler.queue.queued_pod import Room
from tests.support.queues import (
    GATES_GONE,
    NODE_ADD,
    NODE_TAINT,
    POD_UPDATE,
    gate,
    make,
    make_queue,
    pop,
    reject,
    room_of,
)


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


# trap: back-off-in-whole-seconds
def test_after_an_error_a_pod_backs_off_and_is_never_popped_early() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    reject(queue, 1.0)

    assert room_of(queue, "a") is Room.BACKOFF
    assert queue.pop(1.9) is None


# trap: errors-and-rejections-are-counted-apart
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


# trap: events-during-an-attempt
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


# trap: a-name-is-used-again
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


def test_moves_are_counted_by_room_and_event() -> None:
    queue = make_queue()
    queue.add(make("a"), 0.0)
    reject(queue, 1.0, "Fit")
    queue.move_all(NODE_ADD, 1.5)
    pop(queue, 1.6)
    queue.add(make("b"), 0.0)
    reject(queue, 1.0)
    queue.flush(5.0)

    assert queue.incoming == {
        ("active", "UnscheduledPodAdd"): 2,
        ("unschedulable", "ScheduleAttemptFailure"): 1,
        ("backoff", "NodeAdd"): 1,
        ("active", "PopFromBackoffQ"): 1,
        ("backoff", "ScheduleAttemptFailure"): 1,
        ("active", "BackoffComplete"): 1,
    }


def test_a_pod_that_is_gated_counts_as_unschedulable_once_for_as_long_as_it_is() -> None:
    queue = make_queue()
    queue.add(make(gated=True), 0.0)
    assert queue.move_all(GATES_GONE, 1.0) == 0
    assert queue.move_all(GATES_GONE, 2.0) == 0

    assert queue.incoming == {("unschedulable", "UnscheduledPodAdd"): 1}
    queued = queue.get("a")
    assert queued is not None
    assert queued.unschedulable_plugins == ("Gates",)


# trap: pre-enqueue-runs-again
def test_a_rejected_pod_that_is_gated_when_it_wakes_stays_out() -> None:
    """PreEnqueue is asked again whenever a pod is to be tried."""
    queue = make_queue()
    queue.add(make(), 0.0)
    reject(queue, 0.0, "Fit")
    queued = queue.get("a")
    assert queued is not None
    queue.update(make(gated=True, version="2"), [POD_UPDATE], 1.0)
    assert queue.move_all(NODE_ADD, 9.0) == 0

    assert room_of(queue, "a") is Room.GATED
    assert queued.unschedulable_plugins == ("Fit", "Gates")
    assert queue.incoming["unschedulable", "NodeAdd"] == 1


def test_a_gated_pod_is_asked_about_again_only_when_its_gate_may_open() -> None:
    """Not for events of whoever rejected it before."""
    asked: list[PodInfo] = []

    def pre_enqueue(pod: PodInfo) -> Status:
        asked.append(pod)
        return gate(pod)

    queue = make_queue(pre_enqueue=pre_enqueue)
    queue.add(make(), 0.0)
    reject(queue, 0.0, "Fit")
    queue.update(make(gated=True, version="2"), [POD_UPDATE], 1.0)
    queue.move_all(NODE_ADD, 9.0)
    assert (room_of(queue, "a"), len(asked)) == (Room.GATED, 2)

    queue.move_all(NODE_ADD, 10.0)
    assert len(asked) == 2
    queue.move_all(GATES_GONE, 11.0)
    assert len(asked) == 3


def test_a_popped_pod_is_counted_nowhere() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    pop(queue, 1.0)

    assert set(queue.counts().values()) == {0}


def test_a_pod_that_was_gated_once_is_merely_unschedulable_when_it_fails() -> None:
    queue = make_queue()
    queue.add(make(gated=True), 0.0)
    queue.update(make(version="2"), [GATES_GONE], 1.0)
    queued = reject(queue, 2.0, "Fit")

    assert (room_of(queue, "a"), queued.gating_plugin) == (Room.UNSCHEDULABLE, "")


def test_a_popped_pod_says_that_it_is_in_flight() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)

    assert pop(queue, 1.0).room is Room.IN_FLIGHT


def test_a_pod_that_came_back_during_its_attempt_is_not_put_in_twice() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    queued = pop(queue, 1.0)
    queue.add(make(version="2"), 1.1)
    queue.add_failed(queued, make(version="2"), ("Fit",), 1.2)

    assert (room_of(queue, "a"), queue.is_in_flight("a"), len(queue)) == (Room.ACTIVE, False, 1)


def test_a_pod_can_be_deleted_from_any_room() -> None:
    queue = make_queue()
    queue.add(make("parked"), 0.0)
    reject(queue, 0.0, "Fit")
    queue.add(make("rejected"), 0.0)
    reject(queue, 0.0, "Taints")
    queue.move_all(NODE_TAINT, 0.5)
    queue.add(make("failed"), 0.0)
    reject(queue, 0.0)
    queue.add(make("active"), 0.0)
    for uid in ("parked", "rejected", "failed", "active"):
        queue.delete(uid)

    assert set(queue.counts().values()) == {0}
    queue.flush(60.0)
    assert queue.move_all(NODE_ADD, 60.0) == 0
    assert queue.pop(60.0) is None


def test_an_update_of_a_pod_in_backoff_moves_it_to_its_new_place() -> None:
    queue = make_queue()
    for uid in ("a", "b"):
        queue.add(make(uid), 0.0)
        reject(queue, 0.0, "Fit")
    queue.move_all(NODE_ADD, 0.5)
    queue.update(make("b", priority=5, version="2"), [POD_UPDATE], 0.6)

    assert [pop(queue, 0.7).pod.uid for _ in range(2)] == ["b", "a"]


def test_an_update_with_several_events_moves_a_pod_once() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    reject(queue, 0.0, "Fit", "Taints")
    queue.update(make(version="2"), [NODE_ADD, NODE_TAINT], 9.0)

    assert queue.incoming["active", "NodeAdd"] == 1
    assert queue.incoming["active", "NodeUpdateNodeTaint"] == 0
