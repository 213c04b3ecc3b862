"""Room that is kept for a pod with ``status.nominatedNodeName``, and who hears when it is free again.

Expected: kube-scheduler 1.37, nominator, RunFilterPluginsWithNominatedPods and the pod event handlers.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.api.objects import Pod, PodSchedulingGate, PodStatus
from scheduler.core.instruction import PatchPodStatus
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core, changed, on_node


def ahead(node: str = "n1", *, version: str = "1", gated: bool = True, **fields: Any) -> Pod:
    """A pod of 4 CPUs and priority 10 that is nominated. While it is gated it does not take its turn."""
    gates = [PodSchedulingGate(name="g")] if gated else None
    status = PodStatus(nominated_node_name=node)
    pod = make_pod("ahead", requests={"cpu": "4"}, priority=10, status=status, scheduling_gates=gates)
    return changed(pod, version=version, **fields)


def behind(priority: int = 5, **spec: Any) -> Pod:
    return make_pod(f"behind-{priority}", priority=priority, **spec)


@pytest.fixture
def core() -> Core:
    """A node of 4 CPUs, all of them kept for a pod that waits behind a gate."""
    core = Core()
    core.nodes(make_node("n1"))
    core.pods(ahead())
    return core


def waiting(core: Core, pod: Pod | None = None) -> Pod:
    """A pod that found no room beside the nominated one."""
    pod = behind() if pod is None else pod
    core.pods(pod)
    result = core.decide()
    assert "1 Insufficient cpu" in result.message
    assert core.rooms(pod) == ["unschedulable"]
    return pod


@pytest.mark.parametrize(("priority", "outcome"), [(9, "unschedulable"), (10, "unschedulable"), (11, "assumed")])
def test_room_is_kept_from_pods_of_the_same_priority_or_a_lower_one(core: Core, priority: int, outcome: str) -> None:
    core.pods(behind(priority))

    assert core.decide().outcome == outcome


# trap: the-nominated-node-first
def test_a_pod_tries_the_node_that_it_is_nominated_to_first() -> None:
    core = Core()
    core.nodes(make_node("n1"), make_node("n2", allocatable={"cpu": "64"}))
    core.pods(ahead(gated=False))

    assert core.decide().node_name == "n1"


def test_a_pod_that_does_not_fit_where_it_is_nominated_goes_elsewhere() -> None:
    core = Core()
    core.nodes(make_node("n1", allocatable={"cpu": "1"}), make_node("n2"))
    core.pods(ahead(gated=False))

    assert core.decide().node_name == "n2"


def test_the_deletion_of_a_nominated_pod_frees_its_room(core: Core) -> None:
    pod = waiting(core)
    core.pod_gone(ahead(), at=9.0)

    assert core.rooms(pod) == ["active"]
    assert core.decide(9.0).node_name == "n1"


# trap: a-nomination-that-goes-wakes-others
@pytest.mark.parametrize("node", ["", "n2"])
def test_another_nomination_or_none_frees_the_room(core: Core, node: str) -> None:
    pod = waiting(core)
    core.pods(ahead(node, version="2"), at=9.0)

    assert core.rooms(pod) == ["active"]
    assert core.decide(9.0).node_name == "n1"


def test_any_other_change_keeps_the_room(core: Core) -> None:
    pod = waiting(core)
    core.pods(ahead(version="2", metadata={"labels": {"a": "b"}}), at=9.0)

    assert core.rooms(pod) == ["unschedulable"]


def test_pods_of_a_higher_priority_do_not_wait_for_the_room_and_are_not_woken(core: Core) -> None:
    high = waiting(core, behind(11, requests={"cpu": "5"}))
    core.pod_gone(ahead(), at=9.0)

    assert core.rooms(high) == ["unschedulable"]


@pytest.mark.parametrize(("node", "room"), [("n1", "unschedulable"), ("n2", "active")])
def test_a_nominated_pod_that_is_bound_frees_the_room_unless_it_takes_it(core: Core, node: str, room: str) -> None:
    pod = waiting(core)
    core.pods(on_node(ahead(), node), at=9.0)

    assert core.rooms(pod) == [room]


def test_a_nominated_pod_that_goes_elsewhere_frees_the_room_when_that_is_decided(core: Core) -> None:
    core.nodes(make_node("n2"))
    pod = waiting(core, behind(node_selector={"kubernetes.io/hostname": "n1"}))
    core.pods(ahead(version="2", gated=False, node_selector={"kubernetes.io/hostname": "n2"}), at=9.0)
    assert core.decide(9.0).node_name == "n2"

    assert core.rooms(pod) == ["active"]
    assert core.decide(9.0).node_name == "n1"


def test_a_nominated_pod_that_takes_its_room_wakes_nobody(core: Core) -> None:
    pod = waiting(core)
    core.pods(ahead(version="2", gated=False), at=9.0)
    assert core.decide(9.0).node_name == "n1"

    assert core.rooms(pod) == ["unschedulable"]


def test_a_nominated_pod_that_fails_keeps_no_room_and_the_others_hear_when_the_api_says_so(core: Core) -> None:
    pod = waiting(core)
    failing = ahead(version="2", gated=False, node_selector={"kubernetes.io/hostname": "nowhere"})
    core.pods(failing, at=9.0)
    (_, patch) = core.decide(9.0).instructions
    assert isinstance(patch, PatchPodStatus)
    assert patch.nominated_node_name == ""
    other = behind(4)
    core.pods(other, at=9.0)
    assert core.decide(9.0).node_name == "n1"
    assert core.rooms(pod) == ["unschedulable"]

    cleared = msgspec.structs.replace(changed(failing, version="3"), status=PodStatus())
    core.pods(cleared, at=10.0)
    assert core.rooms(pod) == ["active"]


def test_a_terminating_nominated_pod_keeps_its_room_until_it_is_gone(core: Core) -> None:
    pod = waiting(core)
    going = ahead(version="2", gated=False, metadata={"deletion_timestamp": "2026-01-01T00:00:00Z"})
    core.pods(going, at=9.0)
    assert core.decide(9.0).outcome == "skipped"
    assert core.rooms(pod) == ["unschedulable"]

    core.pod_gone(going, at=9.0)
    assert core.rooms(pod) == ["active"]


def test_a_nomination_of_another_schedulers_pod_keeps_no_room() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    core.pods(changed(ahead(), scheduler_name="default-scheduler"))
    core.pods(behind())

    assert core.decide().node_name == "n1"
