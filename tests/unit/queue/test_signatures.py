"""Waiting pods by their signature. Expected: kube-scheduler 1.37, PriorityQueue; time is whatever the test says."""

from __future__ import annotations

from scheduler.framework.pod_info import PodInfo
from scheduler.framework.signature import Signature
from scheduler.queue.queued_pod import Room
from tests.support.queues import (
    NODE_ADD,
    POD_UPDATE,
    make,
    make_queue,
    pop,
    room_of,
)


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


# trap: signed-when-queued
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
