"""What went wrong in kube-scheduler's opportunistic batching, in the field or in review, and what happens here.

Each test names the thread or the code of kube-scheduler 1.37 that it comes from.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from scheduler.api.objects import ContainerPort, Pod, PodSchedulingGate, PodStatus, Taint
from scheduler.batch.options import BatchOptions
from scheduler.framework import ops
from scheduler.framework.facet import Facet
from scheduler.framework.ops import Ints, Masks
from scheduler.framework.plugin import CycleState, NormalizePlugin, SignPlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.view import NodeView
from scheduler.plugins.image_locality import ImageLocality
from scheduler.plugins.node_resources_fit import NodeResourcesFit
from scheduler.plugins.taint_toleration import TaintToleration
from tests.support.builders import make_container, make_node, make_pod
from tests.support.core_run import Core, on_node
from tests.support.scripted_plugins import make_profile
from tests.support.signed_plugins import FOREVER, SignedFilter, SignedScore, batch_of
from tests.support.small_cluster import small_node, small_pod

HALF_A_SECOND = BatchOptions(max_age_seconds=0.5, verify_fraction=0.0)


def run(nodes: int, batching: BatchOptions = FOREVER, **allocatable: str) -> Core:
    core = Core(batching=batching)
    core.nodes(*(make_node(f"n{number}", allocatable=allocatable) for number in range(nodes)))
    return core


def pods(count: int, prefix: str = "p", **fields: Any) -> list[Pod]:
    return [make_pod(f"{prefix}{number}", **fields) for number in range(count)]


class Counting(SignedFilter):
    """Counts the rows that it is asked about."""

    name = "Counting"
    facets = Facet.RESOURCES | Facet.LABELS

    def __init__(self) -> None:
        self.asked: list[int] = []

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        self.asked.append(len(nodes))
        return ops.bit(nodes.pod_count < 0, 0)


# B1: kubernetes/kubernetes#137707: a node that takes several pods flushed the cache in each cycle and was filtered twice.


def test_100_pods_on_50_nodes_that_take_several_each_are_99_hits() -> None:
    core = run(50)
    core.pods(*pods(100, requests={"cpu": "100m", "memory": "100Mi"}))
    results = [core.decide() for _ in range(100)]

    assert batch_of(core) == {"no_hint": 1, "hint_used": 99}
    # As without a cache: pods spread by the room that is left.
    assert set(Counter(result.node_name for result in results).values()) == {2}


def test_the_last_node_is_filtered_once_a_cycle_and_no_other_is() -> None:
    counting = Counting()
    core = Core([make_profile(counting)], batching=FOREVER)
    core.nodes(*(make_node(f"n{number}") for number in range(50)))
    core.pods(*pods(10))
    for _ in range(10):
        core.decide()

    assert counting.asked == [50, *[1] * 9]


# B2: kubernetes/kubernetes#137707: the order of the nodes that are left was taken for one that does not change.


class Relative(NormalizePlugin, SignPlugin):
    """As far as the node is above the worst one, in percent of the distance to the best one."""

    name = "Relative"
    facets = Facet.RESOURCES

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        return nodes.allocatable("memory")

    def normalize(self, state: CycleState, pod: PodInfo, nodes: NodeView, scores: Ints, low: int, high: int) -> Ints:
        final: Ints = ops.div_trunc(ops.mul(ops.sub(scores, low), 100), max(high - low, 1))
        return final

    def sign(self, pod: PodInfo) -> tuple[Any, ...]:
        return ()


def test_when_the_best_node_is_full_the_order_of_the_others_is_worked_out_again() -> None:
    """n0 to n3 have 0, 40, 100 and 20+30. Without n2, which takes one pod, 0, 100, - and 50+30: not n3 but n1."""
    score = SignedScore()
    score.by_name = {"n3": 30}
    core = Core(
        [make_profile(NodeResourcesFit(), Relative(), score, weights={"NodeResourcesFit": 0})], batching=FOREVER
    )
    memory = (10, 50, 110, 30)
    core.nodes(
        *(
            make_node(f"n{number}", allocatable={"memory": f"{units}Gi", "pods": "1" if number == 2 else "110"})
            for number, units in enumerate(memory)
        )
    )
    core.pods(*pods(2))

    assert [(one.batch, one.node_name) for one in (core.decide(), core.decide())] == [
        ("no_hint", "n2"),
        ("hint_used", "n1"),
    ]


# B3: kubernetes/enhancements#6039: a cached node changes while it is cached.


def two_nodes(favour: int = 0) -> Core:
    """n1 is better by its image, and n0 by ``favour`` points."""
    score = SignedScore()
    score.by_name = {"n0": favour}
    core = Core([make_profile(TaintToleration(), ImageLocality(), score)], batching=FOREVER)
    core.nodes(make_node("n0"), make_node("n1", images={"app:1": 1000 * 2**20}))
    core.pods(*pods(3, containers=[make_container(image="app:1", requests={"cpu": "1"})]))
    assert [core.decide().node_name for _ in range(2)] == ["n1", "n1"]
    return core


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute", "PreferNoSchedule"])
def test_a_taint_on_a_cached_node_counts_for_the_next_pod(effect: str) -> None:
    """Hard: never there. Soft: 100 - 100 and 48 for the image, against 100."""
    core = two_nodes()
    core.nodes(make_node("n1", images={"app:1": 1000 * 2**20}, taints=[Taint(key="k", effect=effect)]))
    result = core.decide()

    assert (result.batch, result.node_name) == ("hint_used", "n0")


def test_an_image_that_is_gone_from_a_cached_node_counts_no_more_for_the_next_pod() -> None:
    core = two_nodes(favour=40)
    core.nodes(make_node("n1"))
    result = core.decide()

    assert (result.batch, result.node_name) == ("hint_used", "n0")


def test_room_that_a_pod_leaves_on_a_cached_node_is_there_for_the_next_pod() -> None:
    core = run(2, cpu="2")
    seated = on_node(make_pod("seated", requests={"cpu": "2"}), "n0")
    core.pods(seated, *pods(3, requests={"cpu": "1"}))
    assert [core.decide().node_name for _ in range(2)] == ["n1", "n1"]
    core.pod_gone(seated)
    result = core.decide()

    assert (result.batch, result.node_name) == ("hint_used", "n0")


# B5: kubernetes/kubernetes#138084: a nominated pod used up what was cached for others.


def test_a_nominated_pod_between_two_of_a_shape_goes_to_its_node_and_leaves_their_entry() -> None:
    core = run(3)
    core.pods(*pods(2))
    first = core.decide()
    core.pods(make_pod("preemptor", priority=1, status=PodStatus(nominated_node_name="n2")))
    nominated, second = core.decide(), core.decide()

    assert (nominated.batch, nominated.node_name) == ("pod_nominated", "n2")
    assert (first.batch, second.batch) == ("no_hint", "hint_used")
    assert batch_of(core) == {"no_hint": 1, "hint_used": 1, "bypassed": {"pod_nominated": 1}}


# B6: reports on a test of three pods that follow each other slowly.


def test_a_pod_is_on_its_node_for_the_next_one_before_it_is_bound() -> None:
    core = run(3, pods="1")
    core.pods(*pods(3))
    results = [core.decide(0.1 * number) for number in range(3)]

    assert {result.node_name for result in results} == {"n0", "n1", "n2"}
    assert [result.batch for result in results] == ["no_hint", "hint_used", "hint_used"]


def test_an_entry_ages_from_its_full_evaluation_and_not_from_its_last_use() -> None:
    core = run(3, HALF_A_SECOND)
    core.pods(*pods(4))

    assert [core.decide(at).batch for at in (0.0, 0.3, 0.6, 0.9)] == ["no_hint", "hint_used", "no_hint", "hint_used"]
    assert batch_of(core)["flushed"] == {"expired": 1}


# B7: KAI-Scheduler#1152: signatures in which a number was cut to its lowest byte.


def test_host_ports_that_differ_by_256_are_different() -> None:
    core = run(1)
    ports = (8080, 8080 + 256, 8080)
    core.pods(*(make_pod(f"p{at}", containers=[_with_port(port)]) for at, port in enumerate(ports)))
    results = [core.decide() for _ in ports]

    assert [(result.batch, result.outcome) for result in results] == [
        ("no_hint", "assumed"),
        ("no_hint", "assumed"),
        ("fit_error", "unschedulable"),
    ]


def _with_port(port: int) -> Any:
    return make_container(requests={"cpu": "1m"}, ports=[ContainerPort(host_port=port)])


def test_priorities_that_differ_by_256_leave_room_for_different_pods() -> None:
    """They share an entry, and not what nominated pods make of it."""
    core = run(1)
    status = PodStatus(nominated_node_name="n0")
    gates = [PodSchedulingGate(name="g")]
    core.pods(make_pod("ahead", priority=100, requests={"cpu": "4"}, scheduling_gates=gates, status=status))
    core.pods(make_pod("high", priority=300), make_pod("low", priority=300 - 256))
    high, low = core.decide(), core.decide()

    assert (high.pod, high.outcome, high.batch) == ("default/high", "assumed", "no_hint")
    assert (low.pod, low.outcome, low.batch) == ("default/low", "unschedulable", "fit_error")


# B8: the test plan of KEP-5598: decisions with batching and without it are the same.


@pytest.mark.parametrize("seed", range(5))
def test_decisions_with_and_without_the_cache_are_the_same(seed: int) -> None:
    random = Random(seed)
    nodes = [small_node(random, f"n{number}") for number in range(8)]
    shapes = [random.randrange(2**32) for _ in range(4)]
    stream = [small_pod(Random(random.choice(shapes)), f"p{number}") for number in range(60)]
    found = []
    for batching in (FOREVER, BatchOptions(enabled=False)):
        core = Core(batching=batching)
        core.nodes(*nodes)
        core.pods(*stream)
        results = [core.decide() for _ in stream]
        found.append([(result.pod, result.outcome, result.node_name, result.message) for result in results])
        if batching is FOREVER:
            assert core.state.batching.counters.hit_ratio() > 0.25

    assert found[0] == found[1]


# B9: the equivalence cache of 2018 was given up: an event cost work for each entry and plugin, and each plugin was coupled to it.


def test_an_event_costs_nothing_until_the_entry_is_used_and_then_one_row() -> None:
    counting = Counting()
    core = Core([make_profile(counting)], batching=FOREVER)
    core.nodes(*(make_node(f"n{number}") for number in range(50)))
    core.pods(*pods(3))
    core.decide()
    chosen = core.decide().node_name
    before = list(counting.asked)
    other = "n0" if chosen != "n0" else "n1"
    for beat in range(100):
        core.nodes(make_node(other, labels={"beat": str(beat)}))
    assert counting.asked == before
    core.decide()

    # The node of the last decision, and the one with the labels.
    assert counting.asked[len(before) :] == [1, 1]


# B10: kube-scheduler 1.37 keeps nothing when one node fits.


def test_ten_pods_on_a_cluster_of_one_node_are_nine_hits() -> None:
    core = run(1)
    core.pods(*pods(10))

    assert [core.decide().batch for _ in range(10)] == ["no_hint", *["hint_used"] * 9]


# B11: kube-scheduler 1.37: a pod that failed shows as one that was skipped, and ends the batch.


def test_an_unschedulable_pod_between_two_of_a_shape_leaves_their_entry_and_has_its_own() -> None:
    core = run(2)
    core.pods(*(make_pod(f"p{number}", requests={"cpu": "9" if number % 2 else "1m"}) for number in range(6)))
    results = [core.decide() for _ in range(6)]

    assert [result.batch for result in results] == ["no_hint", "no_hint", *["hint_used", "fit_error"] * 2]
    assert batch_of(core) == {"no_hint": 2, "hint_used": 2, "fit_error": 2}


# B12: kube-scheduler 1.37 counts flushes of what it keeps.


@pytest.mark.parametrize(("kept", "hits", "evicted"), [(1, 0, 7), (2, 6, 0)])
def test_two_shapes_in_turn_count_what_is_really_dropped(kept: int, hits: int, evicted: int) -> None:
    core = run(2, BatchOptions(max_signatures=kept, max_age_seconds=0.0, verify_fraction=0.0))
    core.pods(*(make_pod(f"p{number}", requests={"cpu": f"{1 + number % 2}m"}) for number in range(8)))
    for _ in range(8):
        core.decide()
    counters = core.state.batching.counters

    assert batch_of(core).get("hint_used", 0) == hits
    assert batch_of(core).get("flushed", {}) == ({"evicted": evicted} if evicted else {})
    assert counters.flushes.total() == sum(counters.attempts.values()) - hits - len(core.state.batching.entries)
