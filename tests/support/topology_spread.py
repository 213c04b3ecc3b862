"""Pods that are to be spread, and what PodTopologySpread says of a few nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from scheduler.api.objects import LabelSelector, Node, Pod, SelectingObject, TopologySpreadConstraint
from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo
from scheduler.plugins.node_affinity import NodeAffinity
from scheduler.plugins.node_unschedulable import NodeUnschedulable
from scheduler.plugins.pod_topology_spread import PodTopologySpread, PodTopologySpreadArgs
from scheduler.plugins.taint_toleration import TaintToleration
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.profile import Profile
from tests.support.builders import HOSTNAME, make_node, make_pod
from tests.support.scripted_plugins import make_profile

ZONE = "topology.kubernetes.io/zone"
WEB = {"app": "web"}
WEBS = LabelSelector(match_labels=WEB)

Status = tuple[str, tuple[str, ...]]
"""The label of a code and the reasons."""

FITS: Status = ("Success", ())
SKEWED: Status = ("Unschedulable", ("node(s) didn't match pod topology spread constraints",))
MISSING: Status = (
    "UnschedulableAndUnresolvable",
    ("node(s) didn't match pod topology spread constraints (missing required label)",),
)


def hard(
    key: str = ZONE, max_skew: int = 1, selector: LabelSelector | None = WEBS, **fields: Any
) -> TopologySpreadConstraint:
    """A DoNotSchedule constraint, by default over zones for pods with app=web."""
    return TopologySpreadConstraint(
        topology_key=key, max_skew=max_skew, when_unsatisfiable="DoNotSchedule", label_selector=selector, **fields
    )


def soft(
    key: str = ZONE, max_skew: int = 1, selector: LabelSelector | None = WEBS, **fields: Any
) -> TopologySpreadConstraint:
    return msgspec.structs.replace(hard(key, max_skew, selector, **fields), when_unsatisfiable="ScheduleAnyway")


def spread(*constraints: TopologySpreadConstraint, labels: Mapping[str, str] | None = WEB, **fields: Any) -> Pod:
    """A pending pod, by default with app=web, with these constraints."""
    return make_pod("subject", labels=labels, topology_spread_constraints=list(constraints) or None, **fields)


def zoned(name: str, zone: str | None, **fields: Any) -> Node:
    """A node in a zone, or in none."""
    labels = {**({} if zone is None else {ZONE: zone}), **fields.pop("labels", {})}
    return make_node(name, labels=labels, **fields)


def hostless(node: Node) -> Node:
    """The node without its hostname label."""
    labels = {key: value for key, value in (node.metadata.labels or {}).items() if key != HOSTNAME}
    return msgspec.structs.replace(node, metadata=msgspec.structs.replace(node.metadata, labels=labels))


def seated(counts: Mapping[str, int], labels: Mapping[str, str] | None = WEB, **fields: Any) -> list[Pod]:
    """So many pods on each node, by default with app=web."""
    prefix = fields.pop("prefix", "there")
    return [
        make_pod(f"{prefix}-{name}-{number}", labels=labels, node_name=name, **fields)
        for name, count in counts.items()
        for number in range(count)
    ]


def with_args(**args: Any) -> PodTopologySpread:
    return PodTopologySpread(msgspec.convert(args, PodTopologySpreadArgs))


def cluster(nodes: Iterable[Node], pods: Iterable[Pod] = (), objects: Iterable[SelectingObject] = ()) -> Cache:
    cache = Cache(seed=1)
    for node in nodes:
        cache.apply_node(node)
    for pod in pods:
        cache.apply_pod(PodInfo(pod))
    for subject in objects:
        cache.apply_selecting_object(subject)
    return cache


def profile_of(plugin: PodTopologySpread | None = None) -> Profile:
    """With the filters that cordons, taints and node affinity need."""
    others = (NodeUnschedulable(), TaintToleration(), NodeAffinity())
    return make_profile(*others, PodTopologySpread() if plugin is None else plugin)


def evaluated(cache: Cache, pod: Pod, plugin: PodTopologySpread | None = None) -> Evaluation:
    evaluation = Evaluation(profile_of(plugin), PodInfo(pod), cache.table)
    evaluation.refresh()
    return evaluation


def verdicts(
    nodes: Iterable[Node], pods: Iterable[Pod], pod: Pod, plugin: PodTopologySpread | None = None, **more: Any
) -> dict[str, Status]:
    """By node, what the filters say."""
    cache = cluster(nodes, pods, **more)
    evaluation = evaluated(cache, pod, plugin)
    found = {}
    for name, row in cache.table.rows.items():
        status = evaluation.status(row)
        found[name] = (status.code.label, status.reasons)
    return found


def scores(
    nodes: Iterable[Node], pods: Iterable[Pod], pod: Pod, plugin: PodTopologySpread | None = None, **more: Any
) -> dict[str, tuple[int, int]] | None:
    """By feasible node, the raw and the final score; None when the plugin skips."""
    cache = cluster(nodes, pods, **more)
    evaluation = evaluated(cache, pod, plugin)
    evaluation.refresh_scores()
    found = {}
    for row in evaluation.feasible_rows():
        score = evaluation.scores(row).get("PodTopologySpread")
        if score is None:
            return None
        found[cache.table.name_of(row)] = (score.raw, score.weighted)
    return found


_X = LabelSelector(match_labels={"app": "x"})
SPREAD_SHAPES: tuple[dict[str, Any], ...] = (
    {"labels": {"app": "x"}},
    {"labels": {"app": "y"}},
    *(
        {"labels": {"app": "x"}, "topology_spread_constraints": constraints}
        for constraints in (
            [soft("zone", 1, _X)],
            [hard("zone", 2, _X)],
            [soft(HOSTNAME, 2, _X), soft("zone", 3, _X)],
            [hard(HOSTNAME, 1, _X, node_taints_policy="Honor")],
            [hard("zone", 1, _X, min_domains=3, node_affinity_policy="Ignore"), soft(HOSTNAME, 1, _X)],
            [soft("zone", 1, LabelSelector(), match_label_keys=["app"])],
        )
    ),
)
"""Fields of pods that are spread over the label zone and over hosts."""
