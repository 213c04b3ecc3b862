"""Who has to go from many nodes at once, against each node tried by itself with pods moved in the table.

Expected: kube-scheduler 1.37, SelectVictimsOnNode; the trial of one node is held to it in test_trial.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest

from scheduler.api.objects import ContainerPort, Pod, PodStatus, Volume
from scheduler.api.volume_sources import AWSElasticBlockStoreVolumeSource
from scheduler.cache.cache import Cache, CachedPod
from scheduler.cache.summed_view import SUMMED
from scheduler.cache.views import NEEDS, summed_view_of
from scheduler.framework import ops
from scheduler.framework.disruption import Budget
from scheduler.framework.facet import Facet
from scheduler.framework.ops import Masks
from scheduler.framework.plugin import CycleState, PreFilterPlugin, PreFilterResult
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.post_filter import NodePods, Room
from scheduler.framework.status import SUCCESS, Code, Reason, Status
from scheduler.framework.view import NodeView
from scheduler.plugins.default_preemption.victims import Reprieve
from scheduler.plugins.node_ports import NodePorts
from scheduler.plugins.node_resources_fit import NodeResourcesFit
from scheduler.plugins.volume_restrictions import VolumeRestrictions
from scheduler.profile import making_room, summed_trial
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.making_room import make_room, room_on
from scheduler.profile.profile import Profile
from scheduler.profile.trial_filters import TrialFilters
from tests.support.builders import make_container, make_node, make_pod
from tests.support.core_run import changed, default_profiles
from tests.support.preemption import make_budget
from tests.support.scripted_plugins import Filter, make_profile, named, rejected
from tests.unit.profile.test_nominated_properties import HOSTNAME, NODES, ZONE, random_pod
from tests.unit.profile.test_trial import evaluated, info

STORIES = 80
NOW = 2_000_000_000.0
PRIORITY = 5
"""Of the pod that needs room; those that are there have 0 to 5."""
GPU = "example.com/gpu"
IPS = ("", "127.0.0.1", "127.0.0.2")


def plain_pod(random: Random, name: str) -> Pod:
    """One that takes resources and ports, and has no rules about others."""
    ports = [
        ContainerPort(
            host_port=random.choice((80, 81)), host_ip=random.choice(IPS), protocol=random.choice(("TCP", "UDP"))
        )
        for _ in range(random.choice((0, 0, 1, 2)))
    ]
    requests = {
        "cpu": random.choice(("0", "500m", "1")),
        "memory": random.choice(("0", "2Gi")),
        GPU: random.choice("001"),
    }
    labels = {"app": random.choice("xyz")} if random.random() < 0.9 else {}
    return make_pod(name, labels=labels, containers=[make_container(requests=requests, ports=ports)])


class Cluster:
    """Nodes that differ in what they have, pods of several priorities on them, and some that are nominated there."""

    def __init__(self, random: Random, *, is_plain: bool) -> None:
        pod_of = plain_pod if is_plain else random_pod
        self.cache = Cache(seed=1)
        for name, zone in NODES.items():
            amounts = {"cpu": random.choice("246"), GPU: random.choice("012"), "pods": random.choice(("3", "5", "110"))}
            labels = {ZONE: zone, HOSTNAME: name}
            self.cache.apply_node(make_node(name, labels=labels, allocatable=amounts))
        for number in range(random.randint(5, 35)):
            drawn = pod_of(random, f"placed-{number}")
            placed = changed(drawn, node_name=random.choice(list(NODES)), priority=random.randint(0, PRIORITY))
            start = random.choice((None, f"2026-01-0{random.randint(1, 3)}T00:00:00Z"))
            status = PodStatus(phase="Running", start_time=start)
            self.cache.apply_pod(PodInfo(msgspec.structs.replace(placed, status=status)))
        self.pod = PodInfo(changed(pod_of(random, "pod"), priority=PRIORITY))
        self.ahead = {
            node: [PodInfo(pod_of(random, f"ahead-{node}-{number}")) for number in range(random.randint(1, 2))]
            for node in random.sample(list(NODES), random.choice((0, 0, 2)))
        }
        self.budgets = {
            "default": [
                Budget(
                    make_budget(f"budget-{number}", allowed=random.randint(0, 2), labels={"app": random.choice("xyz")})
                )
                for number in range(random.choice((0, 2)))
            ]
        }

    def nodes(self) -> list[NodePods]:
        with_pods = [NodePods(name, self.cache.pods_below(name, PRIORITY)) for name in NODES]
        return [node for node in with_pods if node.pods]

    def filters(self, profile: Profile) -> TrialFilters:
        return evaluated(profile, self.pod, self.cache).trial_filters()

    def together(self, profile: Profile) -> list[Room]:
        order = Reprieve(self.budgets, NOW).order
        return list(make_room(self.filters(profile), self.cache, self.nodes(), self.ahead, order))

    def one_by_one(self, profile: Profile) -> list[Room]:
        # Each as if it were the only one: what is put back is behind the others of its node.
        filters, order = self.filters(profile), Reprieve(self.budgets, NOW).order
        return [room_on(filters, self.cache, node, self.ahead.get(node.node_name, ()), order) for node in self.nodes()]


def named_pods(rooms: Sequence[Room]) -> list[tuple[list[str], Status]]:
    return [([pod.uid for pod in room.pods], room.status) for room in rooms]


@pytest.mark.parametrize("is_plain", [True, False])
def test_the_same_pods_have_to_go_whether_nodes_are_tried_together_or_one_by_one(
    monkeypatch: pytest.MonkeyPatch, is_plain: bool
) -> None:
    """Together where only sums count, also for some of the nodes; and with rules about other pods one by one anyway."""
    (profile,) = default_profiles().values()
    seen: Counter[str] = Counter()

    class Noting(summed_trial.SummedTrial):
        def __init__(self, *arguments: Any) -> None:
            seen["together"] += 1
            super().__init__(*arguments)

    monkeypatch.setattr(making_room, "SummedTrial", Noting)
    for seed in range(STORIES):
        cluster = Cluster(Random(seed), is_plain=is_plain)
        before = list(cluster.cache.pods())
        rooms = cluster.together(profile)
        if is_plain and len(cluster.nodes()) > making_room.FEW_NODES:
            assert list(cluster.cache.pods()) == before, seed

        # A pod that is put back comes behind those that are as important: the other way begins from the same order.
        other = Cluster(Random(seed), is_plain=is_plain)
        assert named_pods(rooms) == named_pods(other.one_by_one(profile)), seed
        for room in rooms:
            seen[room.status.plugin or f"{min(len(room.pods), 2)} victims"] += 1
    assert seen.keys() >= {"together", "0 victims", "1 victims", "2 victims", "NodeResourcesFit"}
    if not is_plain:
        assert seen.keys() >= {"InterPodAffinity", "PodTopologySpread"}
        assert seen["together"] < STORIES / 2


SUM_ACCESSORS = sorted(name for name, need in NEEDS.items() if isinstance(need, Facet) and need & SUMMED)
ARGUMENTS: dict[str, Sequence[tuple[Any, ...]]] = {
    **{name: [("cpu",), ("memory",), (GPU,)] for name in ("allocatable", "requested", "usage")},
    **{name: [("cpu",), ("memory",)] for name in ("non_zero_requested", "non_zero_usage")},
    "port_conflicts": [(ip, protocol, port) for ip in IPS for protocol in ("TCP", "UDP") for port in (80, 81)],
}


@pytest.mark.parametrize("accessor", SUM_ACCESSORS)
def test_with_other_sums_a_view_shows_what_it_would_show_of_a_table_without_the_pods(accessor: str) -> None:
    for seed in range(40):
        cluster = Cluster(Random(seed), is_plain=True)
        table, nodes = cluster.cache.table, cluster.nodes()
        rows = np.array([table.rows[node.node_name] for node in nodes], np.int64)
        kinds = summed_trial._Kinds()
        nobody = kinds.matrix([[] for _ in nodes])
        sums = summed_trial._Sums(kinds, kinds.matrix([node.pods for node in nodes]), nobody)
        view = summed_view_of(_Both)(table, rows, sums)
        shown = [_read(view, accessor, arguments) for arguments in ARGUMENTS.get(accessor, [()])]
        for node in nodes:
            for pod in node.pods:
                cluster.cache.take_out(pod.uid)
        plain = table.columns(_Both, rows)
        expected = [_read(plain, accessor, arguments) for arguments in ARGUMENTS.get(accessor, [()])]
        assert shown == expected, seed


def test_a_sum_that_is_asked_for_late_knows_what_is_back_by_then() -> None:
    pods = [[info("a", "1"), info("b", "2")]]
    kinds = summed_trial._Kinds()
    sums = summed_trial._Sums(kinds, kinds.matrix(pods), kinds.matrix([[]]))
    sums.put_back(0)
    sums.settle(np.array([True]))
    sums.put_back(1)

    assert sums.requested("cpu").tolist() == [0]
    sums.settle(np.array([False]))
    assert sums.requested("cpu").tolist() == [-2000]


class _Both(Filter):
    name = "Both"
    facets = Facet.RESOURCES | Facet.PORTS


def _read(view: object, accessor: str, arguments: tuple[Any, ...]) -> list[Any]:
    found = getattr(view, accessor)
    answer = found(*arguments) if callable(found) else found
    return [column.tolist() for column in answer] if isinstance(answer, tuple) else answer.tolist()


def three_full_nodes() -> Cache:
    """n1 to n3 with 4 CPUs, of which two pods each take 2."""
    cache = Cache(seed=1)
    for name in ("n1", "n2", "n3"):
        cache.apply_node(make_node(name))
        for pod in ("a", "b"):
            cache.apply_pod(info(f"{pod}-{name}", "2", node_name=name))
    return cache


def rooms_of(profile: Profile, cache: Cache, pod: PodInfo, **ahead: list[PodInfo]) -> dict[str, list[str] | Status]:
    nodes = [NodePods(name, cache.pods_below(name, 1)) for name in ("n1", "n2", "n3")]
    found = make_room(evaluated(profile, pod, cache).trial_filters(), cache, nodes, ahead, list)
    return {
        node.node_name: room.status if room.status != SUCCESS else [pod.pod.metadata.name for pod in room.pods]
        for node, room in zip(nodes, found, strict=True)
    }


def test_pods_are_put_back_in_order_for_as_long_as_the_pod_fits() -> None:
    rooms = rooms_of(make_profile(NodeResourcesFit()), three_full_nodes(), info("p", "2"))

    assert rooms == {"n1": ["b-n1"], "n2": ["b-n2"], "n3": ["b-n3"]}


def test_nominated_pods_have_to_have_room_too() -> None:
    rooms = rooms_of(make_profile(NodeResourcesFit()), three_full_nodes(), info("p", "2"), n2=[info("ahead", "1")])

    assert rooms == {"n1": ["b-n1"], "n2": ["a-n2", "b-n2"], "n3": ["b-n3"]}


def test_what_only_nominated_pods_bring_is_looked_at_as_well() -> None:
    disk = Volume(name="disk", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="vol-1"))
    profile = make_profile(VolumeRestrictions(), NodeResourcesFit())
    rooms = rooms_of(
        profile, three_full_nodes(), info("p", "2", volumes=[disk]), n2=[info("ahead", "1", volumes=[disk])]
    )

    taken = Status(Code.UNSCHEDULABLE, ("node(s) had no available disk",), "VolumeRestrictions")
    assert rooms == {"n1": ["b-n1"], "n2": taken, "n3": ["b-n3"]}


def test_the_node_has_to_take_the_pod_without_the_nominated_ones_as_well() -> None:
    """Such a rule is rare: this one wants a node to have a pod already."""
    rooms = rooms_of(make_profile(InCompany()), three_full_nodes(), info("p"), n2=[info("ahead")])

    alone = Status(Code.UNSCHEDULABLE, ("alone",), "InCompany")
    assert rooms == {"n1": alone, "n2": alone, "n3": alone}


class InCompany(Filter):
    """Refuses nodes without pods."""

    name = "InCompany"
    facets = Facet.RESOURCES
    reason = Reason("alone", Code.UNSCHEDULABLE)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        return ops.bit(nodes.pod_count < 1, 0)


def test_a_nominated_pod_that_is_on_a_node_by_now_is_not_counted_twice() -> None:
    cache = three_full_nodes()
    cache.apply_node(make_node("n4"))
    ahead = info("ahead", "3")
    cache.assume(ahead, "n4")

    rooms = rooms_of(make_profile(NodeResourcesFit()), cache, info("p", "2"), n2=[ahead])
    assert rooms["n2"] == ["b-n2"]


def test_a_node_says_by_itself_why_it_would_not_help() -> None:
    never = named(Filter, "Never", refuses=("n2",), reason=Reason("never", Code.UNSCHEDULABLE_AND_UNRESOLVABLE))
    cache = three_full_nodes()
    cache.apply_pod(info("c-n3", "1", node_name="n3", priority=9))

    rooms = rooms_of(make_profile(never, NodeResourcesFit()), cache, info("p", "4"))
    assert rooms == {
        "n1": ["a-n1", "b-n1"],
        "n2": Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("never",), "Never"),
        "n3": Status(Code.UNSCHEDULABLE, ("Insufficient cpu",), "NodeResourcesFit"),
    }


def test_a_failure_is_that_of_the_node_on_which_it_is_reached() -> None:
    failing = named(Filter, "Failing", refuses=("n2",), reason=Reason("boom", Code.ERROR))
    profile = make_profile(NodeResourcesFit(), failing)
    cache = three_full_nodes()
    evaluation = Evaluation(profile, info("p", "2"), cache.table)
    nodes = [NodePods(name, cache.pods_below(name, 1)) for name in ("n1", "n2", "n3")]

    rooms = list(make_room(evaluation.trial_filters(), cache, nodes, {}, list))
    assert [room.status.code is Code.ERROR for room in rooms] == [False, True, False]
    assert rooms[1].status == Status(Code.ERROR, ('running "Failing" filter plugin: boom',), "Failing")


class Crowded(PreFilterPlugin, Filter):
    """Takes no pod while there are more than four in the cluster."""

    name = "Crowded"
    facets = Facet.RESOURCES

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        return PreFilterResult(rejected("crowded") if np.sum(nodes.pod_count) > 4 else SUCCESS)


def test_where_prefilter_refuses_for_now_it_is_asked_again_without_the_pods_of_each_node() -> None:
    rooms = rooms_of(make_profile(Crowded(), NodeResourcesFit()), three_full_nodes(), info("p", "2"))

    assert rooms == {"n1": ["a-n1", "b-n1"], "n2": ["a-n2", "b-n2"], "n3": ["a-n3", "b-n3"]}


def test_pods_without_ports_do_not_free_one() -> None:
    cache = three_full_nodes()
    port = [make_container(requests={"cpu": "0"}, ports=[ContainerPort(host_port=80)])]
    cache.apply_pod(PodInfo(make_pod("holder", containers=port, node_name="n3", priority=9)))
    pod = PodInfo(make_pod("p", containers=port))

    rooms = rooms_of(make_profile(NodePorts()), cache, pod)
    assert rooms["n1"] == []
    assert isinstance(rooms["n3"], Status)


def test_what_is_not_taken_of_the_answers_is_not_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making_room, "FEW_NODES", 3)
    cache = three_full_nodes()
    asked: set[str] = set()
    take_out = cache.take_out

    def noted(uid: str) -> CachedPod:
        known = take_out(uid)
        asked.add(known.node_name)
        return known

    monkeypatch.setattr(cache, "take_out", noted)
    nodes = [NodePods(name, cache.pods_below(name, 1)) for name in ("n1", "n2", "n3")]
    filters = evaluated(make_profile(NodeResourcesFit()), info("p", "2"), cache).trial_filters()

    next(iter(make_room(filters, cache, nodes, {}, list)))
    assert asked == {"n1"}
