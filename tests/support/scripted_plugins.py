"""Plugins that answer what a test tells them to, and count how often they are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from scheduler.framework import ops
from scheduler.framework.cluster_event import ClusterEvent
from scheduler.framework.facet import Facet, Input
from scheduler.framework.ops import Ints, Masks
from scheduler.framework.plugin import (
    CycleState,
    EnqueueExtensions,
    FilterPlugin,
    NormalizePlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
)
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SKIP, SUCCESS, Code, Reason, Status
from scheduler.framework.view import NodeView
from scheduler.plugins.priority_sort import PrioritySort
from scheduler.profile.profile import Profile, WeightedScore


def named(kind: type[Any], name: str, **attributes: Any) -> Any:
    """A plugin of this kind under a name of its own; class attributes by name."""
    return type(name, (kind,), {"name": name, **attributes})()


def rejected(*reasons: str, code: Code = Code.UNSCHEDULABLE) -> Status:
    return Status(code, reasons)


class PreFilter(PreFilterPlugin):
    """Answers ``result``, or raises it."""

    name = "PreFilter"
    result: PreFilterResult | Exception = PreFilterResult()

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


class Filter(FilterPlugin):
    """Refuses the named nodes for the one reason; ``error`` is raised instead of any answer."""

    name = "Filter"
    facets = Facet.NAME
    refuses: tuple[str, ...] = ()
    reason = Reason("refused", Code.UNSCHEDULABLE)
    error: Exception | None = None

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return (self.reason,)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        if self.error is not None:
            raise self.error
        mask: Masks = 0 if nodes.is_row else np.zeros(len(nodes), np.uint64)
        for node in self.refuses:
            mask = ops.merge(mask, ops.bit(nodes.is_named(node), 0))
        return mask


class Hearing(Filter, EnqueueExtensions):
    """A Filter that registers ``events``."""

    events: tuple[ClusterEvent, ...] = ()

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return self.events


class PreScore(PreScorePlugin):
    name = "PreScore"
    status: Status | Exception = SUCCESS

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        if isinstance(self.status, Exception):
            raise self.status
        return self.status


class Score(ScorePlugin):
    """``by_name`` gives a node's score, 0 for others; ``error`` is raised instead."""

    name = "Score"
    facets = Facet.NAME
    by_name: Mapping[str, int] = MappingProxyType({})
    error: Exception | None = None

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        if self.error is not None:
            raise self.error
        total: Ints = 0 if nodes.is_row else np.zeros(len(nodes), np.int64)
        for node, score in self.by_name.items():
            total = ops.add(total, ops.where(nodes.is_named(node), score, 0))
        return total


class Normalized(Score, NormalizePlugin):
    """A Score whose final scores are ``final(raw, low, high)``; by default what they are above the lowest."""

    name = "Normalized"
    final: Callable[[Ints, int, int], Ints] = staticmethod(lambda raw, low, high: ops.sub(raw, low))

    def normalize(self, state: CycleState, pod: PodInfo, nodes: NodeView, scores: Ints, low: int, high: int) -> Ints:
        return self.final(scores, low, high)


class Occupancy(ScorePlugin):
    """One point for each pod on the node."""

    name = "Occupancy"
    facets = Facet.RESOURCES

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        return nodes.pod_count


class Crowding(NormalizePlugin):
    """One point for each node there is, and for each pod on the node: it has an input beyond the row, and an extremum."""

    name = "Crowding"
    facets = Facet.RESOURCES
    inputs = frozenset((Input.NODE_COUNT,))

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        return ops.add(nodes.pod_count, nodes.total_nodes)

    def score_token(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> tuple[int, ...]:
        return (nodes.total_nodes,)

    def normalize(self, state: CycleState, pod: PodInfo, nodes: NodeView, scores: Ints, low: int, high: int) -> Ints:
        final: Ints = ops.minimum(ops.sub(scores, low), 100)
        return final


class Parity(PreFilterPlugin, FilterPlugin):
    """Verdicts that hang on the number of nodes: with an odd one the ``refused`` do not fit, with some there is no more to ask."""

    name = "Parity"
    facets = Facet.NAME
    inputs = frozenset((Input.NODE_COUNT,))
    refused: tuple[str, ...] = ("n1", "n3")

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        if nodes.total_nodes % 5 == 0:
            return PreFilterResult(SKIP)
        return PreFilterResult(Status(Code.UNSCHEDULABLE, ("seven",)) if nodes.total_nodes % 7 == 0 else SUCCESS)

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return (Reason("odd", Code.UNSCHEDULABLE),)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        mask: Masks = 0 if nodes.is_row else np.zeros(len(nodes), np.uint64)
        for name in self.refused if nodes.total_nodes % 2 else ():
            mask = ops.merge(mask, ops.bit(nodes.is_named(name), 0))
        return mask

    def filter_token(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> tuple[int, ...]:
        return (nodes.total_nodes,)


class Telling(Parity):
    """It also tells which rows it answers otherwise now; PreFilter raises each ``trouble`` once, when it has all but answered."""

    name = "Telling"
    trouble: ClassVar[list[Exception]] = []

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        was, state["parity"] = state.get("parity"), nodes.total_nodes % 2
        names = self.refused if was != state["parity"] else ()
        rows = sorted(int(row) for name in names for row in np.flatnonzero(nodes.is_named(name)))
        state["renewed"] = None if was is None else rows
        if self.trouble:
            raise self.trouble.pop()
        return super().pre_filter(state, pod, nodes)

    def renewed_rows(self, state: CycleState) -> Sequence[int] | None:
        rows: Sequence[int] | None = state["renewed"]
        return rows


class Share(PreScorePlugin, NormalizePlugin):
    """One point for each pod on the node, and for each feasible node there is; nothing when these are four, eight, ..."""

    name = "Share"
    facets = Facet.RESOURCES
    inputs = frozenset((Input.FEASIBLE,))

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        state["count"] = int(np.count_nonzero(nodes.feasible))
        return SUCCESS if state["count"] % 4 else SKIP

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        return ops.add(nodes.pod_count, state["count"])

    def normalize(self, state: CycleState, pod: PodInfo, nodes: NodeView, scores: Ints, low: int, high: int) -> Ints:
        final: Ints = ops.minimum(ops.sub(scores, low), 100)
        return final


class PreEnqueue(PreEnqueuePlugin):
    name = "PreEnqueue"
    status: Status | Exception = SUCCESS

    def pre_enqueue(self, pod: PodInfo) -> Status:
        if isinstance(self.status, Exception):
            raise self.status
        return self.status


def make_profile(*plugins: Plugin, weights: dict[str, int] | None = None, scheduler_name: str = "reprise") -> Profile:
    """A profile that runs each plugin at all extension points that it has, in this order, without any default plugin."""

    def at(point: type[Any]) -> tuple[Any, ...]:
        return tuple(plugin for plugin in plugins if isinstance(plugin, point))

    return Profile(
        scheduler_name=scheduler_name,
        queue_sort=PrioritySort(),
        pre_enqueue=at(PreEnqueuePlugin),
        pre_filter=at(PreFilterPlugin),
        filter=at(FilterPlugin),
        pre_score=at(PreScorePlugin),
        score=tuple(WeightedScore(plugin=one, weight=(weights or {}).get(one.name, 1)) for one in at(ScorePlugin)),
        reserve=at(ReservePlugin),
        permit=at(PermitPlugin),
        pre_bind=at(PreBindPlugin),
        post_bind=at(PostBindPlugin),
    )


def named_nodes(names: Iterable[str]) -> PreFilterResult:
    return PreFilterResult(node_names=frozenset(names))
