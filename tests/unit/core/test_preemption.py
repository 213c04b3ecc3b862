"""How room is made for a pod. Expected: kube-scheduler 1.37, DefaultPreemption and preemption.Executor (KEP-4832)."""

from __future__ import annotations

import pytest

from scheduler.api.objects import (
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodCondition,
    PodStatus,
    Taint,
)
from scheduler.core.instruction import Condition, PreemptPod, RecordEvent
from scheduler.core.state import BadObject
from tests.support.builders import make_node, make_pod
from tests.support.core_run import changed, on_node, reference
from tests.support.preemption import (
    PreemptingCore,
    deletions,
    going,
    make_budget,
    nominations,
    notes,
    replace_status,
    seated,
    urgent,
    victims,
)

NO_ROOM = "0/1 nodes are available: 1 Insufficient cpu."
FOUND = "preemption: found a potential placement for pod on node n1, preempting 1 victims"
NEVER = "preemption: not eligible due to preemptionPolicy=Never."
TERMINATING = "preemption: not eligible due to a terminating pod on the nominated node."


@pytest.fixture
def core() -> PreemptingCore:
    """A node that a pod of priority 0 fills."""
    core = PreemptingCore()
    core.pods(seated("victim"))
    return core


def nominated(pod: Pod, node: str = "n1", *, version: str = "2") -> Pod:
    """The pod once its nomination has been written."""
    return replace_status(changed(pod, version=version), PodStatus(nominated_node_name=node))


def test_the_pod_is_told_where_room_is_made(core: PreemptingCore) -> None:
    core.pods(urgent())
    result = core.decide(5.0)

    assert result.outcome == "unschedulable"
    assert result.message == f"{NO_ROOM} {FOUND}"
    assert result.plugins == ("NodeResourcesFit",)
    assert notes(result.instructions, "FailedScheduling") == [f"{NO_ROOM} {FOUND}"]
    assert nominations(result.instructions) == {"urgent": "n1"}


def test_the_victim_is_told_why_and_deleted(core: PreemptingCore) -> None:
    core.pods(urgent())

    assert deletions(core.decide(5.0).instructions) == [
        PreemptPod(
            number=1,
            pod=reference(seated("victim")),
            condition=Condition(
                type="DisruptionTarget",
                status="True",
                reason="PreemptionByScheduler",
                message="reprise: preempting to accommodate a higher priority pod",
                observed_generation=0,
                last_transition_time=5.0,
            ),
            condition_order=["DisruptionTarget"],
        )
    ]


def test_a_victim_that_was_told_before_is_not_told_again() -> None:
    core = PreemptingCore()
    told = PodCondition(
        type="DisruptionTarget",
        status="True",
        reason="PreemptionByScheduler",
        message="reprise: preempting to accommodate a higher priority pod",
    )
    core.pods(replace_status(seated("victim"), PodStatus(conditions=[told])), urgent())

    (deletion,) = deletions(core.decide().instructions)
    assert deletion.condition is None


def test_the_event_is_recorded_once_the_victim_is_deleted(core: PreemptingCore) -> None:
    core.pods(urgent())
    first = core.decide().instructions
    assert notes(first, "Preempted") == []
    (deletion,) = deletions(first)

    assert core.deleted(deletion, at=7.0) == [
        RecordEvent(
            pod=reference(seated("victim")),
            type="Normal",
            reason="Preempted",
            action="Preempting",
            note="Preempted by pod default-urgent on node n1",
            controller="reprise",
            now=7.0,
        )
    ]


def test_a_victim_that_was_gone_gets_no_event(core: PreemptingCore) -> None:
    core.pods(urgent())
    (deletion,) = deletions(core.decide().instructions)

    assert core.deleted(deletion, is_gone=True) == []


def test_all_victims_but_the_last_are_deleted_at_once_and_the_last_when_they_are() -> None:
    core = PreemptingCore()
    core.pods(*(seated(f"v{number}", cpu="1", priority=number) for number in (1, 2, 3, 4)), urgent())
    first = core.decide().instructions
    assert victims(first) == ["v4", "v3", "v2"]
    one, two, three = deletions(first)

    assert victims(core.deleted(one)) == []
    assert victims(core.deleted(two)) == []
    assert victims(core.deleted(three)) == ["v1"]


def test_the_last_victim_is_spared_when_another_could_not_be_deleted_and_the_pod_is_tried_again() -> None:
    core = PreemptingCore()
    pod = urgent()
    core.pods(seated("v1", cpu="2", priority=1), seated("v2", cpu="2", priority=2), pod)
    (deletion,) = deletions(core.decide().instructions)
    assert core.rooms(pod) == ["unschedulable"]

    assert victims(core.not_deleted(deletion)) == []
    assert core.rooms(pod) == ["active"]
    assert core.state.measurements.preemption_runs == {"error": 1}


def test_room_is_kept_for_the_pod_before_the_api_shows_its_nomination(core: PreemptingCore) -> None:
    core.pods(urgent())
    core.decide()
    assert core.nominated_to(urgent()) == "n1"
    core.pod_gone(seated("victim"), at=1.0)
    core.pods(make_pod("late", requests={"cpu": "1"}, priority=5), at=1.0)
    first = core.decide(9.0)
    second = core.decide(9.0)

    assert {first.pod: first.node_name, second.pod: second.node_name} == {"default/urgent": "n1", "default/late": ""}


def test_a_change_of_the_pod_that_does_not_show_the_nomination_yet_keeps_it(core: PreemptingCore) -> None:
    core.pods(urgent())
    core.decide()
    core.pods(changed(urgent(), version="2", metadata={"labels": {"a": "b"}}))

    assert core.nominated_to(urgent()) == "n1"


def test_a_nomination_that_was_shown_and_is_shown_no_more_is_gone(core: PreemptingCore) -> None:
    core.pods(urgent())
    core.decide()
    core.pods(nominated(urgent()))
    core.pods(changed(urgent(), version="3"))

    assert core.nominated_to(urgent()) == ""


def test_the_pod_takes_its_room_when_the_victim_is_gone(core: PreemptingCore) -> None:
    pod = urgent()
    core.pods(pod)
    (deletion,) = deletions(core.decide().instructions)
    core.deleted(deletion)
    core.pods(nominated(pod))
    core.pod_gone(seated("victim"), at=9.0)

    result = core.decide(9.0)
    assert (result.outcome, result.node_name) == ("assumed", "n1")
    assert core.nominated_to(pod) == ""


# trap: a-terminating-victim-is-waited-for
def test_the_pod_waits_while_victims_take_their_time(core: PreemptingCore) -> None:
    pod = nominated(urgent())
    core.pods(pod)
    core.pods(going(seated("victim")))
    core.pods(seated("other", "elsewhere"))
    result = core.decide(9.0)

    assert result.message == f"{NO_ROOM} {TERMINATING}"
    assert victims(result.instructions) == []
    assert nominations(result.instructions) == {}
    assert core.nominated_to(pod) == "n1"


def test_a_pod_that_goes_for_another_reason_is_not_waited_for(core: PreemptingCore) -> None:
    core.pods(nominated(urgent()))
    core.pods(going(seated("victim"), by_preemption=False))

    assert core.decide(9.0).message == f"{NO_ROOM} {FOUND}"


def test_a_victim_that_is_on_its_way_out_is_not_deleted_again(core: PreemptingCore) -> None:
    core.pods(going(seated("victim"), by_preemption=False), urgent())
    result = core.decide()

    assert victims(result.instructions) == []
    assert nominations(result.instructions) == {"urgent": "n1"}
    assert not core.state.preemptions.running


def test_the_pod_does_not_wait_at_a_node_that_it_can_never_be_on() -> None:
    core = PreemptingCore(nodes=("n2",))
    core.nodes(make_node("n1", taints=[Taint(key="k", effect="NoSchedule")]))
    core.pods(going(seated("victim")), seated("full", "n2"), nominated(urgent()))

    assert victims(core.decide().instructions) == ["full"]


def test_a_pod_that_never_preempts_says_so_and_keeps_its_nomination(core: PreemptingCore) -> None:
    core.pods(nominated(urgent(preemption_policy="Never")))
    result = core.decide()

    assert result.message == f"{NO_ROOM} {NEVER}"
    assert nominations(result.instructions) == {}
    assert core.nominated_to(urgent()) == "n1"


# trap: a-nomination-is-cleared
def test_a_pod_that_nothing_helps_loses_its_nomination() -> None:
    core = PreemptingCore(nodes=("n1", "n2"))
    core.nodes(make_node("n3", taints=[Taint(key="k", effect="NoSchedule")]))
    core.pods(seated("a", priority=10), seated("b", "n2", cpu="2", priority=11))
    core.pods(seated("c", "n2", cpu="2", priority=1), nominated(urgent(cpu="3")))
    result = core.decide()

    assert result.message == (
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. preemption: 0/3 nodes are available: "
        "1 Insufficient cpu, 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."
    )
    assert nominations(result.instructions) == {"urgent": ""}
    assert core.nominated_to(urgent()) == ""


def test_no_node_is_tried_when_prefilter_says_that_nothing_can_help(core: PreemptingCore) -> None:
    """kubernetes/kubernetes#119778."""
    fields = [NodeSelectorRequirement(key="metadata.name", operator="In", values=[name]) for name in ("n1", "n2")]
    required = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=fields)])
    core.pods(urgent(affinity=Affinity(node_affinity=NodeAffinity(required=required))))
    result = core.decide()

    assert result.message.endswith(" preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.")
    assert victims(result.instructions) == []


# trap: a-nomination-is-cleared
def test_lower_nominated_pods_lose_their_place(core: PreemptingCore) -> None:
    low = nominated(urgent("low", cpu="3", priority=5))
    high = nominated(urgent("high", cpu="1", priority=11))
    core.pods(low, high)
    core.decide()
    core.decide()
    core.pods(urgent("urgent", cpu="3"), at=1.0)
    result = core.decide(1.0)

    assert nominations(result.instructions) == {"urgent": "n1", "low": ""}
    assert core.nominated_to(low) == ""
    assert core.nominated_to(high) == "n1"


# trap: who-preempts-is-held-back
def test_the_pod_is_held_back_until_its_victims_are_deleted() -> None:
    core = PreemptingCore()
    pod = urgent()
    one, two = seated("one", cpu="2", priority=2), seated("two", cpu="2", priority=1)
    core.pods(one, two, pod)
    (first,) = deletions(core.decide().instructions)
    core.pod_gone(one, at=9.0)
    assert core.rooms(pod) == ["gated"]
    assert core.gate_of(pod) == "DefaultPreemption"

    (last,) = deletions(core.deleted(first, at=9.0))
    assert last.pod.name == "two"
    core.pod_gone(two, at=9.0)
    assert core.rooms(pod) == ["active"]
    core.deleted(last, at=9.0)
    assert core.rooms(pod) == ["active"]
    assert core.decide(9.0).node_name == "n1"


def test_the_gate_opens_when_the_last_victim_is_seen_to_go(core: PreemptingCore) -> None:
    pod = urgent()
    other = seated("other", cpu="0", priority=11)
    core.pods(other, pod)
    core.decide()
    core.pod_gone(other, at=9.0)
    assert core.rooms(pod) == ["gated"]

    core.pods(going(seated("victim")), at=9.0)
    third = seated("third", "n1", cpu="0", priority=11)
    core.pods(third, at=9.0)
    core.pod_gone(third, at=9.0)
    assert core.rooms(pod) == ["active"]


def test_a_pod_that_was_held_back_while_the_last_victim_went_is_tried_again_when_the_preemption_ends() -> None:
    """kubernetes/kubernetes#140082: what would have woken it has been heard while it was held back."""
    core = PreemptingCore()
    pod = urgent()
    one, two = seated("one", cpu="2", priority=2), seated("two", cpu="2", priority=1)
    core.pods(one, two, pod)
    (first,) = deletions(core.decide().instructions)
    core.pod_gone(two, at=9.0)
    (last,) = deletions(core.deleted(first, at=9.0))
    assert core.rooms(pod) == ["gated"]
    core.deleted(last, at=9.0)

    assert core.rooms(pod) == ["active"]


def test_a_pod_that_was_held_back_waits_for_the_end_of_its_last_victim(core: PreemptingCore) -> None:
    pod = urgent()
    other = seated("other", cpu="0", priority=11)
    core.pods(other, pod)
    (deletion,) = deletions(core.decide().instructions)
    core.pod_gone(other, at=9.0)
    core.pods(going(seated("victim")), at=9.0)
    core.deleted(deletion, at=9.0)
    assert core.rooms(pod) == ["gated"]

    core.pod_gone(seated("victim"), at=9.0)
    assert core.rooms(pod) == ["active"]


def test_a_victim_that_was_gone_already_does_not_leave_the_pod_waiting(core: PreemptingCore) -> None:
    """kubernetes/kubernetes#141694."""
    pod = urgent()
    core.pods(pod)
    (deletion,) = deletions(core.decide().instructions)
    core.deleted(deletion, is_gone=True)

    assert core.rooms(pod) == ["active"]


def test_the_pod_is_not_woken_when_the_victims_are_on_their_way(core: PreemptingCore) -> None:
    """It is when they are gone."""
    pod = urgent()
    core.pods(pod)
    (deletion,) = deletions(core.decide().instructions)
    core.deleted(deletion)

    assert core.rooms(pod) == ["unschedulable"]
    assert core.state.measurements.preemption_runs == {"success": 1}
    assert not core.state.preemptions.running


def test_nobody_else_has_to_go_for_a_pod_that_is_deleted_meanwhile() -> None:
    core = PreemptingCore()
    pod = urgent()
    core.pods(seated("v1", cpu="2", priority=1), seated("v2", cpu="2", priority=2), pod)
    (deletion,) = deletions(core.decide().instructions)
    core.pod_gone(pod)

    assert victims(core.deleted(deletion)) == []
    assert not core.state.preemptions.running
    assert not core.state.queue.nominator.node_of


def test_an_answer_that_nobody_waits_for_is_passed_over(core: PreemptingCore) -> None:
    core.pods(urgent())
    (deletion,) = deletions(core.decide().instructions)
    core.deleted(deletion)

    assert core.deleted(deletion) == []


def test_metrics_count_attempts_and_victims(core: PreemptingCore) -> None:
    core.pods(urgent(), urgent("meek", priority=0))
    core.decide()
    core.decide()

    measurements = core.state.measurements
    assert measurements.preemption_attempts == 2
    assert (sum(measurements.preemption_victims.buckets), measurements.preemption_victims.sum) == (1, 1.0)


def test_a_budget_that_cannot_be_read_covers_nobody_and_is_reported(core: PreemptingCore) -> None:
    broken = LabelSelector(match_expressions=[LabelSelectorRequirement(key="a", operator="Near", values=["b"])])
    core.budget(make_budget(selector=broken))
    core.pods(urgent())

    assert core.scheduler.take_complaints() == [
        BadObject(
            kind="PodDisruptionBudget",
            key="default/budget",
            error='spec.selector: "Near" is not a valid label selector operator',
        )
    ]
    assert victims(core.decide().instructions) == ["victim"]


def test_trials_leave_the_cache_as_it_was() -> None:
    core = PreemptingCore(nodes=[f"n{number}" for number in range(8)])
    for number in range(8):
        core.pods(*(seated(f"p{number}-{other}", f"n{number}", cpu="1", priority=other) for other in range(4)))
    core.pods(on_node(urgent("assumed", cpu="0"), "n1"), urgent(cpu="2"))
    before = {
        f"n{number}": sorted(pod.pod.uid for pod in core.state.cache.pods_on(f"n{number}")) for number in range(8)
    }
    core.decide()

    after = {f"n{number}": sorted(pod.pod.uid for pod in core.state.cache.pods_on(f"n{number}")) for number in range(8)}
    assert after == before
    core.state.cache.validate()


def test_two_pods_that_preempt_take_different_victims_when_both_have_room_to_make() -> None:
    core = PreemptingCore(nodes=("n1", "n2"))
    core.pods(seated("a", "n1"), seated("b", "n2"), urgent("one"), urgent("two"))
    first, second = core.decide(), core.decide()

    assert sorted(victims(first.instructions) + victims(second.instructions)) == ["a", "b"]
    assert {core.nominated_to(urgent("one")), core.nominated_to(urgent("two"))} == {"n1", "n2"}


def test_a_second_pod_of_the_priority_finds_no_room_where_the_first_makes_it(core: PreemptingCore) -> None:
    core.pods(urgent("one"), urgent("two"))
    core.decide()
    result = core.decide()

    assert result.message == (f"{NO_ROOM} preemption: 0/1 nodes are available: 1 Insufficient cpu.")
    assert victims(result.instructions) == []
