"""What becomes due with time. Expected: kube-scheduler 1.37, PriorityQueue; time is whatever the test says."""

from __future__ import annotations

from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Status
from scheduler.queue.queued_pod import Room
from tests.support.queues import (
    GATES_GONE,
    NODE_ADD,
    gate,
    make,
    make_queue,
    pop,
    reject,
    room_of,
)


def test_the_flush_activates_what_has_waited_long_enough() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    reject(queue, 1.0)

    queue.flush(2.9)
    assert queue.pop(2.9) is None
    queue.flush(3.0)
    assert pop(queue, 3.0).pod.uid == "a"
    assert queue.incoming[Room.ACTIVE, "BackoffComplete"] == 1


def test_a_gated_pod_whose_gates_stay_remains_gated_after_the_flush() -> None:
    queue = make_queue()
    queue.add(make(gated=True), 0.0)
    queue.flush(0.0)

    queue.flush(400.0)

    assert room_of(queue, "a") is Room.GATED


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


def test_a_flushed_pod_that_fails_again_and_is_woken_by_an_event_was_not_flushed() -> None:
    queue = make_queue()
    queue.add(make(), 0.0)
    reject(queue, 0.0, "Fit")
    queue.flush(0.0)
    queue.flush(330.0)
    assert reject(queue, 331.0, "Fit").was_flushed is False
    queue.move_all(NODE_ADD, 400.0)

    assert not pop(queue, 400.0).was_flushed


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


def test_the_next_look_at_long_parked_pods_is_thirty_seconds_after_the_last() -> None:
    queue = make_queue(max_unschedulable_seconds=5.0)
    queue.flush(0.0)
    queue.flush(30.0)
    queue.add(make(), 30.0)
    reject(queue, 30.0, "Nobody")

    queue.flush(40.0)
    assert room_of(queue, "a") is Room.UNSCHEDULABLE
    queue.flush(60.0)
    assert room_of(queue, "a") is Room.ACTIVE


def test_a_flush_that_did_not_get_past_the_gate_is_not_what_woke_the_pod_later() -> None:
    queue = make_queue()
    queue.flush(0.0)
    queue.add(make(gated=True), 0.0)
    queue.flush(330.0)
    queue.update(make(version="2"), [GATES_GONE], 331.0)

    assert not pop(queue, 332.0).was_flushed
