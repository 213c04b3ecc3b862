"""NodeUnschedulable: a cordoned node takes only pods that tolerate it (kube-scheduler 1.37: NodeUnschedulable)."""

from __future__ import annotations

from typing import Any

from scheduler.api.taints import UNSCHEDULABLE_TAINT, is_tolerated
from scheduler.framework import ops
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.columns import no_reasons
from scheduler.framework.facet import Facet
from scheduler.framework.ops import Masks
from scheduler.framework.plugin import (
    CycleState,
    EnqueueExtensions,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    SignPlugin,
)
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.queueing_hint import Hint, queue_if
from scheduler.framework.status import Code, Reason
from scheduler.framework.view import NodeView

_REASONS = (Reason("node(s) were unschedulable", Code.UNSCHEDULABLE_AND_UNRESOLVABLE),)


class NodeUnschedulable(PreFilterPlugin, FilterPlugin, EnqueueExtensions, SignPlugin):
    name = "NodeUnschedulable"
    facets = Facet.UNSCHEDULABLE

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        return PreFilterResult()

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return _REASONS

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        tolerated: bool | None = state.get("tolerated")
        if tolerated is None:
            tolerated = state["tolerated"] = _tolerates_cordon(pod)
        return no_reasons(nodes) if tolerated else ops.bit(nodes.unschedulable, 0)

    def sign(self, pod: PodInfo) -> tuple[bool]:
        return (_tolerates_cordon(pod),)

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (
            ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT),
            ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_TOLERATION),
        )

    def queueing_hint(self, pod: PodInfo, event: ClusterEvent, old: Any, new: Any, nodes: NodeView) -> Hint:
        if event.resource is EventResource.TARGET_POD:
            return queue_if(_tolerates_cordon(new))
        return queue_if(not new.spec.unschedulable and (old is None or old.spec.unschedulable))


def _tolerates_cordon(pod: PodInfo) -> bool:
    return is_tolerated(UNSCHEDULABLE_TAINT, pod.pod.spec.tolerations or ())
