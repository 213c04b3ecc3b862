"""Which events can help a pod that would be spread unevenly (kube-scheduler 1.37: PodTopologySpread, isSchedulableAfter...).

All of it is about the constraints with ``whenUnsatisfiable: DoNotSchedule``.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler.api.objects import Node
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.queueing_hint import Hint, had_room, queue_if
from scheduler.plugins.pod_topology_spread.constraints import Constraint


def may_count(pod: PodInfo, old: PodInfo | None, new: PodInfo | None) -> bool:
    """Whether a pod that came, went or changed is one that a constraint of this pod can count."""
    namespace = pod.pod.metadata.namespace
    there = (one for one in (old, new) if one is not None)
    return all(had_room(one) and one.pod.metadata.namespace == namespace for one in there)


def after_pod_change(constraints: Sequence[Constraint], old: PodInfo | None, new: PodInfo | None) -> Hint:
    """A pod on a node came, went, or is or is no longer one that a constraint counts."""
    if old is not None and new is not None:
        return after_label_change(constraints, old, new)
    there = (one for one in (old, new) if one is not None)
    return queue_if(any(each.matcher.matches(one.pod.metadata.labels) for one in there for each in constraints))


def after_own_change(constraints: Sequence[Constraint], old: PodInfo, new: PodInfo) -> Hint:
    """The pod itself has other tolerations, which decide on the nodes that count, or other labels."""
    is_tolerant_otherwise = (old.pod.spec.tolerations or []) != (new.pod.spec.tolerations or [])
    if is_tolerant_otherwise and any(each.honors_taints for each in constraints):
        return Hint.QUEUE
    return after_label_change(constraints, old, new)


def after_label_change(constraints: Sequence[Constraint], old: PodInfo, new: PodInfo) -> Hint:
    before, now = old.pod.metadata.labels or {}, new.pod.metadata.labels or {}
    return queue_if(
        before != now and any(each.matcher.matches(before) != each.matcher.matches(now) for each in constraints)
    )


def after_node_change(constraints: Sequence[Constraint], old: Node | None, new: Node | None) -> Hint:
    """A node that counts came, went, changed its domain or its taints; or one began or ceased to count."""
    if old is None or new is None:
        return queue_if(any(_has_all_keys(node, constraints) for node in (old, new) if node is not None))
    counts = _has_all_keys(new, constraints)
    if counts != _has_all_keys(old, constraints):
        return Hint.QUEUE
    before, now = old.metadata.labels or {}, new.metadata.labels or {}
    moved = any(before.get(each.topology_key) != now.get(each.topology_key) for each in constraints)
    return queue_if(counts and (moved or (old.spec.taints or []) != (new.spec.taints or [])))


def _has_all_keys(node: Node, constraints: Sequence[Constraint]) -> bool:
    labels = node.metadata.labels or {}
    return all(each.topology_key in labels for each in constraints)
