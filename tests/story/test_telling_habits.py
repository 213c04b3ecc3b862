"""What is told of pods that fail, and of which pod, through the whole core.

Expected: kube-scheduler 1.37, handleSchedulingFailure, updatePodCondition.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from scheduler.api.objects import Pod, PodCondition, PodStatus, Toleration
from scheduler.core.instruction import BindPod, Instruction, PatchPodStatus, RecordEvent
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.status import Code, Reason
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core, changed, on_node, reference
from tests.support.extender_runs import ExtendedCore, extender
from tests.support.preemption import PreemptingCore, replace_status
from tests.support.scripted_plugins import Hearing, make_profile, named

NO_NODES = "no nodes available to schedule pods"
SHORT_OF_CPU = "0/1 nodes are available: 1 Insufficient cpu."


def patches(instructions: Iterable[Instruction]) -> list[PatchPodStatus]:
    return [one for one in instructions if isinstance(one, PatchPodStatus)]


def notes(instructions: Iterable[Instruction]) -> list[str]:
    return [one.note for one in instructions if isinstance(one, RecordEvent)]


def as_written(pod: Pod, patch: PatchPodStatus, version: str) -> Pod:
    """The pod as the watch shows it after the patch."""
    assert patch.condition is not None
    names = ("type", "status", "reason", "message", "observed_generation")
    condition = PodCondition(**{name: getattr(patch.condition, name) for name in names})
    return replace_status(changed(pod, version=version), PodStatus(conditions=[condition]))


# trap: the-same-failure-is-not-written
def test_only_other_words_are_written_and_the_time_of_the_transition_stays() -> None:
    """Not even for another generation of the pod: that it has been looked at follows from the Event."""
    core = Core()
    core.nodes(make_node("n1"))
    there = [on_node(make_pod(f"there-{number}", requests={"cpu": "1"}), "n1") for number in range(4)]
    core.pods(*there)
    pod = changed(make_pod(requests={"cpu": "4"}), version="1", metadata={"generation": 1})
    core.pods(pod, at=100.0)
    first = core.decide(100.0)
    (patch,) = patches(first.instructions)
    assert patch.condition is not None
    assert (patch.condition.message, patch.condition.last_transition_time) == (SHORT_OF_CPU, 100.0)
    pod = as_written(pod, patch, "2")
    assert core.pods(pod, at=100.1) == []
    assert core.scheduler.schedule_one(100.1) is None  # its own patch wakes nobody

    core.pod_gone(there[0], at=110.0)
    assert [type(one) for one in core.decide(110.0).instructions] == [RecordEvent]
    tolerations = [Toleration(key="other", operator="Exists")]
    pod = changed(pod, version="3", metadata={"generation": 2}, tolerations=tolerations)
    core.pods(pod, at=120.0)
    core.pod_gone(there[1], at=120.0)
    (event,) = core.decide(120.0).instructions
    assert isinstance(event, RecordEvent)
    assert (event.note, event.pod) == (SHORT_OF_CPU, reference(pod))

    core.nodes(make_node("n2", allocatable={"cpu": "3"}), at=130.0)  # too small to wake anybody
    core.pod_gone(there[2], at=130.0)
    (patch,) = patches(core.decide(130.0).instructions)
    assert patch.condition is not None
    assert patch.condition.message == "0/2 nodes are available: 2 Insufficient cpu."
    assert (patch.condition.last_transition_time, patch.condition.observed_generation) == (None, 2)
    core.validate()


# trap: no-nodes-is-retried-by-the-clock
def test_without_nodes_a_pod_is_unschedulable_to_its_user_and_tried_by_the_clock_whatever_comes() -> None:
    core = PreemptingCore(nodes=())
    pod = changed(make_pod(), version="1")
    core.pods(pod, at=100.7)
    result = core.decide(100.7)
    (patch,) = patches(result.instructions)
    assert patch.condition is not None
    assert (patch.condition.reason, patch.condition.message) == ("Unschedulable", NO_NODES)
    assert (result.plugins, core.rooms(pod)) == ((), ["backoff"])
    core.tick(102.0)
    assert core.decide(102.0).attempt == 2  # nothing has happened
    core.nodes(make_node("n1"), at=102.5)
    core.tick(104.999)
    assert core.scheduler.schedule_one(104.999) is None

    core.tick(105.0)
    assert core.decide(105.0).node_name == "n1"
    core.validate()


NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)


# trap: pending-skips-the-back-off
@pytest.mark.parametrize(("code", "room"), [(Code.PENDING, "active"), (Code.UNSCHEDULABLE, "backoff")])
def test_who_says_pending_is_among_those_that_refused_and_its_pod_skips_the_back_off(code: Code, room: str) -> None:
    listener = named(Hearing, "Listener", events=(NODE_ADD,), refuses=("n1",), reason=Reason("soon", code))
    core = Core([make_profile(listener)])
    core.nodes(make_node("n1"))
    pod = make_pod()
    core.pods(pod)
    result = core.decide()
    assert (result.outcome, result.plugins) == ("unschedulable", ("Listener",))
    assert core.state.queue.unschedulable_plugins() == {("Listener", "reprise"): 1}
    core.nodes(make_node("n2"), at=0.1)

    assert core.rooms(pod) == [room]
    assert core.decide(0.1).node_name == "n2"
    core.validate()


# trap: a-name-is-used-again
@pytest.mark.parametrize("is_answered", [True, False], ids=["bound", "refused"])
def test_the_answer_to_the_bind_of_a_pod_is_none_about_the_next_one_of_its_name(is_answered: bool) -> None:
    core = Core()
    core.nodes(make_node("n1"))
    old = make_pod("web", uid="old", requests={"cpu": "3"})
    new = make_pod("web", uid="new", requests={"cpu": "3"})
    core.pods(old)
    core.decide()
    core.pod_gone(old, at=1.0)
    core.pods(new, at=1.0)
    if is_answered:
        assert notes(core.bound(old, "n1", at=2.0)) == ["Successfully assigned default/web to n1"]
    else:
        assert core.bind_failed(old, "n1", at=2.0) == []

    assert core.rooms(new) == ["active"]
    assert core.decide(2.0).instructions == [BindPod(pod=reference(new), node_name="n1")]
    core.validate()


# trap: a-name-is-used-again
def test_an_extender_is_answered_about_a_pod_whose_name_another_one_has_by_then() -> None:
    core = ExtendedCore(extender())
    core.nodes(make_node("n1"))
    old, new = (make_pod("web", uid=uid) for uid in ("old", "new"))
    core.pods(old)
    core.go_on()
    core.pod_gone(old, at=1.0)
    core.pods(new, at=1.0)
    core.answer(node_names=["n1"], at=2.0)
    dropped = core.go_on(2.0)
    assert dropped is not None
    assert (dropped.uid, dropped.outcome, dropped.instructions) == ("old", "skipped", [])

    core.go_on(2.0)
    core.answer(node_names=["n1"], at=3.0)
    placed = core.go_on(3.0)
    assert placed is not None
    assert placed.instructions == [BindPod(pod=reference(new), node_name="n1")]
    core.validate()
