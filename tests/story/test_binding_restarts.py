"""The scheduler ends while pods are on their way to their bind, and another one goes on from what the API server shows.

Nothing but the API server remembers: the nomination, and what PreBind has written. Expected: kube-scheduler 1.37, nominated node
for expectation (KEP-5278).
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.api.objects import Pod, PodStatus
from scheduler.core.instruction import BindPod, Instruction, PatchObject, PatchPodStatus, RecordEvent
from scheduler.core.stimulus import NodeApplied, ObjectPatched, PodApplied, Stimulus
from scheduler.core.story import Header, RecordingScheduler, replay
from scheduler.framework.binding import PermitAnswer, PreBindWrites
from scheduler.framework.status import Code, Status
from tests.support.binding_plugins import DONE, Asked, claim_patch, scripted
from tests.support.builders import make_node, make_pod
from tests.support.core_run import BINDING, ON_NODE, Core, changed, on_node, reference
from tests.support.scripted_plugins import Score, make_profile, named

WRITES = PreBindWrites((claim_patch("a"), claim_patch("b")))
POD = changed(make_pod("web"), version="1")


def core_of(diary: list[Asked], **answers: Any) -> Core:
    """Two nodes of which n2 is the better one, and a plugin that writes twice before the bind."""
    score = named(Score, "Score", by_name={"n2": 50})
    return Core([make_profile(scripted("A", diary, **{"steps": (WRITES, DONE), **answers}), score)])


def start(core: Core, pod: Pod) -> list[Instruction]:
    core.nodes(make_node("n1"), make_node("n2"))
    core.pods(pod)
    return core.decide(10.0).instructions


def as_left(pod: Pod, instructions: list[Instruction], *, version: str = "2") -> Pod:
    """The pod as the API server shows it after what the first scheduler wrote of its status."""
    nominated = [one.nominated_node_name for one in instructions if isinstance(one, PatchPodStatus)]
    status = PodStatus(nominated_node_name=nominated[-1] or "")
    return msgspec.structs.replace(changed(pod, version=version), status=status)


def test_the_next_scheduler_goes_for_the_same_node_and_does_not_nominate_it_again() -> None:
    first = core_of([])
    left = as_left(POD, start(first, POD))
    assert left.status.nominated_node_name == "n2"
    diary: list[Asked] = []
    second = core_of(diary)
    score: Any = second.state.profiles["reprise"].score[0].plugin
    score.by_name = {"n1": 50}

    (patch,) = start(second, left)
    assert isinstance(patch, PatchObject)
    assert second.rooms(POD) == [BINDING, ON_NODE]
    assert {asked.node for asked in diary} == {"n2"}


def test_what_waits_on_permit_begins_to_wait_anew() -> None:
    waits = PermitAnswer(Status(Code.WAIT), 30.0)
    left = as_left(POD, start(core_of([], permitted=waits), POD))
    second = core_of([], permitted=waits)

    assert start(second, left) == []
    assert second.tick(39.0) == []
    (event, patch) = second.tick(40.0)
    assert isinstance(event, RecordEvent)
    assert isinstance(patch, PatchPodStatus)
    assert patch.nominated_node_name == ""


def test_a_pod_that_was_bound_in_the_last_moment_is_only_counted() -> None:
    diary: list[Asked] = []
    second = core_of(diary)
    second.nodes(make_node("n1"), make_node("n2"))
    second.pods(on_node(POD, "n2"))

    assert second.scheduler.schedule_one(10.0) is None
    assert second.rooms(POD) == [ON_NODE]
    assert diary == []


def test_answers_to_what_the_first_scheduler_wrote_mean_nothing_to_the_next_one() -> None:
    """Its numbers begin anew; the dispatcher that would answer is gone with its scheduler."""
    second = core_of([])
    assert second.patched(1) == []
    (_, patch) = start(second, POD)
    assert isinstance(patch, PatchObject)
    assert patch.number == 1


@pytest.fixture
def story() -> list[bytes]:
    """A pod from its coming to its bind."""
    lines: list[bytes] = []
    scheduler = RecordingScheduler(core_of([]).scheduler, Header(seed=1), lines.append)
    stimuli: list[Stimulus] = [
        NodeApplied(now=1.0, node=make_node("n1")),
        PodApplied(now=1.0, pod=POD),
        ObjectPatched(now=3.0, number=1, resource_version="6"),
        ObjectPatched(now=4.0, number=2, resource_version="7"),
    ]
    for stimulus in stimuli[:2]:
        scheduler.handle(stimulus)
    assert scheduler.schedule_one(2.0) is not None
    told = [scheduler.handle(stimulus) for stimulus in stimuli[2:]]
    assert told[-1] == [BindPod(pod=reference(POD), node_name="n1")]
    return lines


@pytest.mark.parametrize("left_out", range(6))
def test_a_story_that_ends_anywhere_on_the_way_comes_out_the_same(story: list[bytes], left_out: int) -> None:
    """As the file of a process that was killed does."""
    assert list(replay(story[: len(story) - left_out], lambda header: core_of([]).scheduler)) == []


def test_a_plugin_that_does_something_else_shows_at_the_step_where_it_does(story: list[bytes]) -> None:
    other = PreBindWrites((claim_patch("a"), claim_patch("c")))
    differences = list(replay(story, lambda header: core_of([], steps=(other, DONE)).scheduler))

    assert [difference.line for difference in differences] == [5]
