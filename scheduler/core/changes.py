"""Which events a change of a node or pod amounts to (kube-scheduler 1.37: NodeSchedulingPropertiesChange and its like)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from scheduler.api.objects import Node, Pod, ResourceList
from scheduler.api.quantity import nano
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo

NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_DELETE = ClusterEvent(EventResource.NODE, ActionType.DELETE)
ASSIGNED_POD_ADD = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD)
ASSIGNED_POD_DELETE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
UNSCHEDULED_POD_ADD = ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.ADD)
UNSCHEDULED_POD_UPDATE = ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.UPDATE)
UNSCHEDULED_POD_DELETE = ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.DELETE)


def node_events(old: Node, new: Node) -> tuple[ClusterEvent, ...]:
    """What changed between two states of one node, in upstream's order; nothing for a heartbeat."""
    return tuple(ClusterEvent(EventResource.NODE, action) for action in _node_actions(old, new))


def _node_actions(old: Node, new: Node) -> Iterator[ActionType]:
    if old.spec.unschedulable and not new.spec.unschedulable:
        yield ActionType.UPDATE_NODE_TAINT
    if _amounts(old.status.allocatable) != _amounts(new.status.allocatable):
        yield ActionType.UPDATE_NODE_ALLOCATABLE
    if (old.metadata.labels or {}) != (new.metadata.labels or {}):
        yield ActionType.UPDATE_NODE_LABEL
    if (old.spec.taints or []) != (new.spec.taints or []):
        yield ActionType.UPDATE_NODE_TAINT
    if _conditions(old) != _conditions(new):
        yield ActionType.UPDATE_NODE_CONDITION
    if (old.metadata.annotations or {}) != (new.metadata.annotations or {}):
        yield ActionType.UPDATE_NODE_ANNOTATION
    if (old.status.declared_features or []) != (new.status.declared_features or []):
        yield ActionType.UPDATE_NODE_DECLARED_FEATURE


def placed(pod: PodInfo, node_name: str) -> PodInfo:
    """The pod as it would be shown on a node: what plugins hear of one that was assumed there."""
    if pod.pod.spec.node_name == node_name:
        return pod
    return PodInfo(replace(pod.pod, spec=replace(pod.pod.spec, node_name=node_name)))


def _amounts(resources: ResourceList | None) -> dict[str, int]:
    return {name: nano(quantity) for name, quantity in (resources or {}).items()}


def _conditions(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions or ()}


def pod_events(old: PodInfo, new: PodInfo, resource: EventResource) -> tuple[ClusterEvent, ...]:
    """What changed between two states of one pod; a single generic update when nothing that matters did."""
    return pod_changes(old, new, resource) or (ClusterEvent(resource, ActionType.UPDATE),)


def pod_changes(old: PodInfo, new: PodInfo, resource: EventResource) -> tuple[ClusterEvent, ...]:
    """What changed between two states of one pod and matters to scheduling, in upstream's order."""
    return tuple(ClusterEvent(resource, action) for action in _pod_actions(old, new))


def _pod_actions(old: PodInfo, new: PodInfo) -> Iterator[ActionType]:
    before, after = old.pod, new.pod
    if (before.metadata.labels or {}) != (after.metadata.labels or {}):
        yield ActionType.UPDATE_POD_LABEL
    if _asks_for_less(old.accounted_requests, new.accounted_requests):
        yield ActionType.UPDATE_POD_SCALE_DOWN
    if _asks_for_less(new.accounted_requests, old.accounted_requests):
        yield ActionType.UPDATE_POD_SCALE_UP
    if before.spec.scheduling_gates and not after.spec.scheduling_gates:
        yield ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    if len(before.spec.tolerations or ()) != len(after.spec.tolerations or ()):
        yield ActionType.UPDATE_POD_TOLERATION
    if _claims(before) != _claims(after):
        yield ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM


def _asks_for_less(old: Mapping[str, int], new: Mapping[str, int]) -> bool:
    return any(name not in new or amount > new[name] for name, amount in old.items())


def _claims(pod: Pod) -> tuple[Any, ...]:
    return (pod.status.resource_claim_statuses or [], pod.status.extended_resource_claim_status)
