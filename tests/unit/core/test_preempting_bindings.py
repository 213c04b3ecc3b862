"""Victims that are not bound yet. Expected: kube-scheduler 1.37, preemption.Executor, waitingPodsMap, podsInPreBindMap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from scheduler.api.objects import Pod
from scheduler.core.instruction import BindPod, Instruction, PatchObject, PatchPodStatus
from scheduler.framework.binding import PermitAnswer, PreBindStep, PreBindWrites
from scheduler.framework.status import Code, Status
from tests.support.binding_plugins import DONE, Asked, claim_patch, scripted
from tests.support.core_run import BINDING, ON_NODE
from tests.support.preemption import PreemptingCore, deletions, notes, seated, urgent, victims

WAIT = PermitAnswer(Status(Code.WAIT), 600.0)
PREEMPTED = "Preempted by pod default-urgent on node n1 (in kube-scheduler memory)."
LOW = urgent("low", priority=1)


def core_with(*, only: str = "low", **answers: Any) -> tuple[PreemptingCore, list[Asked]]:
    """A node of 4 CPUs, all of them for a pod of low priority in whose binding a plugin takes part."""
    diary: list[Asked] = []
    core = PreemptingCore(scripted("Slow", diary, only=only, **answers))
    core.pods(LOW)
    assert core.decide(1.0).outcome == "assumed"
    return core, diary


def messages(instructions: Sequence[Instruction], name: str) -> list[str]:
    """What the condition of this pod says, as it is written."""
    return [
        one.condition.message
        for one in instructions
        if isinstance(one, PatchPodStatus) and one.pod.name == name and one.condition is not None
    ]


@pytest.fixture(params=["permit", "pre_bind"])
def held(request: pytest.FixtureRequest) -> Iterator[tuple[PreemptingCore, list[Asked], str]]:
    """The pod waits on Permit, or PreBind works for it; with what it is told when it loses its place."""
    steps: tuple[PreBindStep, ...] = (PreBindWrites((claim_patch(),)), DONE)
    if request.param == "permit":
        core, diary = core_with(permitted=WAIT)
        yield core, diary, "waiting on permit for pod: preempted"
    else:
        core, diary = core_with(steps=steps)
        yield core, diary, 'running PreBind plugin "Slow": preempted by DefaultPreemption'


def test_its_binding_ends_and_nothing_is_deleted(held: tuple[PreemptingCore, list[Asked], str]) -> None:
    core, diary, message = held
    core.pods(urgent())
    result = core.decide(2.0)

    assert victims(result.instructions) == []
    assert messages(result.instructions, "low") == [message]
    assert notes(result.instructions, "Preempted") == [PREEMPTED]
    assert str(diary[-1]) == "unreserve Slow"
    assert core.rooms(LOW) == ["backoff"]


def test_the_preemptor_gets_the_place_at_once_and_the_other_waits(
    held: tuple[PreemptingCore, list[Asked], str],
) -> None:
    """kubernetes/kubernetes#140082: no deletion will wake it."""
    core, _, _ = held
    pod = urgent()
    core.pods(pod)
    core.decide(2.0)
    assert core.rooms(pod) == ["active"]
    result = core.decide(2.0)

    assert (result.pod, result.node_name) == ("default/urgent", "n1")
    assert [type(one) for one in result.instructions] == [BindPod]
    core.tick(30.0)
    assert core.decide(30.0).message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    core.state.cache.validate()


def test_the_answer_to_a_patch_of_the_lost_binding_is_passed_over() -> None:
    core, _ = core_with(steps=(PreBindWrites((claim_patch(),)), DONE))
    core.pods(urgent())
    core.decide(2.0)

    assert core.patched(1, at=3.0) == []
    assert core.rooms(LOW) == ["backoff"]


def test_a_pod_whose_bind_is_under_way_is_deleted() -> None:
    core, _ = core_with(only="nobody")
    core.pods(urgent())
    result = core.decide(2.0)

    assert victims(result.instructions) == ["low"]
    assert core.rooms(LOW) == [BINDING, ON_NODE]


def test_one_of_two_victims_is_deleted_first_and_then_the_other_loses_its_place() -> None:
    """The last one is the least important."""
    diary: list[Asked] = []
    core = PreemptingCore(scripted("Slow", diary, only="low", permitted=WAIT))
    low = urgent("low", cpu="2", priority=1)
    core.pods(seated("bound", cpu="2", priority=2), low)
    core.decide(1.0)
    pod: Pod = urgent()
    core.pods(pod)
    (deletion,) = deletions(core.decide(2.0).instructions)
    assert deletion.pod.name == "bound"
    assert core.rooms(low) == [BINDING, ON_NODE]
    instructions = core.deleted(deletion, at=3.0)

    assert sorted(notes(instructions, "Preempted")) == ["Preempted by pod default-urgent on node n1", PREEMPTED]
    assert core.rooms(low) == ["backoff"]
    assert core.rooms(pod) == ["active"]
    assert not any(isinstance(one, PatchObject) for one in instructions)
