"""Habits of the queue, told through the whole core: stimuli at times that the test says, and the decisions that follow.

Expected: kube-scheduler 1.37, PriorityQueue and the event handlers.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import pytest

from scheduler.api.objects import Pod, Taint, Toleration
from scheduler.core.instruction import BindPod, PatchPodStatus, RecordEvent
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.plugin import EnqueueExtensions, PreEnqueuePlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Code, Status
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core, changed, default_profiles, on_node, reference
from tests.support.extender_runs import ExtendedCore, extender
from tests.support.scripted_plugins import Hearing, make_profile, named
from tests.support.signed_plugins import FOREVER

NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
BIG = {"cpu": "5"}
STEP_SECONDS = 0.25


def picky(*refuses: str, **attributes: Any) -> Any:
    """Refuses these nodes, and hears of new ones."""
    return named(Hearing, "Picky", events=(NODE_ADD,), refuses=refuses, **attributes)


def waits(core: Core, pod: Pod, at: float = 0.0) -> Pod:
    """The pod, after an attempt that no node passed."""
    core.pods(pod, at=at)
    assert core.decide(at).outcome == "unschedulable"
    return pod


# ---------------------------------------------------------------------------------------------------------- back-off


# trap: back-off-in-whole-seconds
def test_a_woken_pod_goes_behind_active_ones_and_before_its_second_is_over_when_there_are_none() -> None:
    plugin = picky("n1")
    core = Core([make_profile(plugin)])
    core.nodes(make_node("n1"))
    woken = waits(core, make_pod("woken", priority=9), at=100.7)
    core.nodes(make_node("n2"), at=100.8)
    core.pods(make_pod("other"), at=100.9)
    core.tick(101.999)
    assert core.rooms(woken) == ["backoff"]

    assert [core.decide(101.999).pod for _ in range(2)] == ["default/other", "default/woken"]
    core.validate()


# trap: back-off-in-whole-seconds
def test_an_error_waits_until_its_whole_second_is_over_though_nobody_else_is_there() -> None:
    plugin = picky(error=RuntimeError("broken"))
    core = Core([make_profile(plugin)])
    core.nodes(make_node("n1"))
    core.pods(make_pod(), at=100.7)
    assert core.decide(100.7).outcome == "error"
    type(plugin).error = None
    core.nodes(make_node("n2"), at=100.8)
    for now in (100.9, 101.7, 101.999):
        core.tick(now)
        assert core.scheduler.schedule_one(now) is None

    core.tick(102.0)
    assert core.decide(102.0).outcome == "assumed"
    core.validate()


# trap: errors-and-rejections-are-counted-apart
def test_each_back_off_follows_from_the_failures_of_its_kind() -> None:
    """Rejections are 1, 2, 3 over all; errors begin anew after each rejection; each wait begins with the last failure."""
    plugin = picky("n0")
    core = Core([make_profile(plugin)])
    core.nodes(make_node("n0"))
    pod = make_pod()
    core.pods(pod, at=0.0)
    now, active_at = 0.0, []
    for number, kind in enumerate(("reject", "error", "error", "reject", "error", "reject"), 1):
        type(plugin).error = RuntimeError("broken") if kind == "error" else None
        type(plugin).refuses = tuple(f"n{node}" for node in range(number))
        assert core.decide(now).outcome == ("error" if kind == "error" else "unschedulable")
        core.nodes(make_node(f"n{number}"), at=now)  # it wakes who was rejected
        assert core.rooms(pod) == ["backoff"]
        while core.rooms(pod) == ["backoff"]:
            now += STEP_SECONDS
            core.tick(now)
        active_at.append(now)

    assert active_at == [2.0, 4.0, 7.0, 10.0, 12.0, 17.0]
    core.validate()


# ------------------------------------------------------------------------------------------------- whose pods, by what


# trap: judged-by-what-it-was
@pytest.mark.parametrize("at_once", [True, False], ids=["parked", "active"])
def test_a_waiting_pod_that_names_another_scheduler_is_dropped_without_a_word(at_once: bool) -> None:
    """No API server lets it; the update is one of a pod of ours all the same."""
    core = Core()
    core.nodes(make_node("n1"))
    pod = changed(make_pod("ours", requests=BIG if at_once else None), version="1")
    core.pods(pod)
    if at_once:
        assert core.decide().outcome == "unschedulable"
    assert core.pods(changed(pod, version="2", scheduler_name="somebody-else"), at=9.0) == []
    core.nodes(make_node("n2", allocatable={"cpu": "8"}), at=9.0)

    assert core.scheduler.schedule_one(9.0) is None
    assert core.rooms(pod) == []
    assert len(core.state.unserved) == 1
    core.validate()


# trap: judged-by-what-it-was
def test_a_waiting_pod_that_names_another_of_our_profiles_is_decided_on_by_that_one() -> None:
    first, second = (named(Hearing, "Picky", refuses=(node,), events=(NODE_ADD,)) for node in ("n1", "n2"))
    core = Core([make_profile(first, scheduler_name="first"), make_profile(second, scheduler_name="second")])
    core.nodes(make_node("n1"), make_node("n2"))
    pod = changed(make_pod(scheduler_name="first"), version="1")
    core.pods(pod)
    core.pods(changed(pod, version="2", scheduler_name="second"))
    result = core.decide()

    assert (result.profile, result.node_name) == ("second", "n1")
    core.validate()


# trap: judged-by-what-it-was
def test_a_pod_that_was_ours_leaves_the_queue_when_it_is_bound_by_another_scheduler() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    pod = changed(make_pod(requests={"cpu": "3"}), version="1")
    core.pods(pod)
    core.pods(on_node(changed(pod, scheduler_name="somebody-else"), "n1", version="2"))

    assert core.scheduler.schedule_one(0.0) is None
    assert core.rooms(pod) == ["on node"]
    core.validate()


# ------------------------------------------------------------------------------------------------------ event algebra

ANY_CHANGE = ClusterEvent(EventResource.POD, ActionType.UPDATE)
OWN_CHANGE = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE)
OWN_LABELS = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_LABEL)
OTHERS_LABELS = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_LABEL)
LABELS = {"labels": {"changed": "yes"}}
ANNOTATIONS = {"annotations": {"changed": "yes"}}


# trap: specific-and-general-updates
@pytest.mark.parametrize(
    ("registered", "metadata", "is_woken"),
    [
        (OWN_LABELS, LABELS, True),
        (OWN_LABELS, ANNOTATIONS, False),  # a general Update is not one of labels
        (OWN_CHANGE, LABELS, True),  # but one of labels is an Update
        (OWN_CHANGE, ANNOTATIONS, True),
        (ANY_CHANGE, LABELS, True),
        (ANY_CHANGE, ANNOTATIONS, True),
        (OTHERS_LABELS, LABELS, False),
    ],
)
def test_who_registered_for_one_kind_of_update_does_not_hear_of_updates_in_general(
    registered: ClusterEvent, metadata: dict[str, Any], is_woken: bool
) -> None:
    core = Core([make_profile(named(Hearing, "Picky", events=(registered,), refuses=("n1",)))])
    core.nodes(make_node("n1"))
    pod = waits(core, changed(make_pod(), version="1"))
    core.pods(changed(pod, version="2", metadata=metadata), at=9.0)

    assert core.rooms(pod) == (["active"] if is_woken else ["unschedulable"])
    core.validate()


# trap: specific-and-general-updates
@pytest.mark.parametrize(
    ("registered", "metadata", "is_woken"),
    [
        (OTHERS_LABELS, LABELS, True),
        (OTHERS_LABELS, ANNOTATIONS, False),
        (ANY_CHANGE, LABELS, True),
        (ANY_CHANGE, ANNOTATIONS, True),
        (OWN_CHANGE, LABELS, False),
    ],
)
def test_the_same_holds_for_changes_of_pods_on_nodes(
    registered: ClusterEvent, metadata: dict[str, Any], is_woken: bool
) -> None:
    core = Core([make_profile(named(Hearing, "Picky", events=(registered,), refuses=("n1",)))])
    core.nodes(make_node("n1"))
    there = on_node(make_pod("there"), "n1", version="1")
    core.pods(there)
    pod = waits(core, make_pod())
    core.pods(changed(there, version="2", metadata=metadata), at=9.0)

    assert core.rooms(pod) == (["active"] if is_woken else ["unschedulable"])
    core.validate()


# ----------------------------------------------------------------------------------------------------- while it is tried


def asking(pod: Pod) -> ExtendedCore:
    """An extender is asked about the pod, whose node n1 it is going to refuse."""
    core = ExtendedCore(extender())
    core.nodes(make_node("n1"))
    core.pods(pod)
    result = core.go_on()
    assert result is not None
    assert result.outcome == "asking"
    return core


def refuse(core: ExtendedCore, at: float) -> Any:
    core.answer(node_names=[], failed_nodes={"n1": "no"}, at=at)
    result = core.go_on(at)
    assert result is not None
    assert result.outcome == "unschedulable"
    return result


# trap: events-during-an-attempt
@pytest.mark.parametrize(("node", "room"), [("n2", "backoff"), ("", "unschedulable")], ids=["an event", "none"])
def test_what_happens_while_an_extender_is_asked_is_looked_at_when_the_attempt_has_failed(node: str, room: str) -> None:
    pod = make_pod()
    core = asking(pod)
    if node:
        core.nodes(make_node(node), at=1.0)
    refuse(core, 2.0)

    assert core.rooms(pod) == [room]
    core.validate()


# trap: own-updates-of-a-pod-in-flight
def test_a_change_of_the_pod_that_is_asked_about_is_kept_until_the_attempt_has_failed() -> None:
    """It is queued once, as what it is by then, and tried again for its change."""
    pod = changed(make_pod(), version="1")
    core = asking(pod)
    newer = changed(pod, version="2", metadata=LABELS)
    assert core.pods(newer, at=1.0) == []
    assert core.rooms(pod) == []
    event, patch = refuse(core, 2.0).instructions

    assert isinstance(event, RecordEvent)
    assert isinstance(patch, PatchPodStatus)
    assert (event.pod, patch.pod) == (reference(newer), reference(newer))
    assert core.rooms(pod) == ["backoff"]
    core.validate()


# trap: own-updates-of-a-pod-in-flight
def test_without_a_change_that_matters_to_who_refused_it_the_pod_is_parked() -> None:
    """NodeResourcesFit looks at requests only; the extender, which looks at everything, has refused nothing."""
    pod = changed(make_pod("large", requests={"cpu": "3"}), version="1")
    core = asking(pod)
    core.pods(changed(pod, version="2", metadata=LABELS), at=1.0)
    core.pods(on_node(make_pod("there", requests={"cpu": "3"}), "n1"), at=1.5)
    core.answer(node_names=["n1"], at=2.0)
    result = core.go_on(2.0)

    assert result is not None
    assert result.plugins == ("NodeResourcesFit",)
    assert core.rooms(pod) == ["unschedulable"]
    core.validate()


# -------------------------------------------------------------------------------------------------------- PreEnqueue


class Gate(PreEnqueuePlugin):
    """Keeps pods out while it is closed, and counts how often it is asked."""

    name = "Gate"
    is_open: ClassVar[bool] = True
    asked: ClassVar[int] = 0

    def pre_enqueue(self, pod: PodInfo) -> Status:
        type(self).asked += 1
        return SUCCESS if self.is_open else Status(Code.UNSCHEDULABLE, ("closed",))


class DeafGate(Gate, EnqueueExtensions):
    """It has registered for nothing."""

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return ()


@pytest.fixture
def gate() -> Any:
    """A gate of one's own."""
    return named(Gate, "Gate")


# trap: pre-enqueue-runs-again
def test_a_pod_that_was_let_in_before_is_asked_about_again_when_it_wakes(gate: Any) -> None:
    core = Core([make_profile(gate, picky("n1"))])
    core.nodes(make_node("n1"))
    pod = waits(core, make_pod())
    assert type(gate).asked == 1
    type(gate).is_open = False
    core.nodes(make_node("n2"), at=9.0)
    assert core.rooms(pod) == ["gated"]
    assert core.scheduler.schedule_one(9.0) is None
    type(gate).is_open = True
    core.tick(0.0)
    core.tick(400.0)

    assert core.decide(400.0).node_name == "n2"
    assert type(gate).asked == 3
    core.validate()


# trap: pre-enqueue-runs-again
def test_it_is_asked_on_the_way_into_the_back_off_and_not_on_the_way_out(gate: Any) -> None:
    core = Core([make_profile(gate, picky("n1"))])
    core.nodes(make_node("n1"))
    pod = waits(core, make_pod())
    core.nodes(make_node("n2"), at=0.5)
    assert (core.rooms(pod), type(gate).asked) == (["backoff"], 2)
    type(gate).is_open = False
    core.tick(9.0)

    assert core.decide(9.0).node_name == "n2"
    assert type(gate).asked == 2
    core.validate()


# trap: a-gated-pod-hears-of-its-gate-only
def test_a_gated_pod_is_not_looked_at_for_what_helps_those_that_refused_it_before() -> None:
    gate = named(DeafGate, "DeafGate")
    core = Core([make_profile(gate, picky("n1"))])
    core.nodes(make_node("n1"))
    pod = waits(core, make_pod())
    core.tick(0.0)
    type(gate).is_open = False
    core.nodes(make_node("n2"), at=9.0)
    type(gate).is_open = True
    core.nodes(make_node("n3"), at=10.0)
    assert core.rooms(pod) == ["gated"]
    assert type(gate).asked == 2

    core.tick(400.0)
    assert core.decide(400.0).outcome == "assumed"
    core.validate()


# ----------------------------------------------------------------------------------------------- signatures and groups


# trap: signed-when-queued
def test_a_pod_that_changes_while_it_waits_does_not_use_what_was_worked_out_for_its_old_self() -> None:
    core = Core(default_profiles().values(), batching=FOREVER)
    core.nodes(make_node("n1", allocatable={"cpu": "1"}))
    core.nodes(make_node("n2", taints=[Taint(key="dedicated", value="db", effect="NoSchedule")]))
    first, alike, other = (changed(make_pod(name, requests={"cpu": "1"}), version="1") for name in ("a", "b", "c"))
    core.pods(first, alike, other)
    core.pods(changed(other, version="2", tolerations=[Toleration(operator="Exists")]))
    results = [core.decide() for _ in range(3)]

    assert [(result.node_name, result.batch) for result in results] == [
        ("n1", "no_hint"),
        ("", "fit_error"),
        ("n2", "no_hint"),
    ]
    core.validate()


# trap: groups-are-off
def test_a_pod_of_a_scheduling_group_is_placed_like_any_other() -> None:
    """Its group is not there, and is not waited for."""
    core = Core()
    core.nodes(make_node("n1"))
    pod = msgspec.json.decode(
        b"""{"metadata": {"name": "member", "namespace": "default", "uid": "member-uid", "resourceVersion": "7"},
             "spec": {"schedulerName": "reprise", "schedulingGroup": {"podGroupName": "crew"}, "containers": [{"name": "main"}]},
             "status": {"phase": "Pending"}}""",
        type=Pod,
    )
    core.pods(pod)

    assert core.decide().instructions == [BindPod(pod=reference(pod), node_name="n1")]
    core.validate()
