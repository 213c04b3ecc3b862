"""From assume to the end of a bind, in every order in which the answer and the watch can come.

Expected: kube-scheduler 1.37, bindingCycle and handleBindingCycleError.
"""

from __future__ import annotations

import pytest

from scheduler.api.objects import Pod, PodCondition, PodStatus
from scheduler.core.instruction import BindPod, Condition, PatchPodStatus, ReadPod, RecordEvent
from scheduler.core.measurements import SECONDS_BOUNDS
from tests.support.builders import make_node, make_pod
from tests.support.core_run import BINDING, ON_NODE, Core, changed, on_node, reference

DELETED = "2026-01-01T00:00:00Z"


@pytest.fixture
def pod() -> Pod:
    return changed(make_pod("web", requests={"cpu": "3"}), version="7")


@pytest.fixture
def core(pod: Pod) -> Core:
    """The pod was assumed on n1 at second 10; it came at second 9."""
    core = Core()
    core.nodes(make_node("n1"))
    core.pods(pod, at=9.0)
    assert core.decide(10.0).instructions == [BindPod(pod=reference(pod), node_name="n1")]
    assert core.rooms(pod) == [BINDING, ON_NODE]
    return core


def waiting(core: Core) -> Pod:
    """A pod that the assumed one left no room for."""
    waiting = make_pod("waiting", requests={"cpu": "2"})
    core.pods(waiting, at=10.0)
    assert core.decide(10.0).outcome == "unschedulable"
    assert core.rooms(waiting) == ["unschedulable"]
    return waiting


def scheduled_event(pod: Pod, now: float) -> RecordEvent:
    return RecordEvent(
        pod=reference(pod),
        type="Normal",
        reason="Scheduled",
        action="Binding",
        note="Successfully assigned default/web to n1",
        controller="reprise",
        now=now,
    )


# trap: assumed-until-seen
def test_an_answer_before_the_watch_is_told_and_the_pod_stays_assumed(core: Core, pod: Pod) -> None:
    assert core.bound(pod, "n1", at=10.5) == [scheduled_event(pod, 10.5)]
    assert core.rooms(pod) == [ON_NODE]
    assert core.state.cache.assumed_count == 1

    assert core.pods(on_node(pod, "n1")) == []
    assert core.rooms(pod) == [ON_NODE]
    assert core.state.cache.assumed_count == 0


def test_the_watch_before_the_answer_confirms_the_pod(core: Core, pod: Pod) -> None:
    core.pods(on_node(pod, "n1"))
    assert core.rooms(pod) == [BINDING, ON_NODE]
    assert core.state.cache.assumed_count == 0

    # The Event is about the pod as it was when it was decided on.
    assert core.bound(pod, "n1", at=10.5) == [scheduled_event(pod, 10.5)]
    assert core.rooms(pod) == [ON_NODE]


def test_a_bound_pod_is_measured_from_its_pop_and_from_its_first_entry(core: Core, pod: Pod) -> None:
    core.bound(pod, "n1", at=10.5)

    measurements = core.state.measurements
    assert measurements.attempts == {("scheduled", "reprise"): 1}
    assert measurements.attempt_seconds["scheduled", "reprise"].sum == 0.5
    assert measurements.sli_seconds["1"].sum == 1.5
    assert measurements.pod_attempts.sum == 1.0
    assert measurements.pod_attempts.buckets == [1, 0, 0, 0, 0, 0]


def test_a_second_answer_says_nothing(core: Core, pod: Pod) -> None:
    core.bound(pod, "n1")

    assert core.bound(pod, "n1") == []
    assert core.bind_failed(pod, "n1") == []
    assert core.rooms(pod) == [ON_NODE]


def test_a_failed_bind_gives_the_room_back_and_the_pod_backs_off(core: Core, pod: Pod) -> None:
    message = 'running Bind plugin "DefaultBinder": refused'

    assert core.bind_failed(pod, "n1", "refused", at=11.0) == [
        RecordEvent(
            pod=reference(pod),
            type="Warning",
            reason="FailedScheduling",
            action="Scheduling",
            note=message,
            controller="reprise",
            now=11.0,
        ),
        PatchPodStatus(
            pod=reference(pod),
            condition=Condition(
                type="PodScheduled",
                status="False",
                reason="SchedulerError",
                message=message,
                observed_generation=0,
                last_transition_time=11.0,
            ),
            condition_order=["PodScheduled"],
        ),
    ]
    assert core.rooms(pod) == ["backoff"]
    assert core.state.measurements.attempts == {("error", "reprise"): 1}
    assert core.state.measurements.attempt_seconds["error", "reprise"].sum == 1.0
    assert core.state.measurements.attempt_seconds["error", "reprise"].bounds == SECONDS_BOUNDS


def test_a_pod_whose_bind_failed_is_tried_again_after_its_back_off(core: Core, pod: Pod) -> None:
    core.bind_failed(pod, "n1", at=11.25)
    core.tick(12.9)
    assert core.scheduler.schedule_one(12.9) is None

    core.tick(13.0)
    result = core.decide(13.0)
    assert (result.attempt, result.node_name) == (2, "n1")


def test_a_failed_bind_wakes_who_lacked_the_room(core: Core, pod: Pod) -> None:
    other = waiting(core)
    core.bind_failed(pod, "n1", at=11.0)

    assert core.rooms(other) == ["backoff"]


def test_a_failed_bind_uses_the_newest_state_of_the_pod(core: Core, pod: Pod) -> None:
    condition = PodCondition(type="PodScheduled", status="False", reason="SchedulerError", message="before")
    newer = changed(make_pod("web", requests={"cpu": "3"}, status=PodStatus(conditions=[condition])), version="8")
    core.pods(newer)
    event, patch = core.bind_failed(pod, "n1", at=11.0)

    assert isinstance(event, RecordEvent)
    assert event.pod.resource_version == "8"
    assert isinstance(patch, PatchPodStatus)
    assert patch.condition is not None
    assert patch.condition.last_transition_time is None
    queued = core.state.queue.get(pod.metadata.uid)
    assert queued is not None
    assert queued.pod.pod == newer


def test_a_pod_deleted_during_its_bind_frees_its_room_at_once(core: Core, pod: Pod) -> None:
    other = waiting(core)
    core.pod_gone(pod, at=12.5)

    assert core.rooms(pod) == [BINDING]
    assert core.rooms(other) == ["active"]


def test_a_failed_bind_of_a_deleted_pod_is_not_told_or_repeated(core: Core, pod: Pod) -> None:
    core.pod_gone(pod)

    assert core.bind_failed(pod, "n1") == []
    assert core.rooms(pod) == []


def test_a_bind_that_succeeded_before_the_pod_was_deleted_is_told(core: Core, pod: Pod) -> None:
    core.pod_gone(pod)

    # How it ended is not known: nobody has seen it run.
    assert core.bound(pod, "n1", at=11.0) == [scheduled_event(pod, 11.0), ReadPod(pod=reference(pod))]
    assert core.rooms(pod) == []


# trap: updates-of-assumed-pods
def test_a_pod_that_begins_to_terminate_during_its_bind_frees_its_room_at_once(core: Core, pod: Pod) -> None:
    other = waiting(core)
    core.pods(changed(pod, version="8", metadata={"deletion_timestamp": DELETED}), at=12.5)

    assert core.rooms(pod) == [BINDING]
    assert core.rooms(other) == ["active"]


def test_a_terminating_pod_whose_bind_fails_is_dropped_when_its_turn_comes(core: Core, pod: Pod) -> None:
    core.pods(changed(pod, version="8", metadata={"deletion_timestamp": DELETED}))
    core.bind_failed(pod, "n1", at=11.0)
    assert core.rooms(pod) == ["backoff"]

    core.tick(20.0)
    assert core.decide(20.0).outcome == "skipped"
    assert core.rooms(pod) == []


def test_a_pod_that_terminated_before_it_was_assumed_keeps_its_room(pod: Pod) -> None:
    """Only a deletion that is new frees it; such a pod is not decided on in the first place."""
    core = Core()
    core.nodes(make_node("n1"))
    core.pods(changed(pod, version="8", metadata={"deletion_timestamp": DELETED}))

    assert core.decide().outcome == "skipped"


def test_a_pod_that_someone_else_bound_elsewhere_counts_there(core: Core, pod: Pod) -> None:
    core.nodes(make_node("n2"))
    core.pods(on_node(pod, "n2"))

    cached = core.state.cache.pod(pod.metadata.uid)
    assert cached is not None
    assert (cached.node_name, cached.assumed) == ("n2", False)


def test_a_pod_bound_elsewhere_leaves_room_for_who_lacked_it(core: Core, pod: Pod) -> None:
    """The failed bind that follows finds nothing to give back, so this is the only occasion."""
    other = waiting(core)
    core.pods(on_node(pod, "n2"), at=12.5)

    assert core.rooms(other) == ["active"]


def test_a_failed_bind_of_a_pod_that_is_bound_elsewhere_is_not_told_or_repeated(core: Core, pod: Pod) -> None:
    core.pods(on_node(pod, "n2"))

    assert core.bind_failed(pod, "n1") == []
    assert core.rooms(pod) == [ON_NODE]
    assert core.state.measurements.attempts == {("error", "reprise"): 1}


def test_a_failed_bind_of_a_pod_that_was_bound_elsewhere_and_deleted_is_not_repeated(core: Core, pod: Pod) -> None:
    core.pods(on_node(pod, "n2"))
    core.pod_gone(pod)

    assert core.bind_failed(pod, "n1") == []
    assert core.rooms(pod) == []


def test_a_failed_bind_does_not_touch_a_pod_made_anew_under_the_same_name(core: Core, pod: Pod) -> None:
    again = make_pod("web", uid="another")
    core.pod_gone(pod)
    core.pods(again)

    assert core.bind_failed(pod, "n1") == []
    assert core.rooms(again) == ["active"]


def test_a_pod_that_shrank_before_its_bind_was_seen_leaves_room_for_others(core: Core, pod: Pod) -> None:
    other = waiting(core)
    smaller = on_node(make_pod("web", requests={"cpu": "1"}), "n1")
    core.pods(smaller, at=12.5)

    assert core.rooms(other) == ["active"]


def test_a_confirmed_pod_wakes_nobody_who_lacks_room(core: Core, pod: Pod) -> None:
    other = waiting(core)
    core.pods(on_node(pod, "n1"), at=12.5)

    assert core.rooms(other) == ["unschedulable"]


def test_the_node_may_go_and_come_again_during_a_bind(core: Core, pod: Pod) -> None:
    core.node_gone("n1")
    core.nodes(make_node("n1", uid="again"))
    core.state.cache.validate()
    waiting(core)

    core.bind_failed(pod, "n1")
    core.state.cache.validate()


def test_attempts_add_up_over_failures(core: Core, pod: Pod) -> None:
    core.bind_failed(pod, "n1", at=11.0)
    core.tick(13.0)
    core.decide(13.0)
    core.bound(pod, "n1", at=13.5)

    measurements = core.state.measurements
    assert measurements.sli_seconds["2"].sum == 4.5
    assert measurements.pod_attempts.sum == 2.0
    assert measurements.attempts == {("error", "reprise"): 1, ("scheduled", "reprise"): 1}
