"""Claims, volumes, classes and capacities, with defaults for all that a test does not care about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scheduler.api.objects import (
    LabelSelector,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    OwnerReference,
    Pod,
    ResourceRequirements,
    Volume,
)
from scheduler.api.quantity import Quantity
from scheduler.api.storage import (
    WAIT_FOR_FIRST_CONSUMER,
    CSIDriver,
    CSIDriverSpec,
    CSINode,
    CSIStorageCapacity,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    StorageObject,
    TopologySelectorLabelRequirement,
    TopologySelectorTerm,
    VolumeNodeAffinity,
)
from scheduler.api.volume_sources import EphemeralVolumeSource, PersistentVolumeClaimVolumeSource
from scheduler.cache.cache import Cache
from scheduler.cache.node_table import NodeTable
from scheduler.framework.pod_info import PodInfo
from tests.support.builders import HOSTNAME, make_pod

BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def make_claim(
    name: str = "data",
    *,
    namespace: str = "default",
    size: Quantity | None = "10Gi",
    storage_class: str | None = "local",
    volume: str = "",
    selected_node: str | None = None,
    annotations: Mapping[str, str] | None = None,
    phase: str = "Pending",
    deletion_timestamp: str | None = None,
    owner: Pod | None = None,
    modes: Iterable[str] = ("ReadWriteOnce",),
    version: str = "1",
    **spec: Any,
) -> PersistentVolumeClaim:
    """A claim for 10Gi of class ``local``, not bound; with ``volume`` bound to it for good."""
    held = {**(BOUND if volume else {}), **(annotations or {})}
    if selected_node is not None:
        held["volume.kubernetes.io/selected-node"] = selected_node
    owners = [OwnerReference(kind="Pod", uid=owner.metadata.uid, controller=True)] if owner is not None else None
    return PersistentVolumeClaim(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=f"{namespace}-{name}-claim",
            resource_version=version,
            annotations=held or None,
            deletion_timestamp=deletion_timestamp,
            owner_references=owners,
        ),
        spec=PersistentVolumeClaimSpec(
            access_modes=list(modes),
            resources=ResourceRequirements(requests=None if size is None else {"storage": size}),
            volume_name=volume,
            storage_class_name=storage_class,
            **spec,
        ),
        status=PersistentVolumeClaimStatus(phase="Bound" if volume else phase),
    )


def make_volume(
    name: str = "pv",
    *,
    node: str | None = None,
    affinity: NodeSelector | None = None,
    size: Quantity = "10Gi",
    storage_class: str = "local",
    claim: PersistentVolumeClaim | ObjectReference | None = None,
    phase: str = "Available",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    deletion_timestamp: str | None = None,
    modes: Iterable[str] = ("ReadWriteOnce",),
    version: str = "1",
    **spec: Any,
) -> PersistentVolume:
    """A volume of 10Gi of class ``local``, free, for every node or, as a local one, for ``node``."""
    if node is not None:
        affinity = node_selector((HOSTNAME, "In", [node]))
    return PersistentVolume(
        metadata=ObjectMeta(
            name=name,
            uid=f"{name}-uid",
            resource_version=version,
            labels=None if labels is None else dict(labels),
            annotations=None if annotations is None else dict(annotations),
            deletion_timestamp=deletion_timestamp,
        ),
        spec=PersistentVolumeSpec(
            capacity={"storage": size},
            access_modes=list(modes),
            storage_class_name=storage_class,
            claim_ref=reference_to(claim) if isinstance(claim, PersistentVolumeClaim) else claim,
            node_affinity=None if affinity is None else VolumeNodeAffinity(required=affinity),
            **spec,
        ),
        status=PersistentVolumeStatus(phase=phase),
    )


def reference_to(claim: PersistentVolumeClaim, *, uid: str | None = None) -> ObjectReference:
    """What a volume says of the claim that it is held by; ``uid`` "" as a user writes it by hand."""
    metadata = claim.metadata
    return ObjectReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid if uid is None else uid,
        resource_version=metadata.resource_version,
    )


def node_selector(*requirements: tuple[str, str, list[str]], fields: Iterable[str] = ()) -> NodeSelector:
    """One term with these conditions on labels, and on the name of the node."""
    return NodeSelector(
        node_selector_terms=[
            NodeSelectorTerm(
                match_expressions=[
                    NodeSelectorRequirement(key=key, operator=operator, values=values)
                    for key, operator, values in requirements
                ]
                or None,
                match_fields=[
                    NodeSelectorRequirement(key="metadata.name", operator="In", values=[name]) for name in fields
                ]
                or None,
            )
        ]
    )


def make_class(
    name: str = "local",
    *,
    provisioner: str = "kubernetes.io/no-provisioner",
    mode: str | None = WAIT_FOR_FIRST_CONSUMER,
    topologies: Iterable[Mapping[str, list[str]]] | None = None,
) -> StorageClass:
    """A class that waits for the pod's node and provisions nothing."""
    terms = None
    if topologies is not None:
        terms = [
            TopologySelectorTerm(
                match_label_expressions=[
                    TopologySelectorLabelRequirement(key=key, values=values) for key, values in term.items()
                ]
                or None
            )
            for term in topologies
        ]
    return StorageClass(
        metadata=ObjectMeta(name=name), provisioner=provisioner, volume_binding_mode=mode, allowed_topologies=terms
    )


def make_driver(name: str = "csi.example", *, storage_capacity: bool | None = True) -> CSIDriver:
    return CSIDriver(metadata=ObjectMeta(name=name), spec=CSIDriverSpec(storage_capacity=storage_capacity))


def make_capacity(
    name: str = "capacity",
    *,
    storage_class: str = "dynamic",
    topology: Mapping[str, str] | LabelSelector | None = None,
    capacity: Quantity | None = None,
    maximum: Quantity | None = None,
) -> CSIStorageCapacity:
    """Room of class ``dynamic``, on no node unless ``topology`` says which."""
    selector = topology if topology is None or isinstance(topology, LabelSelector) else LabelSelector(dict(topology))
    return CSIStorageCapacity(
        metadata=ObjectMeta(name=name, namespace="kube-system"),
        node_topology=selector,
        storage_class_name=storage_class,
        capacity=capacity,
        maximum_volume_size=maximum,
    )


def make_csi_node(name: str, *, migrated: Iterable[str] = ()) -> CSINode:
    plugins = ",".join(migrated)
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": plugins} if plugins else None
    return CSINode(metadata=ObjectMeta(name=name, annotations=annotations))


def claim_volume(claim: str, name: str | None = None) -> Volume:
    return Volume(
        name=claim if name is None else name,
        persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=claim),
    )


def ephemeral_volume(name: str) -> Volume:
    return Volume(name=name, ephemeral=EphemeralVolumeSource())


def make_pod_with(*claims: str, name: str = "pod", **fields: Any) -> Pod:
    """A pod that uses these claims."""
    return make_pod(name, volumes=[claim_volume(claim, f"v{number}") for number, claim in enumerate(claims)], **fields)


def storage_table(nodes: Iterable[Node], *objects: StorageObject, pods: Iterable[Pod] = ()) -> NodeTable:
    """A table of these nodes and pods, with these objects of storage."""
    cache = Cache(seed=1)
    for node in nodes:
        cache.apply_node(node)
    for subject in objects:
        cache.apply_storage_object(subject)
    for pod in pods:
        cache.apply_pod(PodInfo(pod))
    return cache.table
