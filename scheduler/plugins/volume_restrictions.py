"""VolumeRestrictions: inline disks that two pods cannot share, and claims that one pod at a time may use.

Source: kube-scheduler 1.37: VolumeRestrictions.
"""

from __future__ import annotations

from typing import Any, ClassVar

from scheduler.api.objects import Volume
from scheduler.api.storage import READ_WRITE_ONCE_POD
from scheduler.framework import ops
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.columns import same_verdict
from scheduler.framework.disks import share_disk
from scheduler.framework.facet import Facet, Input
from scheduler.framework.ops import Masks
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
from scheduler.framework.view import NodeView

_DISK, _IN_USE = 0, 1
_REASONS = (
    Reason("node(s) had no available disk", Code.UNSCHEDULABLE),
    Reason(
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
        Code.UNSCHEDULABLE,
    ),
)


class VolumeRestrictions(PreFilterPlugin, FilterPlugin, EnqueueExtensions, SignPlugin):
    """Normally the first to miss a claim; the claims of ephemeral volumes are not looked at."""

    name = "VolumeRestrictions"
    facets = Facet.VOLUMES
    inputs = frozenset({Input.STORAGE})
    watches: ClassVar[tuple[str, ...]] = ("PersistentVolumeClaim",)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        namespace = pod.pod.metadata.namespace
        disks = [volume for volume in pod.storage_volumes if _is_disk(volume)]
        exclusive: dict[str, None] = {}
        for volume in pod.storage_volumes:
            if volume.persistent_volume_claim is None:
                continue
            name = volume.persistent_volume_claim.claim_name
            claim = nodes.storage.claim(namespace, name)
            if claim is None:
                text = f'persistentvolumeclaim "{name}" not found'
                return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,), self.name))
            if READ_WRITE_ONCE_POD in (claim.spec.access_modes or ()):
                exclusive[name] = None
        state["disks"], state["exclusive"] = disks, tuple(exclusive)
        if not disks and not _is_in_use(state, pod, nodes):
            return PreFilterResult(SKIP)
        return PreFilterResult()

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return _REASONS

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        if "exclusive" not in state:
            # A configuration that disables PreFilter alone; kube-scheduler fails the same way.
            raise RuntimeError(f'cannot read "PreFilter{self.name}" from cycleState')
        taken = same_verdict(nodes, False)
        for volume in state["disks"]:
            taken = taken | nodes.disk_conflicts(volume)
        # Asked anew: pods that are tried on a node use claims too.
        if not _is_in_use(state, pod, nodes):
            return ops.bit(taken, _DISK)
        return ops.merge(ops.bit(taken, _DISK), ops.bit(ops.not_(taken), _IN_USE))

    def sign(self, pod: PodInfo) -> tuple[Any, ...] | Unsignable:
        for volume in pod.storage_volumes:
            if volume.persistent_volume_claim is not None or _is_disk(volume):
                return Unsignable(f"volume {volume.name!r} is compared with those of pods on each node")
        return ()

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (
            ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE),
            ClusterEvent(EventResource.NODE, ActionType.ADD),
            ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD),
        )

    def queueing_hint(self, pod: PodInfo, event: ClusterEvent, old: Any, new: Any, nodes: NodeView) -> Hint:
        namespace = pod.pod.metadata.namespace
        match event.resource:
            case EventResource.PERSISTENT_VOLUME_CLAIM:
                return queue_if(new.metadata.namespace == namespace and new.metadata.name in _claims(pod))
            case EventResource.ASSIGNED_POD:
                freed: PodInfo = old
                # Whether the claim is for one pod at a time is not looked at.
                return queue_if(
                    freed.pod.metadata.namespace == namespace
                    and (_claims(pod) & _claims(freed) or _share_a_disk(pod, freed))
                )
        return Hint.QUEUE


def _claims(pod: PodInfo) -> set[str]:
    sources = (volume.persistent_volume_claim for volume in pod.storage_volumes)
    return {source.claim_name for source in sources if source is not None}


def _share_a_disk(pod: PodInfo, other: PodInfo) -> bool:
    return any(share_disk(mine, theirs) for mine in pod.storage_volumes for theirs in other.storage_volumes)


def _is_disk(volume: Volume) -> bool:
    return (
        volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.iscsi is not None
        or volume.rbd is not None
    )


def _is_in_use(state: CycleState, pod: PodInfo, nodes: NodeView) -> bool:
    """Whether another pod uses a claim that only one may use."""
    namespace = pod.pod.metadata.namespace
    return any(nodes.storage.claim_users(namespace, name) for name in state["exclusive"])
