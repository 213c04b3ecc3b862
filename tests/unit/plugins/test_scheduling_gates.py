from __future__ import annotations

from scheduler.api.objects import PodSchedulingGate
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Code, Status
from scheduler.plugins.scheduling_gates import SchedulingGates
from tests.support.builders import make_pod


def test_a_pod_without_gates_may_enter_the_queue() -> None:
    assert SchedulingGates().pre_enqueue(PodInfo(make_pod())) == SUCCESS
    assert SchedulingGates().pre_enqueue(PodInfo(make_pod(scheduling_gates=[]))) == SUCCESS


def test_gates_are_listed_in_the_order_of_the_spec() -> None:
    pod = make_pod(scheduling_gates=[PodSchedulingGate(name="foo"), PodSchedulingGate(name="bar")])
    status = SchedulingGates().pre_enqueue(PodInfo(pod))
    assert status == Status(
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        ("waiting for scheduling gates: [foo bar]",),
        "SchedulingGates",
    )


def test_only_the_end_of_the_pods_own_gates_wakes_it() -> None:
    (event,) = SchedulingGates().events_to_register()
    assert event == ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
