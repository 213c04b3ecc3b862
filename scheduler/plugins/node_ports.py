"""NodePorts: the host ports that a pod asks for must be free on the node (kube-scheduler 1.37: NodePorts)."""

from __future__ import annotations

from typing import Any

from scheduler.api.ports import conflict
from scheduler.framework import ops
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.columns import same_verdict
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
from scheduler.framework.queueing_hint import Hint, had_room, queue_if
from scheduler.framework.status import SKIP, Code, Reason
from scheduler.framework.view import NodeView

_REASONS = (Reason("node(s) didn't have free ports for the requested pod ports", Code.UNSCHEDULABLE),)


class NodePorts(PreFilterPlugin, FilterPlugin, EnqueueExtensions, SignPlugin):
    """Ports of one pod are not compared with each other."""

    name = "NodePorts"
    facets = Facet.PORTS

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        state["wanted"] = pod.host_ports
        return PreFilterResult() if pod.host_ports else PreFilterResult(SKIP)

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return _REASONS

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        if "wanted" not in state:
            # A configuration that disables PreFilter alone; kube-scheduler fails the same way.
            raise RuntimeError(f'reading "PreFilter{self.name}" from cycleState: not found')
        taken = same_verdict(nodes, False)
        for wanted in state["wanted"]:
            taken = taken | nodes.port_conflicts(wanted.host_ip, wanted.protocol, wanted.port)
        return ops.bit(taken, 0)

    def sign(self, pod: PodInfo) -> tuple[tuple[str, str, int], ...]:
        return tuple(sorted({(port.host_ip, port.protocol, port.port) for port in pod.host_ports}))

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (
            ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE),
            ClusterEvent(EventResource.NODE, ActionType.ADD),
        )

    def queueing_hint(self, pod: PodInfo, event: ClusterEvent, old: Any, new: Any, nodes: NodeView) -> Hint:
        if event.resource is EventResource.NODE:
            return Hint.QUEUE
        freed: PodInfo = old
        wanted = pod.host_ports
        return queue_if(had_room(freed) and any(conflict(mine, port) for mine in wanted for port in freed.host_ports))
