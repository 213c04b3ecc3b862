"""Which events can help a pod whose volumes a node cannot attach (kube-scheduler 1.37: NodeVolumeLimits, isSchedulableAfter...)."""

from __future__ import annotations

from scheduler.api.storage import CSINode, PersistentVolumeClaim, VolumeAttachment, volume_limits
from scheduler.framework.attached_volumes import claim_name, is_attachable
from scheduler.framework.csi_translation import CSI_DRIVERS, in_tree_plugin, translate_inline
from scheduler.framework.csi_translation import is_counted as is_counted_on
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.queueing_hint import Hint, had_room, queue_if


def after_csi_node_change(old: CSINode | None, new: CSINode) -> Hint:
    """A limit rose or fell away, or the node has a new driver; kube-scheduler looks at limits that have a number only."""
    if old is None:
        return Hint.QUEUE
    had, has = volume_limits(old), volume_limits(new)
    rose = any(limit > had.get(driver, 0) for driver, limit in has.items())
    return queue_if(rose or had.keys() - has.keys() or _drivers(new) - _drivers(old))


def _drivers(csi_node: CSINode) -> set[str]:
    return {driver.name for driver in csi_node.spec.drivers or ()}


def after_pod_deleted(freed: PodInfo) -> Hint:
    """A pod with a volume that may have counted has left its node."""
    return queue_if(had_room(freed) and any(is_attachable(volume) for volume in freed.storage_volumes))


def after_claim_added(pod: PodInfo, claim: PersistentVolumeClaim) -> Hint:
    metadata = claim.metadata
    if metadata.namespace != pod.pod.metadata.namespace:
        return Hint.SKIP
    return queue_if(any(claim_name(volume, pod.pod) == metadata.name for volume in pod.storage_volumes))


def after_attachment_deleted(pod: PodInfo, gone: VolumeAttachment) -> Hint:
    """A volume was detached, of a driver that the pod's volumes may be of: of a claim's volume that is not looked up.

    Raises:
        TranslationError: what the pod's volume is to a driver cannot be told.
    """
    for volume in pod.storage_volumes:
        # The claims of ephemeral volumes are like others; kube-scheduler does not look at them here.
        if claim_name(volume, pod.pod) is not None:
            return Hint.QUEUE
        plugin = in_tree_plugin(volume)
        if plugin is None:
            continue
        if is_counted_on(plugin, has_csi_node=True):
            translate_inline(volume, plugin)
        if gone.spec.attacher == CSI_DRIVERS[plugin]:
            return Hint.QUEUE
    return Hint.SKIP
