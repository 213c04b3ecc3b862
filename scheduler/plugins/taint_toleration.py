"""TaintToleration: hard taints refuse a node, soft ones make it less attractive (kube-scheduler 1.37: TaintToleration).

Both rules look at a node's list of taints only, so they are evaluated once per distinct list and gathered by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from scheduler.api.objects import Node, Taint, Toleration
from scheduler.api.taints import HARD_EFFECTS, PREFER_NO_SCHEDULE, is_tolerated
from scheduler.framework import ops
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.facet import Facet
from scheduler.framework.normalize import by_highest_reversed
from scheduler.framework.ops import Ints, Masks
from scheduler.framework.plugin import (
    CycleState,
    EnqueueExtensions,
    FilterPlugin,
    NormalizePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    SignPlugin,
)
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.queueing_hint import Hint, queue_if
from scheduler.framework.status import SUCCESS, Code, Reason, Status
from scheduler.framework.verdicts import Verdicts
from scheduler.framework.view import NodeView

_REASONS = (Reason("node(s) had untolerated taint(s)", Code.UNSCHEDULABLE_AND_UNRESOLVABLE),)


class TaintToleration(PreFilterPlugin, FilterPlugin, PreScorePlugin, NormalizePlugin, EnqueueExtensions, SignPlugin):
    name = "TaintToleration"
    facets = Facet.TAINTS

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        return PreFilterResult()

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return _REASONS

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        refused: Verdicts[tuple[Taint, ...]] | None = state.get("refused")
        if refused is None:
            refused = state["refused"] = _refused_by_taints(pod)
        return ops.bit(refused.gather(nodes.taint_sets, nodes.taints), 0)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        state["counts"] = _count_of_soft_taints(pod)
        return SUCCESS

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        counts: Verdicts[tuple[Taint, ...]] | None = state.get("counts")
        if counts is None:
            # A configuration that disables PreScore alone; kube-scheduler fails the same way.
            raise RuntimeError(f'failed to read "PreScore{self.name}" from cycleState: not found')
        score: Ints = counts.gather(nodes.taint_sets, nodes.taints)
        return score

    def normalize(self, state: CycleState, pod: PodInfo, nodes: NodeView, scores: Ints, low: int, high: int) -> Ints:
        return by_highest_reversed(scores, high)

    def sign(self, pod: PodInfo) -> tuple[tuple[str, str, str, str], ...]:
        tolerations = pod.pod.spec.tolerations or ()
        return tuple(sorted({(one.key, one.operator or "Equal", one.value, one.effect) for one in tolerations}))

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (
            ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT),
            ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_TOLERATION),
        )

    def queueing_hint(self, pod: PodInfo, event: ClusterEvent, old: Any, new: Any, nodes: NodeView) -> Hint:
        if event.resource is EventResource.TARGET_POD:
            return Hint.QUEUE
        return queue_if(not _refuses(new, pod) and (old is None or _refuses(old, pod)))


def _refuses(node: Node, pod: PodInfo) -> bool:
    return _has_untolerated(node.spec.taints or (), pod.pod.spec.tolerations or ())


def _has_untolerated(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> bool:
    return any(taint.effect in HARD_EFFECTS and not is_tolerated(taint, tolerations) for taint in taints)


def _refused_by_taints(pod: PodInfo) -> Verdicts[tuple[Taint, ...]]:
    tolerations = pod.pod.spec.tolerations or ()

    def refused(taints: tuple[Taint, ...]) -> bool:
        return _has_untolerated(taints, tolerations)

    return Verdicts(refused, np.bool_)


def _count_of_soft_taints(pod: PodInfo) -> Verdicts[tuple[Taint, ...]]:
    tolerations = pod.pod.spec.tolerations or ()

    def count(taints: tuple[Taint, ...]) -> int:
        return sum(taint.effect == PREFER_NO_SCHEDULE and not is_tolerated(taint, tolerations) for taint in taints)

    return Verdicts(count, np.int64)
