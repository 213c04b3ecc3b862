"""Stories of a scheduler beside another one, as users tell them."""

from __future__ import annotations

import msgspec
import pytest

from scheduler.api.objects import Pod, PodStatus
from scheduler.core.bind_check import is_touched
from scheduler.core.instruction import ReadPod
from scheduler.core.stimulus import BindDue
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core, on_node


def foreign(name: str, node: str, cpu: str = "2") -> Pod:
    return on_node(make_pod(name, scheduler_name="default-scheduler", requests={"cpu": cpu}), node)


def send(core: Core, pod: Pod, *, at: float) -> bool:
    """What the edge does before it sends a bind: whether it is sent."""
    uid = pod.metadata.uid
    if is_touched(core.state, uid):
        core.scheduler.handle(BindDue(now=at, uid=uid))
    return uid in core.state.bindings


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_two_schedulers_and_one_slot(first: str) -> None:
    """kubernetes/kubernetes#72043: the loser failed in the kubelet, and its Job with it."""
    core, ours = Core(), make_pod("ours", requests={"cpu": "3"})
    core.nodes(make_node("n1"))
    core.pods(ours)
    assert core.decide(1.0).node_name == "n1"
    if first == "ours":
        assert send(core, ours, at=1.0)
    core.pods(foreign("theirs", "n1"), at=1.1)
    if first == "theirs":
        assert not send(core, ours, at=1.1)
        assert core.rooms(ours) == ["backoff"]
    core.state.cache.validate()


def test_every_foreign_pod_counts_whoever_placed_it() -> None:
    """kubernetes/kubernetes#60469: the second scheduler went on binding to full nodes for minutes."""
    core = Core()
    core.nodes(make_node("n1"), make_node("n2"))
    core.pods(foreign("static", "n1", "4"), foreign("other", "n2", "1"))
    ours = make_pod("ours", requests={"cpu": "3"})
    core.pods(ours)
    assert core.decide().node_name == "n2"


def test_a_replica_set_on_a_node_that_refuses_is_not_refused_over_and_over() -> None:
    """kubernetes/kubernetes#42433, kubernetes/kubernetes#106419: a pod refused with OutOfcpu was made anew as fast as it was refused.

    The kubelet of "liar" holds CPUs back that the API does not show; it is the best node all the same. In ten minutes a
    ReplicaSet that wants one pod asks it at 0 s, 10 s, 30 s, 70 s, 150 s, 310 s and no more often.
    """
    core = Core()
    core.nodes(make_node("liar"))
    asked: list[float] = []
    pod: Pod | None = None
    for second in range(600):
        now = float(second)
        if pod is None:
            pod = make_pod(f"replica-{second}", requests={"cpu": "1"})
            core.pods(pod, at=now)
        core.tick(now)
        result = core.scheduler.schedule_one(now)
        if result is None or not result.node_name:
            continue
        asked.append(now)
        core.bound(pod, "liar", at=now)
        core.pods(msgspec.structs.replace(on_node(pod, "liar"), status=PodStatus(phase="Pending")), at=now)
        (read,) = core.pod_gone(pod, at=now)
        assert isinstance(read, ReadPod)
        core.pod_read(pod, "Failed", "OutOfcpu", at=now)
        pod = None
    assert asked == [0.0, 10.0, 30.0, 70.0, 150.0, 310.0]
    core.state.cache.validate()


def test_a_pod_that_was_refused_by_the_check_is_bound_once_there_is_room_again() -> None:
    core, ours, theirs = Core(), make_pod("ours", requests={"cpu": "3"}), foreign("theirs", "n1")
    core.nodes(make_node("n1"))
    core.pods(ours)
    core.decide(1.0)
    core.pods(theirs, at=1.1)
    assert not send(core, ours, at=1.1)
    core.tick(3.0)
    assert core.decide(3.0).outcome == "unschedulable"

    core.pod_gone(theirs, at=4.0)
    core.tick(20.0)
    assert core.decide(20.0).node_name == "n1"
    assert send(core, ours, at=20.0)
