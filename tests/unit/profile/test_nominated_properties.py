"""A trial in the table against a cluster that really has the nominated pods there, with all default plugins and random pods.

A plugin that has nothing to say without the nominated pods has nothing to say with them either, so it is left out there.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from functools import cache as once
from random import Random
from typing import Any

import msgspec

from scheduler.api.objects import Affinity, ContainerPort, Pod, TopologySpreadConstraint
from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code, Status
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.nominated import refusals
from scheduler.profile.profile import Profile
from tests.support.builders import make_container, make_node, make_pod
from tests.support.core_run import default_profiles

STORIES = 250
ZONE, HOSTNAME = "zone", "kubernetes.io/hostname"
NODES = {"n0": "a", "n1": "a", "n2": "b", "n3": "b", "n4": "c"}
Nominated = dict[str, list[PodInfo]]


@once
def default_profile() -> Profile:
    (profile,) = default_profiles().values()
    return profile


def term(random: Random) -> dict[str, Any]:
    selector = {"matchLabels": {"app": random.choice("xy")}}
    return {"topologyKey": random.choice((ZONE, HOSTNAME)), "labelSelector": selector}


def random_rules(random: Random) -> Affinity | None:
    rules: dict[str, Any] = {}
    if random.random() < 0.35:
        rules["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [term(random)]}
    if random.random() < 0.2:
        rules["podAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [term(random)]}
    return msgspec.convert(rules, Affinity) if rules else None


def random_pod(random: Random, name: str) -> Pod:
    constraints = [
        {
            "maxSkew": random.choice((1, 2)),
            "topologyKey": random.choice((ZONE, HOSTNAME)),
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": random.choice("xy")}},
        }
        for _ in range(random.choice((0, 0, 1)))
    ]
    ports = [ContainerPort(host_port=80)] if random.random() < 0.2 else []
    return make_pod(
        name,
        labels={"app": random.choice("xyz")},
        containers=[make_container(requests={"cpu": random.choice(("0", "1", "2"))}, ports=ports)],
        affinity=random_rules(random),
        topology_spread_constraints=msgspec.convert(constraints, list[TopologySpreadConstraint]) or None,
    )


class Cluster:
    """Five nodes in three zones, some pods on them, one to be decided on, and pods nominated to some of the nodes."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.placed = [
            (PodInfo(random_pod(random, f"placed-{number}")), random.choice(list(NODES)))
            for number in range(random.randint(0, 6))
        ]
        self.pod = PodInfo(random_pod(random, "pod"))
        self.nominated: Nominated = {
            node: [PodInfo(random_pod(random, f"ahead-{node}-{number}")) for number in range(random.randint(1, 2))]
            for node in random.sample(list(NODES), random.randint(1, 3))
        }

    def cache(self, **seated: list[PodInfo]) -> Cache:
        cache = Cache(seed=1)
        for name, zone in NODES.items():
            cache.apply_node(make_node(name, labels={ZONE: zone, HOSTNAME: name}))
        for pod, node in self.placed:
            cache.assume(pod, node)
        for node, pods in seated.items():
            for pod in pods:
                cache.assume(pod, node)
        return cache

    def verdict(self, profile: Profile, cache: Cache, node: str) -> Status:
        evaluation = Evaluation(profile, self.pod, cache.table)
        evaluation.refresh()
        row = cache.table.row_of(node)
        assert row is not None
        return evaluation.status(row)


def without_skipped(profile: Profile, pod: PodInfo, cache: Cache) -> Profile:
    """The profile without the plugins that PreFilter switches off for the pod as the cluster is."""
    skipped = {
        plugin.name
        for plugin in profile.pre_filter
        if plugin.pre_filter({}, pod, cache.table.columns(plugin)).status.code is Code.SKIP
    }
    return dataclasses.replace(
        profile,
        pre_filter=tuple(plugin for plugin in profile.pre_filter if plugin.name not in skipped),
        filter=tuple(plugin for plugin in profile.filter if plugin.name not in skipped),
    )


def told(status: Status) -> tuple[str, int, tuple[str, ...]]:
    return status.plugin, int(status.code), status.reasons


def test_a_trial_says_what_a_cluster_says_that_has_the_pods_there() -> None:
    reached: Counter[str] = Counter()
    profile = default_profile()
    for seed in range(STORIES):
        cluster = Cluster(seed)
        cache = cluster.cache()
        evaluation = Evaluation(profile, cluster.pod, cache.table)
        evaluation.refresh()
        found = refusals(evaluation, cache, cluster.nominated)
        cache.validate()
        fresh = Evaluation(profile, cluster.pod, cache.table)
        fresh.refresh()
        assert evaluation.difference(fresh, evaluation.select(), fresh.select()) == "", seed

        heard = without_skipped(profile, cluster.pod, cache)
        for node, ahead in cluster.nominated.items():
            seated = cluster.cache(**{node: ahead})
            expected = cluster.verdict(heard, seated, node)
            row = cache.table.row_of(node)
            assert row is not None
            assert told(found.get(row, Status())) == told(expected), (seed, node)
            reached[expected.plugin or "fits"] += 1
            reached["skipped"] += expected.plugin != cluster.verdict(profile, seated, node).plugin
            reached["only beside them"] += bool(expected.plugin) and evaluation.status(row).code is Code.SUCCESS

    wanted = (
        "fits",
        "NodeResourcesFit",
        "NodePorts",
        "PodTopologySpread",
        "InterPodAffinity",
        "skipped",
        "only beside them",
    )
    assert {name: reached[name] for name in wanted if reached[name] < 10} == {}
