"""One pod, one decision. Expected: kube-scheduler 1.37, scheduleOnePod and handleSchedulingFailure."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.api.objects import Pod, PodResourceClaim, PodStatus, key_of
from scheduler.core.instruction import BindPod, Condition, Instruction, PatchPodStatus, RecordEvent
from scheduler.core.state import PluginFault
from scheduler.framework.status import Code, Reason
from tests.support.builders import make_node, make_pod
from tests.support.core_run import BINDING, ON_NODE, Core, changed, reference
from tests.support.scripted_plugins import Filter, PreEnqueue, Score, make_profile, named, rejected

DELETED = "2026-01-01T00:00:00Z"


def failure(pod: Pod, message: str, *, reason: str, now: float, nominated: str | None = None) -> list[Instruction]:
    """The Event and the patch that tell of a first failure."""
    return [
        RecordEvent(
            pod=reference(pod),
            type="Warning",
            reason="FailedScheduling",
            action="Scheduling",
            note=message,
            controller="reprise",
            now=now,
        ),
        PatchPodStatus(
            pod=reference(pod),
            condition=Condition(
                type="PodScheduled",
                status="False",
                reason=reason,
                message=message,
                observed_generation=pod.metadata.generation,
                last_transition_time=now,
            ),
            condition_order=["PodScheduled"],
            nominated_node_name=nominated,
        ),
    ]


def test_nobody_waits() -> None:
    assert Core().scheduler.schedule_one(0.0) is None


def test_a_pod_that_fits_is_assumed_and_bound() -> None:
    core = Core()
    core.nodes(make_node("n1"), make_node("n2", allocatable={"cpu": "0"}))
    pod = changed(make_pod("web"), version="7")
    core.pods(pod)
    result = core.decide(5.0)

    assert result.instructions == [BindPod(pod=reference(pod), node_name="n1")]
    assert (result.pod, result.uid, result.profile) == ("default/web", "default-web", "reprise")
    assert (result.outcome, result.node_name, result.feasible, result.attempt) == ("assumed", "n1", 1, 1)
    assert (result.message, result.plugins) == ("", ())
    assert core.rooms(pod) == [BINDING, ON_NODE]
    assert not core.state.queue.is_in_flight(pod.metadata.uid)


def test_the_next_decision_sees_the_room_that_an_assumed_pod_takes() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    core.pods(make_pod("a", requests={"cpu": "3"}), make_pod("b", requests={"cpu": "3"}))

    assert core.decide().node_name == "n1"
    assert core.decide().message == "0/1 nodes are available: 1 Insufficient cpu."


def test_the_highest_total_wins() -> None:
    score = named(Score, "Likes", by_name={"n2": 3, "n3": 9, "n4": 8})
    core = Core([make_profile(score)])
    core.nodes(*(make_node(f"n{number}") for number in range(6)))
    core.pods(make_pod())

    result = core.decide()
    assert (result.node_name, result.feasible) == ("n3", 6)


def test_a_negative_weight_chooses_the_least_liked_of_those_that_fit() -> None:
    score = named(Score, "Dislikes", by_name={"n1": 100, "n2": 90, "n3": 100})
    refuses = named(Filter, "Refuses", refuses=("n0",))
    core = Core([make_profile(refuses, score, weights={"Dislikes": -3})])
    core.nodes(*(make_node(f"n{number}") for number in range(4)))
    core.pods(make_pod())

    assert core.decide().node_name == "n2"


def test_equal_totals_are_decided_by_the_seed() -> None:
    def choice(seed: int) -> str:
        core = Core([make_profile()], seed=seed)
        core.nodes(*(make_node(f"n{number}") for number in range(20)))
        core.pods(make_pod())
        return core.decide().node_name

    assert choice(1) == choice(1)
    assert len({choice(seed) for seed in range(8)}) > 3


def test_a_pod_that_fits_nowhere_is_told_and_parked() -> None:
    core = Core()
    core.nodes(
        *(make_node(f"n{number}") for number in range(10)),
        make_node("small", allocatable={"cpu": "1", "memory": "1Mi"}),
    )
    core.nodes(make_node("cordoned", unschedulable=True))
    pod = changed(make_pod("web", requests={"cpu": "5", "memory": "1Gi"}), version="7", metadata={"generation": 3})
    core.pods(pod)
    result = core.decide(5.0)

    message = "0/12 nodes are available: 1 Insufficient memory, 1 node(s) were unschedulable, 11 Insufficient cpu."
    assert result.instructions == failure(pod, message, reason="Unschedulable", now=5.0)
    assert (result.outcome, result.message, result.node_name) == ("unschedulable", message, "")
    assert result.plugins == ("NodeResourcesFit", "NodeUnschedulable")
    assert core.rooms(pod) == ["unschedulable"]
    assert core.state.measurements.attempts == {("unschedulable", "reprise"): 1}


def test_without_nodes_a_pod_backs_off_as_after_an_error() -> None:
    core = Core()
    pod = make_pod()
    core.pods(pod)
    result = core.decide(5.0)

    message = "no nodes available to schedule pods"
    assert result.instructions == failure(pod, message, reason="Unschedulable", now=5.0)
    assert (result.outcome, result.plugins) == ("unschedulable", ())
    assert core.rooms(pod) == ["backoff"]
    # Errors wait to the end of their back-off, though nothing else is active.
    assert core.scheduler.schedule_one(5.0) is None


def test_a_terminating_pod_is_skipped_with_an_event_and_forgotten() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    pod = make_pod("web", deletion_timestamp=DELETED)
    core.pods(pod)
    result = core.decide(5.0)

    message = "skip schedule deleting pod: default/web"
    assert result.instructions == failure(pod, message, reason="", now=5.0)[:1]
    assert (result.outcome, result.message) == ("skipped", message)
    assert core.rooms(pod) == []
    assert not core.state.queue.is_in_flight(pod.metadata.uid)
    assert core.state.measurements.attempts == {}


def test_a_pod_that_needs_a_missing_rule_is_refused_before_any_node_is_looked_at() -> None:
    core = Core()
    pod = make_pod(resource_claims=[PodResourceClaim(name="gpu")])
    core.pods(pod)
    result = core.decide(5.0)

    message = (
        "pod needs spec.resourceClaims, and DynamicResources is not implemented yet: use another scheduler for this pod"
    )
    assert result.instructions == failure(pod, message, reason="SchedulerError", now=5.0)
    assert (result.outcome, result.plugins) == ("error", ("MissingRule",))
    assert core.rooms(pod) == ["unschedulable"]


def test_a_plugin_that_raises_fails_this_pods_cycle_and_is_counted() -> None:
    filter_plugin = named(Filter, "Broken", error=RuntimeError("boom"))
    core = Core([make_profile(filter_plugin)])
    core.nodes(make_node("n1"))
    pod = make_pod()
    core.pods(pod)
    result = core.decide(5.0)

    message = 'running "Broken" filter plugin: boom'
    assert result.instructions == failure(pod, message, reason="SchedulerError", now=5.0)
    assert (result.outcome, result.plugins) == ("error", ())
    assert core.rooms(pod) == ["backoff"]
    assert core.state.measurements.plugin_failures == {"Broken": 1}
    assert core.state.measurements.attempts == {("error", "reprise"): 1}


def test_a_profile_whose_plugin_fails_does_not_disturb_another() -> None:
    broken = make_profile(named(Filter, "Broken", error=RuntimeError("boom")), scheduler_name="broken")
    core = Core([broken, make_profile()])
    core.nodes(make_node("n1"))
    core.pods(make_pod("a", scheduler_name="broken"), make_pod("b"))

    assert [core.decide().outcome for _ in range(2)] == ["error", "assumed"]


def test_a_pod_is_decided_by_the_profile_that_it_names() -> None:
    first = make_profile(named(Score, "A", by_name={"n1": 9}), scheduler_name="first")
    second = make_profile(named(Score, "B", by_name={"n2": 9}), scheduler_name="second")
    core = Core([first, second])
    core.nodes(make_node("n1"), make_node("n2"))
    core.pods(make_pod("a", scheduler_name="second"), make_pod("b", scheduler_name="first"))

    assert [core.decide().node_name for _ in range(2)] == ["n2", "n1"]


@pytest.mark.parametrize("requests", [{"cpu": "5"}, None])
def test_a_failure_clears_the_pods_nomination(requests: dict[str, Any] | None) -> None:
    """Nothing nominates anew: kube-scheduler without PostFilter plugins does the same. The second pod is without nodes."""
    core = Core()
    if requests is not None:
        core.nodes(make_node("n1"))
    pod = make_pod(requests=requests, status=PodStatus(nominated_node_name="n1"))
    core.pods(pod)
    (_, patch) = core.decide().instructions

    assert isinstance(patch, PatchPodStatus)
    assert patch.nominated_node_name == ""


# trap: the-same-failure-is-not-written
def test_the_same_failure_again_is_an_event_and_no_patch() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    pod = changed(make_pod("web", requests={"cpu": "5"}), version="1")
    core.pods(pod)
    (_, patch) = core.decide(1.0).instructions
    assert isinstance(patch, PatchPodStatus)
    assert patch.condition is not None
    condition = msgspec.convert(
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": patch.condition.message},
        type=dict[str, str],
    )
    shown = msgspec.convert({"conditions": [condition]}, PodStatus)
    core.pods(msgspec.structs.replace(changed(pod, version="2"), status=shown))
    core.nodes(make_node("n2", allocatable={"cpu": "5"}), at=9.0)
    core.node_gone("n2", at=9.0)
    result = core.decide(9.0)

    assert [type(done) for done in result.instructions] == [RecordEvent]
    assert result.attempt == 2


def test_a_pod_that_waits_is_taken_by_priority_then_by_time() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    core.pods(make_pod("late"), at=2.0)
    core.pods(make_pod("early"), at=1.0)
    core.pods(make_pod("high", priority=10), at=3.0)

    assert [core.decide().pod for _ in range(3)] == ["default/high", "default/early", "default/late"]


def test_a_restricted_pod_names_the_restricting_plugin() -> None:
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
            }
        }
    }
    core = Core()
    core.nodes(make_node("n1", unschedulable=True), make_node("n2"), make_node("n3"))
    pod = msgspec.structs.replace(
        make_pod(), spec=msgspec.convert({"schedulerName": "reprise", "affinity": affinity}, type(make_pod().spec))
    )
    core.pods(pod)
    result = core.decide()

    assert result.message == (
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )
    assert result.plugins == ("NodeAffinity", "NodeUnschedulable")


def test_a_plugin_that_keeps_a_pod_out_or_fails_to_say_gates_it() -> None:
    for status in (rejected("no"), RuntimeError("boom"), rejected("later", code=Code.PENDING)):
        core = Core([make_profile(named(PreEnqueue, "Gate", status=status))])
        pod = make_pod()
        core.pods(pod)

        assert core.rooms(pod) == ["gated"]
        assert core.state.measurements.plugin_failures == ({"Gate": 1} if isinstance(status, Exception) else {})
        assert core.scheduler.take_complaints() == (
            [PluginFault(plugin="Gate", stage="PreEnqueue", pod=key_of(pod.metadata), error="boom")]
            if isinstance(status, Exception)
            else []
        )


def test_a_rejecting_plugin_that_registers_nothing_is_woken_by_anything() -> None:
    refuses = named(Filter, "Silent", refuses=("n1",), reason=Reason("not this one", Code.UNSCHEDULABLE))
    core = Core([make_profile(refuses)])
    core.nodes(make_node("n1"))
    pod = make_pod()
    core.pods(pod)
    assert core.decide().message == "0/1 nodes are available: 1 not this one."
    core.nodes(make_node("n1", labels={"a": "b"}), at=9.0)

    assert core.rooms(pod) == ["active"]
