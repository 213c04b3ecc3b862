"""Habits of the way from the choice of a node to the bind, told through the whole core.

Expected: kube-scheduler 1.37, prepareForBindingCycle, bindingCycle, handleBindingCycleError and the pod event handlers.
"""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.api.objects import Pod, PodStatus
from scheduler.core.instruction import BindPod, Condition, PatchPodStatus, RecordEvent
from scheduler.framework.binding import ObjectKey, PermitAnswer, PreBindFailed, PreBindWaits
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.status import Code, Status
from tests.support.binding_plugins import DONE, Asked, scripted
from tests.support.builders import make_node, make_pod
from tests.support.core_run import BINDING, ON_NODE, Core, changed, on_node, reference
from tests.support.preemption import replace_status
from tests.support.scripted_plugins import Hearing, make_profile, named, rejected

LARGE = changed(make_pod("large", requests={"cpu": "3"}), version="7")
BIND = BindPod(pod=reference(LARGE), node_name="n1")
NOMINATION = PatchPodStatus(pod=reference(LARGE), nominated_node_name="n1")
GONE_AT = "2026-01-01T00:00:00Z"
HEARS_OF_ROOM = (
    ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE),
    ClusterEvent(EventResource.NODE, ActionType.ADD),
)
WAITS = PermitAnswer(Status(Code.WAIT), 10.0)
HOURS = 10_000.0


def told(message: str, now: float, *, reason: str = "SchedulerError", pod: Pod = LARGE) -> list[Any]:
    """What is written of a failure."""
    event = RecordEvent(
        pod=reference(pod),
        type="Warning",
        reason="FailedScheduling",
        action="Scheduling",
        note=message,
        controller="reprise",
        now=now,
    )
    condition = Condition(
        type="PodScheduled",
        status="False",
        reason=reason,
        message=message,
        observed_generation=0,
        last_transition_time=now,
    )
    return [event, PatchPodStatus(pod=reference(pod), condition=condition, condition_order=["PodScheduled"])]


def decided(core: Core, *, at: float = 100.0) -> list[Any]:
    """What follows the decision that the large pod goes to n1."""
    core.nodes(make_node("n1"))
    core.pods(LARGE, at=at)
    result = core.decide(at)
    assert result.node_name == "n1"
    return result.instructions


def without_room(core: Core, name: str = "second", *, at: float = 100.0) -> Pod:
    """A pod that the large one leaves no room for."""
    pod = make_pod(name, requests={"cpu": "2"})
    core.pods(pod, at=at)
    result = core.decide(at)
    assert result.plugins == ("NodeResourcesFit",)
    assert core.rooms(pod) == ["unschedulable"]
    return pod


# ----------------------------------------------------------------------------------------------------- assumed pods


# trap: updates-of-assumed-pods
def test_changes_of_a_pod_during_its_bind_are_nothing_until_it_begins_to_terminate() -> None:
    core = Core()
    decided(core)
    second = without_room(core)
    smaller = make_pod("large", requests={"cpu": "1"})
    small = changed(smaller, version="8", metadata={"labels": {"changed": "yes"}})
    assert core.pods(small, at=109.0) == []
    assert core.rooms(LARGE) == [BINDING, ON_NODE]
    assert core.rooms(second) == ["unschedulable"]
    assert core.scheduler.schedule_one(109.0) is None
    core.pods(changed(LARGE, version="9", metadata={"deletion_timestamp": GONE_AT}), at=110.0)
    assert core.rooms(LARGE) == [BINDING]
    core.validate()

    assert core.decide(110.0).instructions == [BindPod(pod=reference(second), node_name="n1")]
    core.validate()


# trap: assumed-until-seen
def test_the_room_of_a_bound_pod_stays_taken_for_hours_until_the_watch_shows_it() -> None:
    core = Core()
    decided(core)
    (event,) = core.bound(LARGE, "n1", at=100.5)
    assert isinstance(event, RecordEvent)
    assert event.note == "Successfully assigned default/large to n1"
    for now in (400.0, 4_000.0, HOURS):
        core.tick(now)
    without_room(core, at=HOURS)
    assert core.state.cache.assumed_count == 1
    assert core.pods(on_node(LARGE, "n1"), at=HOURS) == []
    assert core.state.cache.assumed_count == 0
    without_room(core, "third", at=HOURS)
    core.validate()


# trap: assumed-until-seen
def test_a_bind_that_failed_though_the_watch_shows_the_pod_on_its_node_is_no_failure() -> None:
    core = Core()
    decided(core)
    core.pods(on_node(LARGE, "n1"), at=101.0)

    assert core.bind_failed(LARGE, "n1", "timeout", at=102.0) == []
    assert core.rooms(LARGE) == [ON_NODE]
    core.validate()


# trap: attempts-end-with-the-bind
@pytest.mark.parametrize("ends_well", [True, False], ids=["bound", "refused"])
def test_an_attempt_counts_when_its_bind_is_answered_and_under_the_name_of_its_profile(ends_well: bool) -> None:
    core = Core([make_profile(named(Hearing, "Picky"), scheduler_name=name) for name in ("first", "second")])
    core.nodes(make_node("n1"))
    pod = make_pod(scheduler_name="second")
    core.pods(pod, at=99.0)
    assert core.decide(100.0).outcome == "assumed"
    assert core.state.measurements.attempts == {}
    if ends_well:
        core.bound(pod, "n1", at=100.5)
    else:
        core.bind_failed(pod, "n1", at=100.5)

    outcome = "scheduled" if ends_well else "error"
    assert core.state.measurements.attempts == {(outcome, "second"): 1}
    assert core.state.measurements.attempt_seconds[outcome, "second"].sum == 0.5
    core.validate()


# ------------------------------------------------------------------------------------------------ refused on its node


# trap: reserve-is-undone-in-reverse
def test_what_reserve_refuses_is_undone_by_all_in_reverse_and_told_as_of_one_node() -> None:
    diary: list[Asked] = []
    plugins = (scripted("A", diary), scripted("B", diary, reserved=rejected("no")), scripted("C", diary))
    core = Core([make_profile(*plugins)])
    core.nodes(*(make_node(name) for name in ("n1", "n2", "n3")))
    core.pods(LARGE)
    result = core.decide(100.0)

    assert [str(asked) for asked in diary] == ["reserve A", "reserve B", "unreserve C", "unreserve B", "unreserve A"]
    assert result.instructions == told("0/1 nodes are available: 1 no.", 100.0, reason="Unschedulable")
    assert core.rooms(LARGE) == ["unschedulable"]
    core.validate()


# trap: reserve-is-undone-in-reverse
def test_what_fails_before_the_bind_is_undone_by_all_in_reverse() -> None:
    diary: list[Asked] = []
    failed = PreBindFailed(Status(Code.ERROR, ("no",)))
    core = Core([make_profile(scripted("A", diary), scripted("B", diary, steps=(failed,)), scripted("C", diary))])
    core.nodes(make_node("n1"))
    core.pods(LARGE)
    core.decide(100.0)

    assert [str(asked) for asked in diary if asked.point == "unreserve"] == [
        "unreserve C",
        "unreserve B",
        "unreserve A",
    ]
    assert core.rooms(LARGE) == ["backoff"]
    core.validate()


# trap: all-nodes-are-counted
def test_who_is_rejected_while_it_waits_hears_of_one_node_however_many_there_are() -> None:
    core = Core([make_profile(scripted("A", [], permitted=WAITS))])
    core.nodes(*(make_node(name) for name in ("n1", "n2", "n3")))
    core.pods(LARGE)
    core.decide(100.0)
    (event, patch) = core.tick(110.0)

    assert isinstance(event, RecordEvent)
    assert event.note == "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin A."
    assert isinstance(patch, PatchPodStatus)
    assert patch.nominated_node_name == ""
    core.validate()


# -------------------------------------------------------------------------------------------------- on its way there


# trap: nominated-on-the-way
def test_a_pod_is_nominated_before_its_bind_only_when_that_has_to_wait() -> None:
    ordinary, working, waiting = (
        Core([make_profile(scripted("A", [], **answers))]) for answers in ({}, {"steps": (DONE,)}, {"permitted": WAITS})
    )

    assert decided(ordinary) == [BIND]
    assert decided(working) == [NOMINATION, BIND]
    assert decided(waiting) == [NOMINATION]
    ordinary.validate()
    working.validate()
    waiting.validate()


# trap: the-api-server-clears-the-nomination
def test_a_nominated_pod_is_bound_and_its_nomination_left_to_the_api_server() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    pod = replace_status(LARGE, PodStatus(nominated_node_name="n1"))
    core.pods(pod)
    assert core.decide(100.0).instructions == [BIND]
    (event,) = core.bound(pod, "n1", at=100.5)
    assert isinstance(event, RecordEvent)

    assert core.pods(on_node(LARGE, "n1"), at=101.0) == []
    core.validate()


# trap: done-before-pre-bind
def test_a_node_that_comes_while_pre_bind_is_at_work_does_not_shorten_the_back_off_of_its_failure() -> None:
    """Before, on Permit, the same event would have been looked at."""
    claim = ObjectKey("PersistentVolumeClaim", "default", "data")
    steps = (PreBindWaits((claim,), 105.0), PreBindFailed(Status(Code.UNSCHEDULABLE, ("no",))))
    core = Core([make_profile(named(Hearing, "Picky", events=HEARS_OF_ROOM), scripted("A", [], steps=steps))])
    decided(core)
    core.nodes(make_node("n2"), at=101.0)
    core.validate()  # nobody keeps the event
    (event, _) = core.tick(105.0)
    assert isinstance(event, RecordEvent)
    assert event.note == "no"
    core.nodes(make_node("n3"), at=105.5)
    core.tick(106.9)
    assert core.scheduler.schedule_one(106.9) is None

    core.tick(107.0)
    assert core.decide(107.0).attempt == 2
    core.validate()


# ---------------------------------------------------------------------------------------------------- and who hears


# trap: a-failed-bind-wakes-others
def test_a_bind_that_fails_leaves_its_room_to_others_at_once_while_the_pod_itself_backs_off() -> None:
    core = Core()
    decided(core)
    second = without_room(core)
    written = core.bind_failed(LARGE, "n1", "refused", at=109.0)
    event, patch = told('running Bind plugin "DefaultBinder": refused', 109.0)

    assert written == [event, patch]
    assert (core.rooms(second), core.rooms(LARGE)) == (["active"], ["backoff"])
    assert core.decide(109.0).instructions == [BindPod(pod=reference(second), node_name="n1")]
    core.validate()


# trap: a-failed-bind-wakes-others
def test_a_pod_that_permit_rejects_wakes_others_and_not_itself() -> None:
    """All of them hear of pods that leave: a plugin that registers nothing hears of everything."""
    picky = named(Hearing, "Picky", events=HEARS_OF_ROOM)
    holds = scripted("Holds", [], only="large", permitted=WAITS)
    core = Core([make_profile(picky, holds)])
    decided(core)
    type(picky).refuses = ("n1",)
    second = make_pod("second")
    core.pods(second, at=101.0)
    assert core.decide(101.0).plugins == ("Picky",)
    core.tick(110.0)

    assert (core.rooms(second), core.rooms(LARGE)) == (["active"], ["unschedulable"])
    core.validate()
