"""Where users found nodes that got more than they can hold, because something was not counted, or not yet, told to the whole scheduler.

Each test names the thread that it comes from. ``test_beside_others.py`` has those of two schedulers that want one place.
"""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from scheduler.api.objects import ContainerStatus, Pod, PodStatus, ResourceRequirements
from scheduler.core.bind_check import is_touched
from scheduler.core.stimulus import BindDue
from tests.support.builders import HOSTNAME, make_node, make_pod
from tests.support.core_run import BINDING, ON_NODE, Core, changed, on_node
from tests.support.pod_affinity import affinity, term
from tests.support.signed_plugins import FOREVER, batch_of

GOING_AT = "2026-01-01T00:00:00Z"
NO_ROOM = "0/1 nodes are available: 1 Insufficient cpu."


def cluster(*names: str, **allocatable: str) -> Core:
    core = Core(batching=FOREVER)
    core.nodes(*(make_node(name, allocatable=allocatable) for name in names))
    return core


def running(name: str, node: str, cpu: str) -> Pod:
    return make_pod(name, requests={"cpu": cpu}, node_name=node, status=PodStatus(phase="Running"))


def resized(pod: Pod, *, allocated: str, in_effect: str) -> Pod:
    """The pod with what its kubelet says of its container."""
    told = ContainerStatus(
        name="main",
        allocated_resources={"cpu": allocated},
        resources=ResourceRequirements(requests={"cpu": in_effect}),
    )
    status = replace(pod.status, container_statuses=[told])
    return replace(pod, status=status, metadata=replace(pod.metadata, resource_version=f"{allocated}-{in_effect}"))


def asking(pod: Pod, cpu: str) -> Pod:
    """The pod as somebody has resized it."""
    (container,) = pod.spec.containers
    wanted = replace(container, resources=ResourceRequirements(requests={"cpu": cpu}))
    return changed(pod, version=f"asks-{cpu}", containers=[wanted])


def test_what_another_scheduler_places_counts_from_the_next_decision_on_although_the_last_one_is_used_again() -> None:
    """NVIDIA/KAI-Scheduler#1454: a view of the cluster that was made now and then was too old while others bound pods."""
    core = cluster("n1", "n2")
    core.pods(*(make_pod(f"web-{number}", requests={"cpu": "2"}) for number in range(3)))
    first = core.decide().node_name
    other = {"n1": "n2", "n2": "n1"}[first]
    core.pods(on_node(make_pod("theirs", scheduler_name="other", requests={"cpu": "3"}), other))

    assert core.decide().node_name == first
    assert core.decide().message == "0/2 nodes are available: 2 Insufficient cpu."
    assert batch_of(core) == {"no_hint": 1, "hint_used": 1, "fit_error": 1}


def test_room_is_free_when_a_pod_has_ended_and_not_when_it_is_asked_to_end() -> None:
    """volcano-sh/volcano#2700: many jobs end and start on one node, and the new ones were refused with OutOfCpu."""
    core, old = cluster("n1"), running("old", "n1", "4")
    core.pods(old)
    new = make_pod("new", requests={"cpu": "4"})
    core.pods(new)
    assert core.decide().message == NO_ROOM
    core.pods(changed(old, version="2", metadata={"deletion_timestamp": GOING_AT}), at=10.0)
    assert core.rooms(new) == ["unschedulable"]

    core.pods(replace(old, status=PodStatus(phase="Succeeded")), at=20.0)
    assert core.decide(20.0).node_name == "n1"
    core.state.cache.validate()


def test_a_node_takes_no_more_pods_than_it_says_however_fast_they_come() -> None:
    """kubernetes/kubernetes#136782: 168 pods were placed on a node for 110; here no bind is answered or seen meanwhile."""
    core = cluster("n1", cpu="1000")
    core.pods(*(make_pod(f"p{number}", requests={"cpu": "1m"}) for number in range(168)))
    results = [core.decide() for _ in range(168)]

    assert Counter(result.node_name for result in results) == {"n1": 110, "": 58}
    assert {result.message for result in results[110:]} == {"0/1 nodes are available: 1 Too many pods."}


@pytest.mark.parametrize("nodes", [("n1", "n2"), ("n1",)])
def test_pods_that_keep_apart_are_not_placed_together_before_the_first_is_seen_on_its_node(
    nodes: tuple[str, ...],
) -> None:
    """kubernetes/kubernetes#138546: two replicas with required anti-affinity were bound to one node 3 ms apart."""
    core = cluster(*nodes)
    rules = affinity(apart=(term(HOSTNAME),))
    pods = [make_pod(f"web-{number}", labels={"app": "web"}, affinity=rules) for number in range(2)]
    core.pods(*pods)
    placed = sorted(core.decide(at).node_name for at in (0.0, 0.003))

    assert placed == (["n1", "n2"] if len(nodes) == 2 else ["", "n1"])


def test_a_bind_that_fails_late_is_forgotten_by_uid_and_touches_no_other_pod_of_the_name() -> None:
    """kubernetes/kubernetes#49314: "assumed on a different node" when a failed bind was to be forgotten, and Pending for ever."""
    core = cluster("n1")
    first = make_pod("web", uid="first", requests={"cpu": "2"})
    core.pods(first)
    assert core.decide().node_name == "n1"
    core.pod_gone(first, at=1.0)
    core.nodes(make_node("n1", unschedulable=True), make_node("n2"), at=1.0)
    second = make_pod("web", uid="second", requests={"cpu": "2"})
    core.pods(second, at=1.0)
    assert core.decide(1.0).node_name == "n2"

    assert core.bind_failed(first, "n1", 'pods "web" not found', at=2.0) == []
    assert (core.rooms(first), core.rooms(second)) == ([], [BINDING, ON_NODE])
    core.bind_failed(second, "n2", "etcdserver: request timed out", at=3.0)
    assert core.rooms(second) == ["backoff"]
    core.tick(20.0)
    assert core.decide(20.0).node_name == "n2"
    core.bound(second, "n2", at=20.0)
    core.pods(on_node(second, "n2"), at=20.0)
    assert core.rooms(second) == [ON_NODE]
    core.state.cache.validate()


def test_a_pod_whose_bind_is_not_answered_keeps_its_room_and_is_not_decided_on_again() -> None:
    """kubernetes/kubernetes#28883: a bind that had timed out was taken as failed, and the pod was placed a second time."""
    core, pod = cluster("n1", "n2"), make_pod("web", requests={"cpu": "4"})
    core.pods(pod)
    node = core.decide().node_name
    for minute in range(1, 31):
        now = 60.0 * minute
        core.tick(now)
        core.pods(changed(pod, version=str(minute)), at=now)
        assert core.scheduler.schedule_one(now) is None
    core.pods(make_pod("one", requests={"cpu": "4"}), make_pod("two", requests={"cpu": "4"}), at=2000.0)

    assert {core.decide(2000.0).node_name, core.decide(2000.0).node_name} == {"n1", "n2", ""} - {node}
    core.pods(on_node(pod, node), at=2001.0)
    core.bound(pod, node, at=2002.0)
    assert core.rooms(pod) == [ON_NODE]


def test_a_pod_that_shrinks_in_place_leaves_its_room_when_the_kubelet_says_so() -> None:
    """kubernetes/kubernetes#129532: what is asked for was counted alone, and the kubelet refused what came into the room."""
    core, there = cluster("n1"), running("there", "n1", "3")
    core.pods(there)
    waits = make_pod("waits", requests={"cpu": "2"})
    core.pods(waits)
    assert core.decide().message == NO_ROOM

    shrinking = asking(there, "1")
    core.pods(resized(shrinking, allocated="3", in_effect="3"), at=10.0)
    assert core.rooms(waits) == ["unschedulable"]
    core.pods(resized(shrinking, allocated="1", in_effect="3"), at=20.0)
    assert core.rooms(waits) == ["unschedulable"]
    core.pods(resized(shrinking, allocated="1", in_effect="1"), at=30.0)
    assert core.decide(30.0).node_name == "n1"
    core.state.cache.validate()


def test_a_pod_that_grows_in_place_after_a_decision_is_seen_before_the_bind() -> None:
    """kubernetes/kubernetes#126891: a resize between the decision and the bind made the kubelet refuse the pod."""
    core, there = cluster("n1"), running("there", "n1", "1")
    ours = make_pod("ours", requests={"cpu": "2"})
    core.pods(there, ours)
    assert core.decide(1.0).node_name == "n1"
    core.pods(resized(asking(there, "3"), allocated="1", in_effect="1"), at=1.5)

    assert is_touched(core.state, ours.metadata.uid)
    core.scheduler.handle(BindDue(now=2.0, uid=ours.metadata.uid))
    assert core.rooms(ours) == ["backoff"]
    core.state.cache.validate()
