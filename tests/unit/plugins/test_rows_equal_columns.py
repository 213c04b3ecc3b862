"""Each rule is written once and has the same answer for all rows, for some, and for one, whatever the numbers are."""

from __future__ import annotations

from random import Random

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.api.objects import Pod
from scheduler.cache.node_table import NodeTable
from scheduler.framework.plugin import (
    CycleState,
    FilterPlugin,
    NormalizePlugin,
    Plugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code
from scheduler.plugins.image_locality import ImageLocality
from scheduler.plugins.node_affinity import NodeAffinity, NodeAffinityArgs
from scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from scheduler.plugins.node_name import NodeName
from scheduler.plugins.node_ports import NodePorts
from scheduler.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
    NodeResourcesBalancedAllocationArgs,
)
from scheduler.plugins.node_resources_fit import NodeResourcesFit, NodeResourcesFitArgs
from scheduler.plugins.node_unschedulable import NodeUnschedulable
from scheduler.plugins.taint_toleration import TaintToleration
from tests.support.plugin_runs import ask, table_of
from tests.support.random_cluster import HIGHEST, LOWEST, RESOURCES, random_node, random_pod

ALL_RESOURCES = [{"name": name, "weight": 7 * number + 1} for number, name in enumerate(RESOURCES)]
SHAPE = {"shape": [{"utilization": 0, "score": 10}, {"utilization": 70, "score": 0}, {"utilization": 95, "score": 3}]}


def fit(kind: str, **fields: object) -> NodeResourcesFit:
    strategy = {"type": kind, "resources": ALL_RESOURCES, **fields}
    return NodeResourcesFit(msgspec.convert({"scoringStrategy": strategy}, NodeResourcesFitArgs))


def balanced(count: int) -> NodeResourcesBalancedAllocation:
    resources = [{"name": name} for name in RESOURCES[:count]]
    return NodeResourcesBalancedAllocation(
        msgspec.convert({"resources": resources}, NodeResourcesBalancedAllocationArgs)
    )


ADDED = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
    },
    "preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 3, "preference": {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["7"]}]}}
    ],
}

PLUGINS: tuple[Plugin, ...] = (
    NodeName(),
    NodeUnschedulable(),
    TaintToleration(),
    NodeAffinity(),
    NodeAffinity(msgspec.convert({"addedAffinity": ADDED}, NodeAffinityArgs)),
    NodePorts(),
    NodeResourcesFit(),
    fit("LeastAllocated"),
    fit("MostAllocated"),
    fit("RequestedToCapacityRatio", requestedToCapacityRatio=SHAPE),
    balanced(2),
    balanced(1),
    balanced(4),
    ImageLocality(),
    NodeDeclaredFeatures(),
)


def random_table(random: Random) -> NodeTable:
    signed, count = random.random() < 0.5, random.randint(1, 5)
    nodes = [random_node(random, f"n{number}", signed=signed) for number in range(count)]
    return table_of(
        nodes, [random_pod(random, f"p{number}", f"n{number % count}") for number in range(random.randint(0, 4))]
    )


@settings(max_examples=50)
@given(st.integers(0, 2**32))
def test_rows_equal_columns(seed: int) -> None:
    random = Random(seed)
    table, pod = random_table(random), random_pod(random, node_name=random.choice(("", "n0")))
    info = PodInfo(pod)
    for plugin in PLUGINS:
        if isinstance(plugin, FilterPlugin):
            check_filter(plugin, info, table)
        if isinstance(plugin, ScorePlugin):
            check_score(plugin, info, table)


def check_filter(plugin: FilterPlugin, pod: PodInfo, table: NodeTable) -> None:
    state: CycleState = {}
    if isinstance(plugin, PreFilterPlugin):
        plugin.pre_filter(state, pod, table.columns(plugin))
    reasons = plugin.reasons(state, pod)
    for mask in ask(table, plugin, "filter", state, pod).values():
        assert mask >> len(reasons) == 0
        # Of two bits with one text only one is set, or users would see the text twice.
        texts = [reason.text for number, reason in enumerate(reasons) if mask >> number & 1]
        assert len(texts) == len(set(texts))


def check_score(plugin: ScorePlugin, pod: PodInfo, table: NodeTable) -> None:
    state: CycleState = {}
    if isinstance(plugin, PreScorePlugin) and plugin.pre_score(state, pod, table.columns(plugin)).code is Code.ERROR:
        return
    ask(table, plugin, "score", state, pod)


@given(st.lists(st.integers(LOWEST, HIGHEST) | st.integers(0, 300), min_size=1))
def test_normalised_rows_equal_columns(raw: list[int]) -> None:
    info = PodInfo(Pod())
    for plugin in PLUGINS:
        if isinstance(plugin, NormalizePlugin):
            nodes = NodeTable(seed=0).columns(plugin)
            column = plugin.normalize({}, info, nodes, np.array(raw, dtype=np.int64), min(raw), max(raw))
            rows = [plugin.normalize({}, info, nodes, score, min(raw), max(raw)) for score in raw]
            assert column.tolist() == rows  # type: ignore[union-attr]
