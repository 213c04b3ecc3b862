"""NodeName: a pod that names its node fits only there (kube-scheduler 1.37: NodeName)."""

from __future__ import annotations

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
from scheduler.framework.status import Code, Reason
from scheduler.framework.view import NodeView

_REASONS = (Reason("node(s) didn't match the requested node name", Code.UNSCHEDULABLE_AND_UNRESOLVABLE),)


class NodeName(PreFilterPlugin, FilterPlugin, EnqueueExtensions, SignPlugin):
    name = "NodeName"
    facets = Facet.NAME

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        wanted = pod.pod.spec.node_name
        return PreFilterResult(node_names=frozenset((wanted,)) if wanted else None)

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return _REASONS

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        wanted = pod.pod.spec.node_name
        return ops.bit(ops.not_(nodes.is_named(wanted)), 0) if wanted else no_reasons(nodes)

    def sign(self, pod: PodInfo) -> tuple[str]:
        return (pod.pod.spec.node_name,)

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (ClusterEvent(EventResource.NODE, ActionType.ADD),)
