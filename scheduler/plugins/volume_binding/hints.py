"""Which events can help a pod whose volumes cannot be bound on a node (kube-scheduler 1.37: VolumeBinding, isSchedulableAfter...)."""

from __future__ import annotations

from typing import Any

from scheduler.api.objects import Pod
from scheduler.api.quantity import Quantity, value
from scheduler.api.storage import CSIDriver, CSINode, CSIStorageCapacity, PersistentVolumeClaim, StorageClass
from scheduler.plugins.volume_binding.claims import claim_name, uses_claims

_MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"


def topologies(storage_class: StorageClass) -> list[Any]:
    """``allowedTopologies``, what is absent and what is empty alike."""
    return [
        [(one.key, one.values or []) for one in term.match_label_expressions or ()]
        for term in storage_class.allowed_topologies or ()
    ]


def uses_claim(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    if claim.metadata.namespace != pod.metadata.namespace:
        return False
    return any(claim_name(pod, volume) == claim.metadata.name for volume in pod.spec.volumes or ())


def migrated(csi_node: CSINode) -> str:
    """The in-tree plugins that the node leaves to their drivers."""
    return (csi_node.metadata.annotations or {}).get(_MIGRATED_PLUGINS, "")


def stopped_limiting(old: CSIDriver, new: CSIDriver) -> bool:
    """Whether the driver's volumes no longer need room that a CSIStorageCapacity has to show."""
    return bool(old.spec.storage_capacity) and not new.spec.storage_capacity


def may_use(pod: Pod, driver: CSIDriver) -> bool:
    """Whether the pod can have a volume of the driver. That of a claim is not looked up: kube-scheduler looks at inline volumes
    alone, which never keep a pod from a node here.
    """
    inline = (volume.csi for volume in pod.spec.volumes or ())
    return any(csi is not None and csi.driver == driver.metadata.name for csi in inline) or uses_claims(pod)


def grew(old: CSIStorageCapacity, new: CSIStorageCapacity) -> bool:
    """Whether a larger volume can be made now than before."""
    before, now = _limit(old), _limit(new)
    return now is not None and (before is None or value(now) > value(before))


def _limit(capacity: CSIStorageCapacity) -> Quantity | None:
    return capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
