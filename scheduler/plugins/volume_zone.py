"""VolumeZone: the zone and region labels of a pod's volumes must be met by the node (kube-scheduler 1.37: VolumeZone)."""

from __future__ import annotations

from typing import Any, ClassVar

from scheduler.api.selectors import IN, LabelRequirement
from scheduler.api.storage import WAIT_FOR_FIRST_CONSUMER, PersistentVolume, PersistentVolumeClaim, class_of_claim
from scheduler.framework import ops
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.columns import same_verdict
from scheduler.framework.facet import Facet, Input
from scheduler.framework.node_selection import matches_label
from scheduler.framework.ops import Bools, Masks
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
from scheduler.framework.queueing_hint import Hint, queue_if
from scheduler.framework.status import SKIP, Code, Reason, Status
from scheduler.framework.storage import Storage
from scheduler.framework.view import NodeView

_BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
_BETA_REGION = "failure-domain.beta.kubernetes.io/region"
_ZONE = "topology.kubernetes.io/zone"
_REGION = "topology.kubernetes.io/region"
_LABELS = (_BETA_ZONE, _BETA_REGION, _ZONE, _REGION)
_PRESENT_NAME = {_BETA_ZONE: _ZONE, _BETA_REGION: _REGION}
_DELIMITER = "__"

_REASONS = (Reason("node(s) had no available volume zone", Code.UNSCHEDULABLE_AND_UNRESOLVABLE),)


class _Refused(Exception):
    """What speaks against the pod on any node."""


class VolumeZone(PreFilterPlugin, FilterPlugin, EnqueueExtensions, SignPlugin):
    """Volumes of claims only, not those of ephemeral volumes. A node with none of the labels takes everything."""

    name = "VolumeZone"
    facets = Facet.LABELS
    inputs = frozenset({Input.STORAGE})
    watches: ClassVar[tuple[str, ...]] = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass")

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        try:
            wanted = state["wanted"] = _wanted(pod, nodes.storage)
        except _Refused as refusal:
            return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (str(refusal),), self.name))
        return PreFilterResult() if wanted else PreFilterResult(SKIP)

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        refusal = state.get("refusal")
        return _REASONS if refusal is None else (*_REASONS, Reason(refusal, Code.UNSCHEDULABLE_AND_UNRESOLVABLE))

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        wanted: list[LabelRequirement] | None = state.get("wanted")
        if wanted is None:
            # A configuration that disables PreFilter alone.
            try:
                wanted = state["wanted"] = _wanted(pod, nodes.storage)
            except _Refused as refusal:
                state["refusal"] = str(refusal)
                return ops.bit(same_verdict(nodes, True), 1)
        labelled = same_verdict(nodes, False)
        for key in _LABELS:
            labelled = labelled | (nodes.label(key) != 0)
        refused = same_verdict(nodes, False)
        for requirement in wanted:
            refused = refused | ops.not_(_is_met(requirement, nodes))
        return ops.bit(labelled & refused, 0)

    def sign(self, pod: PodInfo) -> tuple[Any, ...] | Unsignable:
        for volume in pod.storage_volumes:
            if volume.persistent_volume_claim is not None:
                return Unsignable(f"volume {volume.name!r} has a claim, which can change at any time")
        return ()

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        changes = ActionType.ADD | ActionType.UPDATE
        return (
            ClusterEvent(EventResource.STORAGE_CLASS, ActionType.ADD),
            ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
            ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, changes),
            ClusterEvent(EventResource.PERSISTENT_VOLUME, changes),
        )

    def queueing_hint(self, pod: PodInfo, event: ClusterEvent, old: Any, new: Any, nodes: NodeView) -> Hint:
        match event.resource:
            case EventResource.STORAGE_CLASS:
                return queue_if(new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER)
            case EventResource.PERSISTENT_VOLUME_CLAIM:
                return queue_if(_uses(pod, new))
            case EventResource.PERSISTENT_VOLUME:
                return queue_if(old is None or _zones_of(old) != _zones_of(new))
        return Hint.QUEUE


def _uses(pod: PodInfo, claim: PersistentVolumeClaim) -> bool:
    if claim.metadata.namespace != pod.pod.metadata.namespace:
        return False
    sources = (volume.persistent_volume_claim for volume in pod.storage_volumes)
    return any(source is not None and source.claim_name == claim.metadata.name for source in sources)


def _zones_of(volume: PersistentVolume) -> dict[str, frozenset[str]]:
    return {label.key: frozenset(label.values) for label in _topology_of(volume)}


def _is_met(requirement: LabelRequirement, nodes: NodeView) -> Bools:
    """The label itself counts; only a node without a beta label is asked for the one that took its place."""
    met = matches_label(requirement, nodes)
    present_name = _PRESENT_NAME.get(requirement.key)
    if present_name is None:
        return met
    instead = matches_label(LabelRequirement(present_name, IN, requirement.values), nodes)
    return met | ((nodes.label(requirement.key) == 0) & instead)


def _wanted(pod: PodInfo, storage: Storage) -> list[LabelRequirement]:
    """What the bound volumes of the pod ask of a node's labels.

    Raises:
        _Refused: a claim, class or volume is not as it has to be.
    """
    wanted: list[LabelRequirement] = []
    for volume in pod.storage_volumes:
        if volume.persistent_volume_claim is not None:
            bound = _bound_volume(pod.pod.metadata.namespace, volume.persistent_volume_claim.claim_name, storage)
            if bound is not None:
                wanted += _topology_of(bound)
    return wanted


def _bound_volume(namespace: str, claim_name: str, storage: Storage) -> PersistentVolume | None:
    """The volume of the claim; None while it is to be bound where the pod goes."""
    if not claim_name:
        raise _Refused("PersistentVolumeClaim had no name")
    claim = storage.claim(namespace, claim_name)
    if claim is None:
        raise _Refused(f'persistentvolumeclaim "{claim_name}" not found')
    volume_name = claim.spec.volume_name
    if volume_name:
        found = storage.volume(volume_name)
        if found is None:
            raise _Refused(f'persistentvolume "{volume_name}" not found')
        return found
    class_name = class_of_claim(claim)
    if not class_name:
        raise _Refused("PersistentVolumeClaim had no pv name and storageClass name")
    storage_class = storage.storage_class(class_name)
    if storage_class is None:
        raise _Refused(f'storageclass.storage.k8s.io "{class_name}" not found')
    if storage_class.volume_binding_mode is None:
        raise _Refused(f'VolumeBindingMode not set for StorageClass "{class_name}"')
    if storage_class.volume_binding_mode != WAIT_FOR_FIRST_CONSUMER:
        raise _Refused("PersistentVolume had no name")
    return None


def _topology_of(volume: PersistentVolume) -> list[LabelRequirement]:
    """Several values are written as one, with ``__`` between; a label of which one is empty says nothing."""
    labels = volume.metadata.labels or {}
    found = []
    for key in _LABELS:
        if key in labels:
            values = [value.strip() for value in labels[key].split(_DELIMITER)]
            if all(values):
                found.append(LabelRequirement(key, IN, tuple(values)))
    return found
