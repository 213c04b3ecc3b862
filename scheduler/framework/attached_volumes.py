"""The CSI volumes that a pod attaches to its node, by what tells one from another (kube-scheduler 1.37: NodeVolumeLimits)."""

from __future__ import annotations

from typing import TypeAlias

from scheduler.api.objects import Pod, Volume
from scheduler.api.storage import PersistentVolumeClaim, VolumeAttachment, class_of_claim
from scheduler.framework.csi_translation import (
    CSI_DRIVERS,
    CSIVolume,
    TranslationError,
    in_tree_plugin,
    is_counted,
    translate_inline,
    translate_volume,
)
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.storage import Storage

Attached: TypeAlias = dict[str, str]
"""Driver by ``driver/handle``: a volume that is used twice is attached once."""

_TO_COME = "\0to-come"
"""Begins the handle of a volume that is not bound yet; no handle of a real one does."""


class ClaimMissing(Exception):
    """A claim that does not exist: the pod waits for it."""


class AttachError(Exception):
    """A volume that cannot be told: the pod's cycle fails."""


def is_attachable(volume: Volume) -> bool:
    """Whether the volume may count against a limit, on some node."""
    return (
        volume.persistent_volume_claim is not None or volume.ephemeral is not None or in_tree_plugin(volume) is not None
    )


def attached_by(pod: PodInfo, storage: Storage, *, has_csi_node: bool, is_new: bool) -> Attached:
    """The volumes of a pod on a node with or without a CSINode, in the order of the pod's spec.

    Args:
        is_new: the pod is the one to place; of another one a claim that is missing is left out.

    Raises:
        ClaimMissing: a claim of the new pod does not exist.
        AttachError: a volume cannot be told.
    """
    attached: Attached = {}
    for volume in pod.storage_volumes:
        found = _of_volume(volume, pod.pod, storage, has_csi_node=has_csi_node, is_new=is_new)
        if found is not None:
            attached[found.unique_name] = found.driver
    return attached


def claim_name(volume: Volume, pod: Pod) -> str | None:
    """The claim that a volume uses; that of an ephemeral volume is named after pod and volume. None for other volumes."""
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return f"{pod.metadata.name}-{volume.name}" if volume.ephemeral is not None else None


def _of_volume(volume: Volume, pod: Pod, storage: Storage, *, has_csi_node: bool, is_new: bool) -> CSIVolume | None:
    name = claim_name(volume, pod)
    if name is None:
        return volume_of_inline(volume, has_csi_node=has_csi_node)
    if not name:
        raise AttachError("PersistentVolumeClaim had no name")
    namespace = pod.metadata.namespace
    claim = storage.claim(namespace, name)
    if claim is None:
        if is_new:
            raise ClaimMissing(f'looking up PVC {namespace}/{name}: persistentvolumeclaim "{name}" not found')
        return None
    if volume.persistent_volume_claim is None and controller_of(claim) != pod.metadata.uid:
        text = f"PVC {namespace}/{name} was not created for pod {namespace}/{pod.metadata.name} (pod is not owner)"
        raise AttachError(text)
    return volume_of_claim(claim, storage, has_csi_node=has_csi_node)


def controller_of(claim: PersistentVolumeClaim) -> str | None:
    """The UID of what controls the claim; None for nothing."""
    owners = claim.metadata.owner_references or ()
    return next((owner.uid for owner in owners if owner.controller), None)


def volume_of_inline(volume: Volume, *, has_csi_node: bool) -> CSIVolume | None:
    """What a volume without a claim attaches.

    Raises:
        AttachError: it cannot be told.
    """
    plugin = in_tree_plugin(volume)
    if plugin is None or not is_counted(plugin, has_csi_node=has_csi_node):
        return None
    try:
        return translate_inline(volume, plugin)
    except TranslationError as error:
        raise AttachError(f"converting volume({volume.name}) from inline to csi: {error}") from error


def volume_of_claim(claim: PersistentVolumeClaim, storage: Storage, *, has_csi_node: bool) -> CSIVolume | None:
    """What a claim attaches, as far as its volume, or else its class, says."""
    found = _of_claim(claim, storage, has_csi_node=has_csi_node)
    return found if found is not None and found.driver and found.handle else None


def _of_claim(claim: PersistentVolumeClaim, storage: Storage, *, has_csi_node: bool) -> CSIVolume | None:
    volume = storage.volume(claim.spec.volume_name) if claim.spec.volume_name else None
    if volume is None:
        # Not bound, or bound to what is not there (any more): it is counted by what will provision it.
        return _to_come(claim, storage, has_csi_node=has_csi_node)
    if volume.spec.csi is not None:
        return CSIVolume(volume.spec.csi.driver, volume.spec.csi.volume_handle)
    plugin = in_tree_plugin(volume.spec)
    if plugin is None or not is_counted(plugin, has_csi_node=has_csi_node):
        return None
    try:
        return translate_volume(volume, plugin)
    except TranslationError:
        return None


def _to_come(claim: PersistentVolumeClaim, storage: Storage, *, has_csi_node: bool) -> CSIVolume | None:
    class_name = class_of_claim(claim)
    storage_class = storage.storage_class(class_name) if class_name else None
    if storage_class is None:
        return None
    handle = f"{_TO_COME}-{claim.metadata.namespace}/{claim.metadata.name}"
    provisioner = storage_class.provisioner
    if provisioner not in CSI_DRIVERS:
        return CSIVolume(provisioner, handle)
    return CSIVolume(CSI_DRIVERS[provisioner], handle) if is_counted(provisioner, has_csi_node=has_csi_node) else None


def attached_without_pods(attachment: VolumeAttachment, storage: Storage) -> CSIVolume | None:
    """What a VolumeAttachment says is attached: CSI volumes that exist; of the driver its own word counts."""
    spec = attachment.spec
    volume = storage.volume(spec.source.persistent_volume_name or "")
    if not spec.attacher or volume is None or volume.spec.csi is None:
        return None
    return CSIVolume(spec.attacher, volume.spec.csi.volume_handle)
