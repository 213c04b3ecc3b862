"""Objects of storage with only the fields that the scheduler reads."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from scheduler.api.objects import LabelSelector, NodeSelector, ObjectMeta, ResourceList, ResourceRequirements
from scheduler.api.quantity import Quantity
from scheduler.api.volume_sources import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CinderVolumeSource,
    CSIVolumeSource,
    GCEPersistentDiskVolumeSource,
    PortworxVolumeSource,
    VsphereVirtualDiskVolumeSource,
)
from scheduler.api.wire import ApiObject

BETA_STORAGE_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
READ_WRITE_ONCE_POD = "ReadWriteOncePod"


class PersistentVolumeClaimSpec(ApiObject, frozen=True):
    """``storage_class_name`` None is a class that nobody chose, "" the choice of none."""

    access_modes: list[str] | None = None
    selector: LabelSelector | None = None
    resources: ResourceRequirements = ResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(ApiObject, frozen=True):
    phase: str = ""


class PersistentVolumeClaim(ApiObject, frozen=True, tag_field="kind"):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class ObjectReference(ApiObject, frozen=True):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class VolumeNodeAffinity(ApiObject, frozen=True):
    required: NodeSelector | None = None


class PersistentVolumeSpec(ApiObject, frozen=True):
    """One source at most is set; one of which nothing is read leaves all of them None."""

    capacity: ResourceList | None = None
    access_modes: list[str] | None = None
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None


class PersistentVolumeStatus(ApiObject, frozen=True):
    phase: str = ""


class PersistentVolume(ApiObject, frozen=True, tag_field="kind"):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class TopologySelectorLabelRequirement(ApiObject, frozen=True):
    key: str = ""
    values: list[str] | None = None


class TopologySelectorTerm(ApiObject, frozen=True):
    match_label_expressions: list[TopologySelectorLabelRequirement] | None = None


class StorageClass(ApiObject, frozen=True, tag_field="kind"):
    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: list[TopologySelectorTerm] | None = None


class VolumeNodeResources(ApiObject, frozen=True):
    count: Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)] | None = None


class CSINodeDriver(ApiObject, frozen=True):
    """``allocatable.count``: how many volumes of the driver the node can use; None for no limit."""

    name: str = ""
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(ApiObject, frozen=True):
    drivers: list[CSINodeDriver] | None = None


class CSINode(ApiObject, frozen=True, tag_field="kind"):
    """The drivers of the node of the same name."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(ApiObject, frozen=True):
    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(ApiObject, frozen=True, tag_field="kind"):
    metadata: ObjectMeta = ObjectMeta()
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(ApiObject, frozen=True, tag_field="kind"):
    """How much a driver can still provision for a class on the nodes of ``node_topology``; None: on none."""

    metadata: ObjectMeta = ObjectMeta()
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class VolumeAttachmentSource(ApiObject, frozen=True):
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(ApiObject, frozen=True):
    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(ApiObject, frozen=True, tag_field="kind"):
    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()


StorageObject: TypeAlias = (
    PersistentVolumeClaim
    | PersistentVolume
    | StorageClass
    | CSINode
    | CSIDriver
    | CSIStorageCapacity
    | VolumeAttachment
)
"""What volume rules read. The items of a typed list may leave out ``kind``; in a story it tells them apart."""

STORAGE_KINDS: dict[str, type[StorageObject]] = {
    "PersistentVolumeClaim": PersistentVolumeClaim,
    "PersistentVolume": PersistentVolume,
    "StorageClass": StorageClass,
    "CSINode": CSINode,
    "CSIDriver": CSIDriver,
    "CSIStorageCapacity": CSIStorageCapacity,
    "VolumeAttachment": VolumeAttachment,
}


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    """The name of its storage class: the annotation's before the field's; "" for none."""
    return (claim.metadata.annotations or {}).get(BETA_STORAGE_CLASS_ANNOTATION, claim.spec.storage_class_name or "")


def class_of_volume(volume: PersistentVolume) -> str:
    """The name of its storage class: the annotation's before the field's; "" for none."""
    return (volume.metadata.annotations or {}).get(BETA_STORAGE_CLASS_ANNOTATION, volume.spec.storage_class_name)


def volume_limits(csi_node: CSINode | None) -> dict[str, int]:
    """How many volumes of each driver the node can use; a driver without a count is left out."""
    drivers = () if csi_node is None else csi_node.spec.drivers or ()
    return {
        driver.name: driver.allocatable.count
        for driver in drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }
