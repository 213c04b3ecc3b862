"""Where users found pods that waited for ever, or were forgotten, told to the scheduler from the first pod to the last.

Those that come from a thread of somebody name it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from scheduler.api.objects import Pod, PodSchedulingGate, Taint, Toleration
from scheduler.core.state import PluginFault
from scheduler.framework.binding import Handle, PermitAnswer
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.plugin import CycleState, EnqueueExtensions, PermitPlugin, PreEnqueuePlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.queueing_hint import Hint
from scheduler.framework.status import SUCCESS, Code, Reason, Status
from scheduler.framework.view import NodeView
from scheduler.queue.scheduling_queue import FLUSH_INTERVAL_SECONDS, MAX_UNSCHEDULABLE_SECONDS
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core, changed, on_node
from tests.support.scripted_plugins import Filter, Hearing, make_profile, named

NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
DEDICATED = Taint(key="dedicated", value="db", effect="NoSchedule")
BIG = {"cpu": "5"}


class Gate(PreEnqueuePlugin, EnqueueExtensions):
    """Keeps pods out while it is closed; it opens when a node comes."""

    name = "Gate"
    is_open: ClassVar[bool] = False
    events: ClassVar[tuple[ClusterEvent, ...]] = (NODE_ADD,)

    def pre_enqueue(self, pod: PodInfo) -> Status:
        return SUCCESS if self.is_open else Status(Code.UNSCHEDULABLE, ("closed",))

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return self.events


def gate() -> Any:
    """A gate of one's own: that it opens is nobody else's."""
    return named(Gate, "Gate")


def waits(core: Core, pod: Pod, at: float = 0.0) -> Pod:
    """The pod, after an attempt that no node passed."""
    core.pods(pod, at=at)
    assert core.decide(at).outcome == "unschedulable"
    return pod


# trap: a-gated-pod-hears-of-its-gate-only
def test_the_flush_asks_the_gates_of_pods_that_nothing_has_woken() -> None:
    """kubernetes/kubernetes#139162: gated pods were left out of the flush of pods that wait for too long."""
    closed = gate()
    core = Core([make_profile(closed, Filter())])
    pod = make_pod()
    core.pods(pod)
    core.tick(0.0)
    assert core.rooms(pod) == ["gated"]
    type(closed).is_open = True

    core.tick(MAX_UNSCHEDULABLE_SECONDS)
    assert core.rooms(pod) == ["gated"]
    core.tick(MAX_UNSCHEDULABLE_SECONDS + FLUSH_INTERVAL_SECONDS)
    assert core.rooms(pod) == ["active"]


def test_a_gate_opens_by_an_event_of_another_object() -> None:
    """kubernetes/kubernetes#125223, kubernetes/kubernetes#125527: pods that PreEnqueue rejects were not looked at when others changed."""
    closed = gate()
    core = Core([make_profile(closed, Filter())])
    pod = make_pod()
    core.pods(pod)
    type(closed).is_open = True

    core.nodes(make_node("n1"), at=1.0)
    assert core.rooms(pod) == ["active"]


# trap: a-gated-pod-hears-of-its-gate-only
def test_an_event_that_its_gate_did_not_ask_for_leaves_the_pod_alone() -> None:
    closed = gate()
    type(closed).events = ()
    core = Core([make_profile(closed, Filter())])
    pod = make_pod()
    core.pods(pod)
    type(closed).is_open = True

    core.nodes(make_node("n1"), at=1.0)
    assert core.rooms(pod) == ["gated"]


def test_a_pod_enters_when_its_last_scheduling_gate_goes() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    gates = [PodSchedulingGate(name="a"), PodSchedulingGate(name="b")]
    pod = changed(make_pod(scheduling_gates=gates), version="1")
    core.pods(pod)
    core.pods(changed(pod, version="2", scheduling_gates=gates[:1]), at=1.0)
    assert core.rooms(pod) == ["gated"]

    core.pods(changed(pod, version="3", scheduling_gates=None), at=2.0)
    assert core.decide(2.0).node_name == "n1"


def test_an_error_backs_off_whoever_rejected_the_pod_before() -> None:
    """kubernetes/kubernetes#120334, kubernetes/kubernetes#119105: it was parked because of plugins that had rejected the pod before."""
    listener = named(Hearing, "Listener", events=(NODE_ADD,), refuses=("n1",))
    core = Core([make_profile(listener)])
    core.nodes(make_node("n1"))
    pod = waits(core, make_pod())
    core.nodes(make_node("n2"), at=9.0)
    type(listener).error = RuntimeError("the rule broke")
    assert core.decide(9.0).outcome == "error"

    assert core.rooms(pod) == ["backoff"]
    type(listener).error = None
    core.tick(12.0)
    assert core.decide(12.0).node_name == "n2"


@pytest.mark.parametrize(
    "node",
    [
        make_node("n1", taints=[DEDICATED]),
        make_node("n1", unschedulable=True),
    ],
    ids=["taint", "cordon"],
)
def test_a_pod_that_gets_the_toleration_that_it_lacked_is_tried_again(node: Any) -> None:
    """kubernetes/kubernetes#127427: for a cordon nobody looked."""
    core = Core()
    core.nodes(node)
    pod = waits(core, changed(make_pod(), version="1"))
    core.pods(changed(pod, version="2", tolerations=[Toleration(operator="Exists")]), at=9.0)

    assert core.decide(9.0).node_name == "n1"


def test_a_toleration_of_something_else_leaves_a_pod_waiting_for_a_cordoned_node() -> None:
    core = Core()
    core.nodes(make_node("n1", unschedulable=True))
    pod = waits(core, changed(make_pod(), version="1"))
    core.pods(changed(pod, version="2", tolerations=[Toleration(key="dedicated", operator="Exists")]), at=9.0)

    assert core.rooms(pod) == ["unschedulable"]


class Holds(PermitPlugin, EnqueueExtensions):
    """Holds pods back until it is told otherwise."""

    name = "Holds"

    def permit(self, state: CycleState, pod: PodInfo, node_name: str, handle: Handle) -> PermitAnswer:
        return PermitAnswer(Status(Code.WAIT), 60.0)

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (NODE_ADD, ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_LABEL))


def held(core: Core, pod: Pod) -> Pod:
    core.nodes(make_node("n1"))
    core.pods(pod)
    assert core.decide().node_name == "n1"
    return pod


def reject(core: Core, pod: Pod, at: float) -> None:
    wait = core.state.binding_cycles.before_bind[pod.metadata.uid].wait
    assert wait is not None
    wait.reject("Holds", "no")
    core.tick(at)


# trap: events-during-an-attempt
def test_an_event_while_the_pod_is_under_way_has_it_tried_again() -> None:
    """kubernetes/kubernetes#72122, kubernetes/kubernetes#73463: it came before the pod had been put back, and was lost."""
    core = Core([make_profile(Holds())])
    pod = held(core, make_pod())
    core.nodes(make_node("n2"), at=1.0)
    reject(core, pod, 2.0)

    assert core.rooms(pod) == ["backoff"]


# trap: own-updates-of-a-pod-in-flight
def test_a_change_of_the_pod_while_it_is_under_way_has_it_tried_again() -> None:
    core = Core([make_profile(Holds())])
    pod = held(core, changed(make_pod(), version="1"))
    core.pods(changed(pod, version="2", metadata={"labels": {"app": "web"}}), at=1.0)
    reject(core, pod, 2.0)

    assert core.rooms(pod) == ["backoff"]


def test_without_an_event_the_pod_is_parked() -> None:
    core = Core([make_profile(Holds())])
    pod = held(core, make_pod())
    reject(core, pod, 2.0)

    assert core.rooms(pod) == ["unschedulable"]


def test_a_pod_that_is_skipped_or_deleted_under_way_keeps_no_events() -> None:
    """kubernetes/kubernetes#120622, kubernetes/kubernetes#126962: they were kept for ever."""
    core = Core([make_profile(Holds())])
    core.pods(make_pod("going", deletion_timestamp="2026-11-30T12:00:00Z"))
    assert core.decide().outcome == "skipped"
    pod = held(core, make_pod("held"))
    core.nodes(make_node("n2"), at=1.0)
    assert core.state.queue._in_flight.event_count == 1
    core.pod_gone(pod, at=2.0)

    assert (len(core.state.queue._in_flight), core.state.queue._in_flight.event_count) == (0, 0)


def test_pods_that_cannot_be_placed_do_not_hold_up_those_behind_them() -> None:
    """kubernetes-sigs/scheduler-plugins#682: a group of them held up all others."""
    core = Core()
    core.nodes(make_node("n1"))
    for number in range(20):
        waits(core, make_pod(f"big-{number}", requests=BIG, priority=100))
    core.pods(make_pod("small"), at=1.0)

    assert core.decide(1.0).pod == "default/small"
    assert core.state.queue.pop(1.0) is None


def test_a_pod_that_is_first_seen_as_an_update_is_queued() -> None:
    """kubernetes/kubernetes#102790, kubernetes/kubernetes#104521: its first event had been missed, and nobody found it."""
    core = Core()
    core.nodes(make_node("n1"))
    pod = changed(make_pod(), version="7")
    core.pods(pod)
    core.pods(pod)

    assert core.decide().node_name == "n1"
    assert core.state.queue.pop(0.0) is None


def test_a_pod_whose_bind_failed_is_tried_again_and_its_room_helps_others() -> None:
    """kubernetes/kubernetes#28883, kubernetes/kubernetes#49314: forgotten by some and not by others, it stayed Pending for ever."""
    core = Core()
    core.nodes(make_node("n1"))
    pod = make_pod("first", requests={"cpu": "4"})
    core.pods(pod)
    core.decide()
    other = waits(core, make_pod("second", requests={"cpu": "3"}), at=1.0)
    core.bind_failed(pod, "n1", at=9.0)

    assert (core.rooms(other), core.rooms(pod)) == (["active"], ["backoff"])
    assert core.decide(9.0).node_name == "n1"


def test_a_pod_that_is_deleted_during_its_bind_leaves_its_room_to_who_waits_for_it() -> None:
    """kubernetes/kubernetes#134217, kubernetes/kubernetes#134157: it went on taking room."""
    core = Core()
    core.nodes(make_node("n1"))
    pod = make_pod("first", requests={"cpu": "4"})
    core.pods(pod)
    core.decide()
    other = waits(core, make_pod("second", requests={"cpu": "3"}), at=1.0)
    core.pod_gone(pod, at=9.0)

    assert core.rooms(other) == ["active"]
    assert core.decide(9.0).node_name == "n1"


# What a plugin answers that breaks.


class Breaks(Filter, EnqueueExtensions):
    """Refuses every node, and fails when it is asked for a hint."""

    name = "Breaks"
    refuses: tuple[str, ...] = ("n1", "n2", "n3")
    answer: ClassVar[Any] = RuntimeError("no idea")

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (NODE_ADD,)

    def queueing_hint(self, pod: PodInfo, event: ClusterEvent, old: Any, new: Any, nodes: NodeView) -> Hint:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (RuntimeError("no idea"), "no idea"),
        (True, "True is not a Hint: return Hint.QUEUE or Hint.SKIP"),
    ],
)
def test_a_plugin_that_fails_to_give_a_hint_is_not_believed_and_named_once(answer: Any, error: str) -> None:
    core = Core([make_profile(named(Breaks, "Breaks", answer=answer))])
    core.nodes(make_node("n1"))
    pod = waits(core, make_pod())
    core.nodes(make_node("n2"), at=9.0)
    assert core.rooms(pod) == ["active"]
    assert core.decide(9.0).outcome == "unschedulable"
    core.nodes(make_node("n3"), at=30.0)

    assert core.state.measurements.hints["Breaks", "NodeAdd", "Error"] == 2
    (complaint,) = core.scheduler.take_complaints()
    assert isinstance(complaint, PluginFault)
    assert (complaint.plugin, complaint.stage) == ("Breaks", "QueueingHint")
    assert complaint.error == f'asking plugin "Breaks" whether NodeAdd helps: {error}'


# trap: pending-skips-the-back-off
def test_a_filter_with_the_status_pending_has_its_pod_tried_at_once_when_it_can_be() -> None:
    listener = named(Hearing, "Listener", events=(NODE_ADD,), refuses=("n1",), reason=Reason("soon", Code.PENDING))
    core = Core([make_profile(listener)])
    core.nodes(make_node("n1"))
    pod = waits(core, make_pod())
    core.nodes(make_node("n2"), at=0.1)

    assert core.rooms(pod) == ["active"]


class Activates(Holds):
    """Has others tried when it is asked to let a pod go on."""

    name = "Activates"
    uids: ClassVar[tuple[str, ...]] = ()

    def permit(self, state: CycleState, pod: PodInfo, node_name: str, handle: Handle) -> PermitAnswer:
        handle.activate(self.uids)
        return PermitAnswer()


def test_a_plugin_can_have_other_pods_tried_at_once() -> None:
    activates, picky = named(Activates, "Activates"), named(Hearing, "Picky", refuses=("n1",))
    core = Core([make_profile(activates, picky)])
    core.nodes(make_node("n1"))
    parked = waits(core, make_pod("parked"))
    type(activates).uids = (parked.metadata.uid, "nobody")
    type(picky).refuses = ()
    core.pods(make_pod("placed"))
    assert core.decide(0.1).node_name == "n1"

    assert core.rooms(parked) == ["active"]


def test_many_pods_of_a_shape_are_asked_about_once_and_woken_together() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    pods = [waits(core, make_pod(f"web-{number}", requests=BIG)) for number in range(30)]
    core.nodes(make_node("n2", allocatable={"cpu": "1"}), at=9.0)
    assert {tuple(core.rooms(pod)) for pod in pods} == {("unschedulable",)}
    core.nodes(make_node("n3", allocatable={"cpu": "8"}), at=9.0)

    assert {tuple(core.rooms(pod)) for pod in pods} == {("active",)}
    assert core.state.measurements.hints == {
        ("NodeResourcesFit", "NodeAdd", "QueueSkip"): 1,
        ("NodeResourcesFit", "NodeAdd", "Queue"): 1,
    }


def test_a_pod_that_leaves_a_node_wakes_only_whom_it_kept_off() -> None:
    core = Core()
    core.nodes(make_node("n1", labels={"zone": "a"}))
    there = make_pod("there", requests={"cpu": "4"})
    core.pods(on_node(there, "n1"))
    lacks_room = waits(core, make_pod("room", requests={"cpu": "3"}))
    lacks_label = waits(core, make_pod("label", node_selector={"zone": "b"}))
    core.pod_gone(there, at=9.0)

    assert (core.rooms(lacks_room), core.rooms(lacks_label)) == (["active"], ["unschedulable"])
