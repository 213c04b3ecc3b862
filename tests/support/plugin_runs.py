"""One plugin on a few nodes: every answer is asked for all rows, for some and for each, and must be the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from scheduler.api.objects import Node, Pod
from scheduler.cache.cache import Cache
from scheduler.cache.node_table import NodeTable
from scheduler.framework.plugin import (
    CycleState,
    FilterPlugin,
    NormalizePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code

Refusal = tuple[str, tuple[str, ...]]
"""The label of the code and the reasons, as a node's status has them."""

FITS: Refusal = ("Success", ())


def table_of(nodes: Iterable[Node], pods: Iterable[Pod] = ()) -> NodeTable:
    """A table of these nodes and the pods that run on them."""
    cache = Cache(seed=1)
    for node in nodes:
        cache.apply_node(node)
    for pod in pods:
        assert pod.spec.node_name
        cache.apply_pod(PodInfo(pod))
    return cache.table


def ask(table: NodeTable, plugin: Any, method: str, state: CycleState, pod: PodInfo, *more: Any) -> dict[str, int]:
    """The answer for each node by name; rows, subsets and columns agree, or the test fails."""
    names = {row: table.name_of(row) for row in np.flatnonzero(table.live).tolist()}
    function = getattr(plugin, method)
    column = function(state, pod, table.columns(plugin))
    assert isinstance(column, np.ndarray)
    assert column.shape == (table.size,)
    assert column.dtype == (np.uint64 if method == "filter" else np.int64)
    rows = np.array(sorted(names), dtype=np.int64)
    some = function(state, pod, table.columns(plugin, rows))
    assert some.tolist() == column[rows].tolist()
    answers = {}
    for row, name in names.items():
        answer = function(state, pod, table.row(plugin, row))
        assert type(answer) is int
        assert answer == int(column[row]), f"{plugin.name}.{method} on {name}: row {answer}, column {column[row]}"
        answers[name] = answer
    return answers


def judge(plugin: FilterPlugin, pod: Pod, table: NodeTable) -> dict[str, Refusal]:
    """What the plugin's PreFilter and Filter say about each node."""
    info = PodInfo(pod)
    state: CycleState = {}
    if isinstance(plugin, PreFilterPlugin):
        status = plugin.pre_filter(state, info, table.columns(plugin)).status
        assert status.code is Code.SUCCESS, status
    reasons = plugin.reasons(state, info)
    assert 0 < len(reasons) <= 64
    answers = {}
    for name, mask in ask(table, plugin, "filter", state, info).items():
        given = [reason for number, reason in enumerate(reasons) if mask >> number & 1]
        assert mask >> len(reasons) == 0
        code = max((reason.code for reason in given), default=Code.SUCCESS)
        answers[name] = (code.label, tuple(reason.text for reason in given))
    return answers


def raw_scores(plugin: ScorePlugin, pod: Pod, table: NodeTable) -> dict[str, int]:
    """What the plugin's PreScore and Score give each node, before normalisation."""
    info = PodInfo(pod)
    state: CycleState = {}
    if isinstance(plugin, PreScorePlugin):
        status = plugin.pre_score(state, info, table.columns(plugin))
        assert status.code is Code.SUCCESS, status
    return ask(table, plugin, "score", state, info)


def final_scores(plugin: NormalizePlugin, pod: Pod, table: NodeTable) -> dict[str, int]:
    """Scores after normalisation over all nodes."""
    raw = raw_scores(plugin, pod, table)
    return normalized(plugin, raw)


def normalized(plugin: NormalizePlugin, raw: Mapping[str, int]) -> dict[str, int]:
    info = PodInfo(Pod())
    low, high = min(raw.values()), max(raw.values())
    nodes = NodeTable(seed=0).columns(plugin)
    column = plugin.normalize({}, info, nodes, np.array(list(raw.values()), dtype=np.int64), low, high)
    rows = [int(plugin.normalize({}, info, nodes, score, low, high)) for score in raw.values()]
    assert column.tolist() == rows  # type: ignore[union-attr]
    return dict(zip(raw, rows, strict=True))
