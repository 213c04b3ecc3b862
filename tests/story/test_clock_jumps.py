"""Clocks that jump, forwards and back: pods are bound once, nobody waits for longer than with a steady clock, and nothing is left.

Deadlines of the core are on the time that it is given, which is the wall clock's; what the edge measures is on a monotonic clock.
Expected: what a steady clock would bring; a clock that is set forwards may end waits early.
"""

from __future__ import annotations

from random import Random

import pytest

from scheduler.api.objects import Pod
from scheduler.core.clock import LEAST_SECONDS
from scheduler.framework.binding import PermitAnswer
from scheduler.framework.status import Code, Status
from scheduler.queue.scheduling_queue import FLUSH_INTERVAL_SECONDS, MAX_UNSCHEDULABLE_SECONDS
from tests.story.test_queue_field_cases import gate
from tests.support.answering_cluster import AnsweringCluster, traces
from tests.support.binding_plugins import scripted
from tests.support.builders import make_node, make_pod
from tests.support.core_run import BINDING, Core, changed
from tests.support.preemption import GOING_AT, PreemptingCore, seated, urgent
from tests.support.scripted_plugins import Filter, make_profile

NOW = 2_000_000_000.0
YEAR = 365 * 86400.0
JUMPS = (-YEAR, -3600.0, -60.0, -1.0, 1.0, 60.0, 3600.0, YEAR)
jumping = pytest.mark.parametrize("jump", JUMPS)


def failed(core: Core, at: float) -> Pod:
    """A pod whose bind has failed, so that it backs off for a second, which ends with the second after it."""
    pod = make_pod()
    core.nodes(make_node("n1"), at=at)
    core.pods(pod, at=at)
    core.tick(at)
    core.decide(at)
    core.bind_failed(pod, "n1", at=at)
    return pod


@jumping
def test_a_pod_that_backs_off_is_tried_again_no_later_than_with_a_steady_clock(jump: float) -> None:
    core = Core()
    pod = failed(core, NOW)
    assert core.rooms(pod) == ["backoff"]
    core.tick(NOW + jump)
    assert core.rooms(pod) == (["active"] if jump > 1.0 else ["backoff"])
    core.tick(NOW + jump + (2.0 if jump <= -LEAST_SECONDS else 3.0))

    assert core.rooms(pod) == ["active"]


def test_a_clock_that_is_set_back_before_the_first_tick_is_noticed() -> None:
    core, pod = Core(), make_pod()
    core.nodes(make_node("n1"), at=NOW)
    core.pods(pod, at=NOW)
    core.decide(NOW)
    core.bind_failed(pod, "n1", at=NOW)
    core.tick(NOW - 3600.0)
    assert core.rooms(pod) == ["backoff"]

    core.tick(NOW - 3600.0 + 2.0)
    assert core.rooms(pod) == ["active"]


def test_pods_keep_their_order_when_the_clock_is_set_back() -> None:
    core = Core()
    core.nodes(make_node("n1"), at=NOW)
    core.tick(NOW)
    core.pods(make_pod("first"), at=NOW)
    core.pods(make_pod("second"), at=NOW + 1.0)
    core.tick(NOW - 3600.0)
    core.pods(make_pod("third"), at=NOW - 3598.0)

    assert [core.decide(NOW - 3597.0).pod for _ in range(3)] == ["default/first", "default/second", "default/third"]


def test_how_long_a_pod_took_is_not_told_as_less_than_nothing() -> None:
    core, pod = Core(), make_pod()
    core.nodes(make_node("n1"), at=NOW)
    core.pods(pod, at=NOW)
    core.tick(NOW)
    core.decide(NOW)
    core.tick(NOW - 3600.0)
    core.bound(pod, "n1", at=NOW - 3597.0)

    assert [one.sum for one in core.state.measurements.sli_seconds.values()] == [3.0]


@jumping
def test_the_flush_finds_pods_that_wait_for_too_long(jump: float) -> None:
    core = Core()
    core.nodes(make_node("n1"), at=NOW)
    pod = make_pod(requests={"cpu": "5"})
    core.tick(NOW)
    core.pods(pod, at=NOW)
    core.decide(NOW)
    core.tick(NOW + jump)
    assert core.rooms(pod) == (["active"] if jump > MAX_UNSCHEDULABLE_SECONDS else ["unschedulable"])

    core.tick(NOW + jump + MAX_UNSCHEDULABLE_SECONDS + FLUSH_INTERVAL_SECONDS)
    assert core.rooms(pod) == ["active"]


def test_a_gate_that_was_asked_by_the_flush_is_asked_again_after_the_clock_was_set_back() -> None:
    closed = gate()
    core, pod = Core([make_profile(closed, Filter())]), make_pod()
    core.tick(NOW)
    core.pods(pod, at=NOW)
    asked = NOW + MAX_UNSCHEDULABLE_SECONDS + FLUSH_INTERVAL_SECONDS
    core.tick(asked)
    core.tick(asked - 3600.0)
    type(closed).is_open = True
    assert core.rooms(pod) == ["gated"]

    core.tick(asked - 3600.0 + MAX_UNSCHEDULABLE_SECONDS + FLUSH_INTERVAL_SECONDS)
    assert core.rooms(pod) == ["active"]


@jumping
def test_who_waits_on_permit_times_out_no_later_than_with_a_steady_clock(jump: float) -> None:
    wait = PermitAnswer(Status(Code.WAIT), 30.0)
    core = PreemptingCore(scripted("Slow", [], only="p", permitted=wait))
    pod = urgent("p")
    core.pods(pod, at=NOW)
    core.tick(NOW)
    core.decide(NOW)
    for at, waits in ((NOW + jump, jump < 30.0), (NOW + jump + 32.0, False)):
        core.tick(at)
        assert bool(list(core.state.binding_cycles.waiting())) is waits
    assert core.state.bindings == {}
    assert BINDING not in core.rooms(pod) != []
    core.state.cache.validate()


@jumping
def test_a_node_that_cools_down_is_used_again(jump: float) -> None:
    core = Core()
    core.nodes(make_node("n1"), at=NOW)
    core.tick(NOW)
    cooling = core.state.kubelet_rejections.cooling
    assert cooling.refused("shape", "n1", NOW) == 10.0
    core.tick(NOW + jump)
    assert len(cooling) == (jump < 10.0)

    core.tick(NOW + jump + 12.0)
    assert len(cooling) == 0
    assert cooling.refused("shape", "n1", NOW + jump + 12.0) == (10.0 if jump > 600.0 else 20.0)


@jumping
def test_reads_of_ended_pods_stay_bounded(jump: float) -> None:
    """No more than the burst at once, whatever the clock says, and some again a while later."""
    core = Core()
    core.nodes(make_node("n1", allocatable={"cpu": "100", "pods": "300"}), at=NOW)
    rejections = core.state.kubelet_rejections
    assert sum(rejections._may_read(NOW) for _ in range(60)) == 50
    assert sum(rejections._may_read(NOW + jump) for _ in range(60)) <= 50
    assert sum(rejections._may_read(NOW + jump + 1.0) for _ in range(60)) >= 10


@pytest.mark.parametrize("seed", range(12))
def test_whatever_the_clock_does_all_pods_are_bound_once_and_nothing_is_left(seed: int) -> None:
    """Pods of several priorities come and go on three nodes while the clock jumps at every fifth step."""
    random = Random(seed)
    core = PreemptingCore(scripted("Slow", [], only="slow"), nodes=("n1", "n2", "n3"))
    cluster = AnsweringCluster(core, NOW)
    cluster.put(seated("old-1", "n1", cpu="3"), seated("old-2", "n2", cpu="3"))
    for number in range(300):
        match random.randrange(10):
            case 0 | 1:
                cluster.now += random.choice(JUMPS)
                cluster.tick(0.0)
            case 2 | 3 | 4:
                cpu = random.choice(("500m", "1", "2", "3"))
                cluster.put(urgent(f"p{number}", cpu=cpu, priority=random.randrange(10)))
            case 5 if cluster.pods:
                uid = random.choice(sorted(cluster.pods))
                if random.random() < 0.5:
                    cluster.put(changed(cluster.pods[uid], metadata={"deletion_timestamp": GOING_AT}))
                else:
                    cluster.end(uid)
            case 6 | 7 if cluster.asked:
                one = cluster.asked.pop(random.randrange(len(cluster.asked)))
                cluster.answer(one, well=random.random() < 0.8)
            case _:
                cluster.decide()
        core.state.cache.validate()
        assert max(cluster.binds.values(), default=0) <= 1
    for number in range(40):
        cluster.take(core.nodes(make_node(f"spare-{number}"), at=cluster.now))
    cluster.settle()

    waiting = [pod for pod in cluster.pods.values() if not pod.spec.node_name]
    assert [pod.metadata.name for pod in waiting if pod.metadata.deletion_timestamp is None] == []
    assert max(cluster.binds.values()) == 1
    for uid in list(cluster.pods):
        cluster.end(uid)
        cluster.answer_all()
        assert traces(core.state, uid) == []
    assert core.state.queue.counts() == dict.fromkeys(core.state.queue.counts(), 0)
    core.state.cache.validate()
