"""Which plugins are asked about an event, once for how many pods, and what their answers do.

Expected: kube-scheduler 1.37, isPodWorthRequeuing and moveAllToActiveOrBackoffQueue.
"""

from __future__ import annotations

from typing import Any

from scheduler.framework.cluster_event import ClusterEvent
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.queueing_hint import Hint
from scheduler.queue.hearing import Hearing
from scheduler.queue.queued_pod import QueuedPod, Room
from scheduler.queue.scheduling_queue import SchedulingQueue
from tests.support.queues import (
    GATES_GONE,
    NODE_ADD,
    NODE_TAINT,
    make,
    make_queue,
    pop,
    registered_events,
    reject,
    room_of,
)


class Asked:
    """Plugins that answer as they are told, and remember what they were asked."""

    def __init__(self, **answers: Hint) -> None:
        self.answers = answers
        self.questions: list[tuple[str, str, ClusterEvent, Any, Any]] = []

    def hint(self, pod: PodInfo, plugin: str, event: ClusterEvent, old: Any, new: Any) -> Hint:
        self.questions.append((pod.uid, plugin, event, old, new))
        return self.answers.get(plugin, Hint.QUEUE)

    def queue(self, **options: Any) -> SchedulingQueue:
        return make_queue(hearing=Hearing(registered_events, self.hint, **options))


def parked(queue: SchedulingQueue, uid: str, *plugins: str) -> None:
    queue.add(make(uid), 0.0)
    reject(queue, 0.0, *plugins)


def test_a_plugin_is_asked_with_the_object_as_it_was_and_as_it_is() -> None:
    asked = Asked()
    queue = asked.queue()
    parked(queue, "a", "Fit")
    queue.move_all(NODE_ADD, 9.0, old="before", new="after")

    assert asked.questions == [("a", "Fit", NODE_ADD, "before", "after")]


def test_a_pod_whose_plugin_skips_the_event_stays_parked() -> None:
    queue = Asked(Fit=Hint.SKIP).queue()
    parked(queue, "a", "Fit")

    assert queue.move_all(NODE_ADD, 9.0) == 0
    assert room_of(queue, "a") is Room.UNSCHEDULABLE


def test_one_pod_answers_for_all_that_are_alike() -> None:
    asked = Asked()
    queue = asked.queue(likeness=lambda queued: queued.pod.uid[0])
    for uid in ("a1", "b1", "a2", "a3"):
        parked(queue, uid, "Fit")

    assert queue.move_all(NODE_ADD, 9.0) == 4
    assert [question[0] for question in asked.questions] == ["a1", "b1"]


def test_only_rejecting_plugins_that_registered_for_the_event_are_asked() -> None:
    asked = Asked(Fit=Hint.SKIP)
    queue = asked.queue()
    parked(queue, "a", "Fit", "Taints")
    queue.move_all(NODE_ADD, 9.0)

    assert [question[1] for question in asked.questions] == ["Fit"]


def test_one_plugin_that_queues_the_pod_is_enough_and_no_other_is_asked() -> None:
    def both(_pod: PodInfo, _plugin: str) -> tuple[ClusterEvent, ...]:
        return (NODE_ADD,)

    for answers, questions in (
        ({"A": Hint.SKIP, "B": Hint.QUEUE}, ["A", "B"]),
        ({"A": Hint.QUEUE, "B": Hint.SKIP}, ["A"]),
    ):
        asked = Asked(**answers)
        queue = make_queue(hearing=Hearing(both, asked.hint))
        parked(queue, "a", "A", "B")

        assert queue.move_all(NODE_ADD, 9.0) == 1
        assert [question[1] for question in asked.questions] == questions


def test_an_event_during_the_attempt_is_judged_by_hints_too() -> None:
    asked = Asked(Fit=Hint.SKIP)
    queue = asked.queue()
    queue.add(make(), 0.0)
    queued = pop(queue, 1.0)
    queue.move_all(NODE_ADD, 1.1, old="before", new="after")
    queue.add_failed(queued, queued.pod, ("Fit",), 1.2)

    assert room_of(queue, "a") is Room.UNSCHEDULABLE
    assert asked.questions == [("a", "Fit", NODE_ADD, "before", "after")]


def test_any_of_several_events_during_the_attempt_is_enough() -> None:
    asked = Asked(Taints=Hint.SKIP)
    queue = asked.queue()
    queue.add(make(), 0.0)
    queued = pop(queue, 1.0)
    for event in (NODE_TAINT, NODE_ADD, NODE_TAINT):
        queue.move_all(event, 1.1)
    queue.add_failed(queued, queued.pod, ("Fit", "Taints"), 1.2)

    assert room_of(queue, "a") is Room.BACKOFF
    assert [question[1] for question in asked.questions] == ["Taints", "Fit"]


def test_an_event_that_nobody_registered_for_is_not_kept_for_pods_in_flight() -> None:
    queue = Asked().queue(is_of_interest=lambda event: event is NODE_ADD)
    queue.add(make(), 0.0)
    pop(queue, 1.0)
    queue.move_all(NODE_TAINT, 1.1)
    queue.move_all(NODE_ADD, 1.1)

    assert queue._in_flight.event_count == 1


def fail_pending(queue: SchedulingQueue, *plugins: str, pending: tuple[str, ...], at: float = 0.0) -> QueuedPod:
    queue.add(make(), at)
    queued = pop(queue, at)
    queue.add_failed(queued, queued.pod, plugins, at, pending=pending)
    return queued


# trap: pending-skips-the-back-off
def test_what_helps_a_plugin_with_the_status_pending_skips_the_backoff() -> None:
    queue = Asked().queue()
    fail_pending(queue, "Fit", pending=("Fit",))
    queue.move_all(NODE_ADD, 0.1)

    assert room_of(queue, "a") is Room.ACTIVE


def test_what_helps_only_another_plugin_does_not_skip_the_backoff() -> None:
    asked = Asked()
    queue = asked.queue()
    fail_pending(queue, "Fit", "Taints", pending=("Fit",))
    queue.move_all(NODE_TAINT, 0.1)

    assert room_of(queue, "a") is Room.BACKOFF


def test_after_a_plugin_that_merely_queues_the_pending_one_is_still_asked() -> None:
    asked = Asked()
    queue = make_queue(hearing=Hearing(lambda _pod, _plugin: (NODE_ADD,), asked.hint))
    fail_pending(queue, "A", "B", pending=("B",))
    queue.move_all(NODE_ADD, 0.1)

    assert [question[1] for question in asked.questions] == ["A", "B"]
    assert room_of(queue, "a") is Room.ACTIVE


def test_an_event_during_the_attempt_that_helps_a_pending_plugin_skips_the_backoff() -> None:
    queue = Asked().queue()
    queue.add(make(), 0.0)
    queued = pop(queue, 0.0)
    queue.move_all(NODE_TAINT, 0.0)
    queue.move_all(NODE_ADD, 0.0)
    queue.add_failed(queued, queued.pod, ("Fit", "Taints"), 0.1, pending=("Fit",))

    assert room_of(queue, "a") is Room.ACTIVE


def test_what_one_event_did_during_the_attempt_is_not_undone_by_a_later_one() -> None:
    queue = Asked(Fit=Hint.SKIP).queue()
    queue.add(make(), 0.0)
    queued = pop(queue, 0.0)
    queue.move_all(NODE_TAINT, 0.0)
    queue.move_all(NODE_ADD, 0.0)
    queue.add_failed(queued, queued.pod, ("Fit", "Taints"), 0.1, pending=("Fit",))

    assert room_of(queue, "a") is Room.BACKOFF


def test_a_later_failure_without_pending_plugins_forgets_them() -> None:
    queue = Asked().queue()
    fail_pending(queue, "Fit", pending=("Fit",))
    queue.move_all(NODE_ADD, 0.1)
    queued = reject(queue, 0.2, "Fit")

    assert queued.pending_plugins == ()
    queue.move_all(NODE_ADD, 0.3)
    assert room_of(queue, "a") is Room.BACKOFF


def test_a_change_of_the_pod_itself_is_asked_about_with_both_of_its_states() -> None:
    asked = Asked()
    queue = asked.queue()
    before, after = make(gated=True), make(version="2")
    queue.add(before, 0.0)
    queue.update(after, [GATES_GONE], 1.0)

    assert asked.questions == [("a", "Gates", GATES_GONE, before, after)]


def test_a_changed_pod_joins_the_group_that_it_is_like_by_then() -> None:
    asked = Asked()
    queue = asked.queue(likeness=lambda queued: queued.pod.priority)
    for uid in ("a", "b"):
        parked(queue, uid, "Fit")
    queue.update(make("b", priority=7, version="2"), [], 1.0)
    queue.move_all(NODE_ADD, 9.0)

    assert [question[0] for question in asked.questions] == ["a", "b"]


def test_activated_pods_are_tried_at_once_whatever_rejected_them() -> None:
    queue = Asked(Fit=Hint.SKIP).queue()
    parked(queue, "parked", "Fit")
    parked(queue, "failed")
    queue.activate(["parked", "failed", "unknown"], 0.1)

    assert (room_of(queue, "parked"), room_of(queue, "failed")) == (Room.ACTIVE, Room.ACTIVE)
    assert queue.incoming["active", "ForceActivate"] == 2


def test_an_activated_pod_is_still_kept_out_by_its_gate() -> None:
    queue = Asked().queue()
    queue.add(make(gated=True), 0.0)
    queue.activate(["a"], 1.0)

    assert room_of(queue, "a") is Room.GATED


def test_an_active_pod_that_is_activated_stays_where_it_is() -> None:
    queue = Asked().queue()
    queue.add(make(), 0.0)
    queue.activate(["a"], 1.0)

    assert queue.incoming == {("active", "UnscheduledPodAdd"): 1}


def test_a_pod_that_is_activated_during_its_attempt_is_tried_again_after_its_backoff() -> None:
    queue = Asked(Fit=Hint.SKIP).queue()
    queue.add(make("a", priority=1), 0.0)
    queue.add(make("b"), 0.0)
    first, second = pop(queue, 0.0), pop(queue, 0.0)
    queue.activate(["a"], 0.1)
    for queued in (first, second):
        queue.add_failed(queued, queued.pod, ("Fit",), 0.2)

    assert (room_of(queue, "a"), room_of(queue, "b")) == (Room.BACKOFF, Room.UNSCHEDULABLE)
