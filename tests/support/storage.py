"""Claims, volumes, classes and drivers with defaults for all that a test does not care about."""

from collections.abc import Iterable, Mapping
from typing import Any

from scheduler.api.objects import ObjectMeta, OwnerReference, ResourceRequirements, Volume
from scheduler.api.storage import (
    CSIDriver,
    CSIDriverSpec,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    CSIStorageCapacity,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
    StorageClass,
    VolumeAttachment,
    VolumeAttachmentSource,
    VolumeAttachmentSpec,
    VolumeNodeResources,
)
from scheduler.api.volume_sources import CSIVolumeSource, EphemeralVolumeSource, PersistentVolumeClaimVolumeSource

EBS = "ebs.csi.aws.com"


def claim_volume(claim_name: str = "data", name: str = "v") -> Volume:
    return Volume(name=name, persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=claim_name))


def ephemeral_volume(name: str = "scratch") -> Volume:
    return Volume(name=name, ephemeral=EphemeralVolumeSource())


def make_claim(
    name: str = "data",
    *,
    namespace: str = "default",
    volume_name: str = "",
    class_name: str | None = None,
    modes: Iterable[str] = ("ReadWriteOnce",),
    request: str = "1Gi",
    version: str = "1",
    annotations: Mapping[str, str] | None = None,
    owner_uid: str = "",
    **spec: Any,
) -> PersistentVolumeClaim:
    """A claim, unbound unless told; ``owner_uid``: of the pod that controls it."""
    metadata = ObjectMeta(
        name=name,
        namespace=namespace,
        uid=f"{namespace}-{name}",
        resource_version=version,
        annotations=None if annotations is None else dict(annotations),
        owner_references=[OwnerReference(kind="Pod", uid=owner_uid, controller=True)] if owner_uid else None,
    )
    return PersistentVolumeClaim(
        metadata=metadata,
        spec=PersistentVolumeClaimSpec(
            access_modes=list(modes),
            resources=ResourceRequirements(requests={"storage": request}),
            volume_name=volume_name,
            storage_class_name=class_name,
            **spec,
        ),
    )


def make_volume(
    name: str = "pv",
    *,
    csi: tuple[str, str] | None = None,
    claim: str = "",
    class_name: str = "",
    labels: Mapping[str, str] | None = None,
    version: str = "1",
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> PersistentVolume:
    """A volume; ``csi``: driver and handle; ``claim``: ``namespace/name`` of its claim."""
    namespace, _, claim_name = claim.partition("/")
    return PersistentVolume(
        metadata=ObjectMeta(
            name=name,
            uid=f"{name}-uid",
            resource_version=version,
            labels=None if labels is None else dict(labels),
            annotations=None if annotations is None else dict(annotations),
        ),
        spec=PersistentVolumeSpec(
            capacity={"storage": "1Gi"},
            access_modes=["ReadWriteOnce"],
            storage_class_name=class_name,
            csi=None if csi is None else CSIVolumeSource(driver=csi[0], volume_handle=csi[1]),
            claim_ref=ObjectReference(namespace=namespace, name=claim_name) if claim else None,
            **spec,
        ),
    )


def make_class(
    name: str = "fast", *, provisioner: str = EBS, mode: str | None = "WaitForFirstConsumer"
) -> StorageClass:
    return StorageClass(metadata=ObjectMeta(name=name), provisioner=provisioner, volume_binding_mode=mode)


def make_csi_node(name: str = "n1", limits: Mapping[str, int | None] | None = None) -> CSINode:
    """The drivers of a node with their limits; None for one without."""
    drivers = [
        CSINodeDriver(name=driver, allocatable=None if count is None else VolumeNodeResources(count=count))
        for driver, count in ({EBS: 25} if limits is None else limits).items()
    ]
    return CSINode(metadata=ObjectMeta(name=name), spec=CSINodeSpec(drivers=drivers))


def make_driver(name: str = EBS, **spec: Any) -> CSIDriver:
    return CSIDriver(metadata=ObjectMeta(name=name), spec=CSIDriverSpec(**spec))


def make_capacity(name: str, class_name: str = "fast", *, namespace: str = "kube-system") -> CSIStorageCapacity:
    return CSIStorageCapacity(
        metadata=ObjectMeta(name=name, namespace=namespace), storage_class_name=class_name, capacity="1Gi"
    )


def make_attachment(name: str, node: str, volume: str | None, *, attacher: str = EBS) -> VolumeAttachment:
    return VolumeAttachment(
        metadata=ObjectMeta(name=name),
        spec=VolumeAttachmentSpec(
            attacher=attacher, node_name=node, source=VolumeAttachmentSource(persistent_volume_name=volume)
        ),
    )
