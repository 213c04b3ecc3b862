"""The plugin: what the pod attaches, against what each node can."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar, NamedTuple

import numpy as np

from scheduler.framework.attached_volumes import (
    Attached,
    AttachError,
    ClaimMissing,
    attached_by,
    is_attachable,
)
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.columns import no_reasons
from scheduler.framework.facet import Facet, Input
from scheduler.framework.ops import BoolArray, IntArray, MaskArray, Masks
from scheduler.framework.plugin import (
    CycleState,
    EnqueueExtensions,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    SignPlugin,
    Unsignable,
)
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.queueing_hint import Hint
from scheduler.framework.status import SKIP, Code, Reason
from scheduler.framework.view import NodeView
from scheduler.plugins.node_volume_limits import hints

_EXCEEDED = 0
_FIRST_DRIVER = 1
_MOST_DRIVERS = 40
_MOST_FAILURES = 20
_TOO_MANY = Reason("node(s) exceed max volume count", Code.UNSCHEDULABLE)


class _Plan(NamedTuple):
    """What the pod attaches to a node, or why that cannot be told."""

    attached: Attached
    refusal: Reason | None = None


class NodeVolumeLimits(PreFilterPlugin, FilterPlugin, EnqueueExtensions, SignPlugin):
    """Volumes of pods on nodes are counted as they come and go; they are looked at one by one only to say what is wrong."""

    name = "NodeVolumeLimits"
    facets = Facet.VOLUMES | Facet.NAME
    inputs = frozenset({Input.STORAGE})
    watches: ClassVar[tuple[str, ...]] = (
        "PersistentVolumeClaim",
        "PersistentVolume",
        "StorageClass",
        "CSINode",
        "CSIDriver",
        "VolumeAttachment",
    )

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        if not any(is_attachable(volume) for volume in pod.storage_volumes):
            return PreFilterResult(SKIP)
        _prepare(state, pod, nodes)
        return PreFilterResult()

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        plans: tuple[_Plan, ...] = state.get("plans", ())
        drivers = (Reason(_not_installed(driver), Code.UNSCHEDULABLE) for driver in _drivers(plans))
        return (
            _TOO_MANY,
            *drivers,
            *_refusals(plans),
            *(Reason(text, Code.ERROR) for text in state.get("failures", ())),
        )

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        if "plans" not in state:
            # A configuration that disables PreFilter alone.
            _prepare(state, pod, nodes)
        plans: tuple[_Plan, _Plan] = state["plans"]
        masks = _all_masks(plans, state["failures"], nodes)
        if not isinstance(masks, np.ndarray):
            return masks
        return int(masks[0]) if nodes.is_row else masks

    def sign(self, pod: PodInfo) -> tuple[Any, ...] | Unsignable:
        for volume in pod.storage_volumes:
            if is_attachable(volume):
                return Unsignable(f"volume {volume.name!r} counts against the limits of CSI drivers")
        return ()

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (
            ClusterEvent(EventResource.CSI_NODE, ActionType.ADD),
            ClusterEvent(EventResource.CSI_NODE, ActionType.UPDATE),
            ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE),
            ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD),
            ClusterEvent(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE),
        )

    def queueing_hint(self, pod: PodInfo, event: ClusterEvent, old: Any, new: Any, nodes: NodeView) -> Hint:
        match event.resource:
            case EventResource.CSI_NODE:
                return hints.after_csi_node_change(old, new)
            case EventResource.ASSIGNED_POD:
                return hints.after_pod_deleted(old)
            case EventResource.PERSISTENT_VOLUME_CLAIM:
                return hints.after_claim_added(pod, new)
        return hints.after_attachment_deleted(pod, old)


def _prepare(state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
    """Note what the pod attaches, and what can be wrong with volumes of others."""
    plans = tuple(_plan(pod, nodes, has_csi_node=has_csi_node) for has_csi_node in (False, True))
    state["plans"] = plans
    state["failures"] = _failures(nodes) if any(plan.attached for plan in plans) else []


def _not_installed(driver: str) -> str:
    return f"{driver} CSI driver is not installed on the node"


def _drivers(plans: tuple[_Plan, ...]) -> list[str]:
    """The drivers of the pod's volumes, in the order in which a missing one is told; few enough to have a reason each."""
    found = dict.fromkeys(driver for plan in plans for driver in plan.attached.values())
    return list(found)[:_MOST_DRIVERS]


def _refusals(plans: tuple[_Plan, ...]) -> list[Reason]:
    return list(dict.fromkeys(plan.refusal for plan in plans if plan.refusal is not None))


def _plan(pod: PodInfo, nodes: NodeView, *, has_csi_node: bool) -> _Plan:
    try:
        return _Plan(attached_by(pod, nodes.storage, has_csi_node=has_csi_node, is_new=True))
    except ClaimMissing as missing:
        return _Plan({}, Reason(str(missing), Code.UNSCHEDULABLE_AND_UNRESOLVABLE))
    except AttachError as error:
        return _Plan({}, Reason(str(error), Code.ERROR))


def _failures(nodes: NodeView) -> list[str]:
    """What is wrong with volumes of pods on nodes that limit some driver; the last of very many stands for the rest."""
    found: dict[str, None] = {}
    for position in np.flatnonzero(_fails(nodes) & _flags(nodes.has_csi_limits)).tolist():
        found[_failure_at(nodes, position)] = None
        if len(found) == _MOST_FAILURES:
            break
    return list(found)


def _fails(nodes: NodeView) -> BoolArray:
    """Where volumes of pods cannot be counted."""
    return _column(nodes.failing_volumes) > 0


def _failure_at(nodes: NodeView, position: int) -> str:
    """What is wrong with the first such volume of one of these nodes."""
    for pod in nodes.pods_with_volumes(position):
        try:
            attached_by(pod, nodes.storage, has_csi_node=True, is_new=False)
        except AttachError as error:
            return str(error)
    raise AssertionError(f"no volume fails on {nodes.node_name(position)}")


def _all_masks(plans: tuple[_Plan, _Plan], failures: list[str], nodes: NodeView) -> Masks:
    """For each row the mask that the plan of its kind of node makes."""
    if not any(plan != _Plan({}) for plan in plans):
        return no_reasons(nodes)
    known = _flags(nodes.has_csi_node)
    masks = np.zeros(len(known), np.uint64)
    drivers, refusals = _drivers(plans), _refusals(plans)
    for plan, rows in zip(plans, (~known, known), strict=True):
        if plan.refusal is not None:
            masks[rows] = np.uint64(1 << (_FIRST_DRIVER + len(drivers) + refusals.index(plan.refusal)))
        elif plan.attached and rows.any():
            _mark_missing_drivers(masks, rows, plan.attached, drivers, nodes)
            first_failure = _FIRST_DRIVER + len(drivers) + len(refusals)
            _mark_exceeded(masks, rows & (masks == 0), plan.attached, failures, first_failure, nodes)
    return masks


def _mark_missing_drivers(
    masks: MaskArray, rows: BoolArray, attached: Attached, drivers: list[str], nodes: NodeView
) -> None:
    """A driver that wants it so keeps pods off nodes that do not have it (the feature VolumeLimitScaling)."""
    told = set(attached.values())
    for number in range(len(drivers) - 1, -1, -1):
        driver = drivers[number]
        wish = nodes.storage.csi_driver(driver) if driver in told else None
        if wish is not None and wish.spec.prevent_pod_scheduling_if_missing:
            installed = _flags(nodes.has_csi_driver(driver))
            masks[rows & ~installed] = np.uint64(1 << (_FIRST_DRIVER + number))


def _mark_exceeded(
    masks: MaskArray, rows: BoolArray, attached: Attached, failures: list[str], first_failure: int, nodes: NodeView
) -> None:
    """Where the node would hold more volumes of a driver than it can, or where that cannot be told.

    A volume that a pod there uses is attached already. One that is known only by its VolumeAttachment counts twice, as upstream.

    Args:
        failures: what can be wrong with a volume of a pod on the node, each a reason from ``first_failure`` on.
    """
    rows = rows & _flags(nodes.has_csi_limits)
    if not rows.any():
        return
    exceeded = np.zeros(len(rows), np.bool_)
    for driver, count in Counter(attached.values()).items():
        more = np.full(len(rows), count, np.int64)
        for name, of_driver in attached.items():
            if of_driver == driver:
                more -= _flags(nodes.uses_volume(name))
        held = _column(nodes.attached_volumes(driver))
        exceeded |= (more > 0) & (held + more > _column(nodes.csi_limit(driver)))
    fails = _fails(nodes)
    masks[rows & exceeded & ~fails] = np.uint64(1 << _EXCEEDED)
    for position in np.flatnonzero(rows & fails).tolist():
        text = _failure_at(nodes, position)
        number = failures.index(text) if text in failures else len(failures) - 1
        masks[position] = np.uint64(1 << (first_failure + number))


def _flags(values: Any) -> BoolArray:
    return np.atleast_1d(np.asarray(values, dtype=np.bool_))


def _column(values: Any) -> IntArray:
    return np.atleast_1d(np.asarray(values, dtype=np.int64))
