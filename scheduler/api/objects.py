"""Kubernetes objects with only the fields that the scheduler reads, decoded straight from JSON.

Field names follow the Kubernetes API in snake_case. Everything is immutable, so a cached object can be shared. Unknown
fields, ``managedFields`` among them, are skipped by the decoder and cost nothing.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from scheduler.api.quantity import Quantity
from scheduler.api.volume_sources import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CinderVolumeSource,
    CSIVolumeSource,
    EphemeralVolumeSource,
    GCEPersistentDiskVolumeSource,
    ISCSIVolumeSource,
    PersistentVolumeClaimVolumeSource,
    PortworxVolumeSource,
    RBDVolumeSource,
    VsphereVirtualDiskVolumeSource,
)
from scheduler.api.wire import ApiObject

ResourceList = dict[str, Quantity]


class OwnerReference(ApiObject, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ObjectMeta(ApiObject, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: list[OwnerReference] | None = None


class Taint(ApiObject, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class Toleration(ApiObject, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class NodeSelectorRequirement(ApiObject, frozen=True):
    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class NodeSelectorTerm(ApiObject, frozen=True):
    match_expressions: list[NodeSelectorRequirement] | None = None
    match_fields: list[NodeSelectorRequirement] | None = None


class NodeSelector(ApiObject, frozen=True):
    node_selector_terms: list[NodeSelectorTerm] | None = None


class PreferredSchedulingTerm(ApiObject, frozen=True):
    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(ApiObject, frozen=True):
    required: NodeSelector | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: list[PreferredSchedulingTerm] | None = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=None
    )


class LabelSelectorRequirement(ApiObject, frozen=True):
    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class LabelSelector(ApiObject, frozen=True):
    match_labels: dict[str, str] | None = None
    match_expressions: list[LabelSelectorRequirement] | None = None


class PodAffinityTerm(ApiObject, frozen=True):
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class WeightedPodAffinityTerm(ApiObject, frozen=True):
    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(ApiObject, frozen=True):
    """Also the shape of ``podAntiAffinity``."""

    required: list[PodAffinityTerm] | None = msgspec.field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=None
    )
    preferred: list[WeightedPodAffinityTerm] | None = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=None
    )


class Affinity(ApiObject, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class ResourceRequirements(ApiObject, frozen=True):
    requests: ResourceList | None = None
    limits: ResourceList | None = None


class ContainerPort(ApiObject, frozen=True):
    host_port: int = 0
    container_port: int = 0
    protocol: str = ""
    host_ip: str = msgspec.field(name="hostIP", default="")


class ContainerRestartRule(ApiObject, frozen=True):
    action: str = ""


class VolumeMount(ApiObject, frozen=True):
    name: str = ""
    bind_mount_options: Any = None


class Container(ApiObject, frozen=True):
    name: str = ""
    image: str = ""
    ports: list[ContainerPort] | None = None
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str | None = None
    restart_policy_rules: list[ContainerRestartRule] | None = None
    volume_mounts: list[VolumeMount] | None = None


class ImageVolumeSource(ApiObject, frozen=True):
    reference: str = ""


class Volume(ApiObject, frozen=True):
    """A volume with the sources that some rule looks at; all others (emptyDir, configMap, nfs, ...) are left out."""

    name: str = ""
    image: ImageVolumeSource | None = None
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    csi: CSIVolumeSource | None = None


class TopologySpreadConstraint(ApiObject, frozen=True):
    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class PodSchedulingGate(ApiObject, frozen=True):
    name: str = ""


class PodResourceClaim(ApiObject, frozen=True):
    name: str = ""


class PodSpec(ApiObject, frozen=True):
    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    preemption_policy: str | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    containers: list[Container] = msgspec.field(default_factory=list)
    init_containers: list[Container] | None = None
    ephemeral_containers: list[Container] | None = None
    overhead: ResourceList | None = None
    resources: ResourceRequirements | None = None
    volumes: list[Volume] | None = None
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    scheduling_gates: list[PodSchedulingGate] | None = None
    resource_claims: list[PodResourceClaim] | None = None
    host_network: bool = False
    host_users: bool | None = None


class PodCondition(ApiObject, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int = 0


class ContainerStatus(ApiObject, frozen=True):
    name: str = ""
    allocated_resources: ResourceList | None = None
    resources: ResourceRequirements | None = None


class PodResourceClaimStatus(ApiObject, frozen=True):
    name: str = ""
    resource_claim_name: str | None = None


class PodStatus(ApiObject, frozen=True):
    phase: str = ""
    nominated_node_name: str = ""
    conditions: list[PodCondition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    allocated_resources: ResourceList | None = None
    resources: ResourceRequirements | None = None
    start_time: str | None = None
    resource_claim_statuses: list[PodResourceClaimStatus] | None = None
    extended_resource_claim_status: Any = None


class Pod(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class NodeSpec(ApiObject, frozen=True):
    unschedulable: bool = False
    taints: list[Taint] | None = None


class ContainerImage(ApiObject, frozen=True):
    names: list[str] | None = None
    size_bytes: int = 0


class NodeCondition(ApiObject, frozen=True):
    type: str = ""
    status: str = ""


class NodeStatus(ApiObject, frozen=True):
    allocatable: ResourceList | None = None
    images: list[ContainerImage] | None = None
    conditions: list[NodeCondition] | None = None
    declared_features: list[str] | None = None


class Node(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Namespace(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class DeviceClassSpec(ApiObject, frozen=True):
    extended_resource_name: str | None = None


class DeviceClass(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceClassSpec = DeviceClassSpec()


class LabelMapSpec(ApiObject, frozen=True):
    """The spec of a Service or ReplicationController: labels that a pod must have."""

    selector: dict[str, str] | None = None


class LabelSelectorSpec(ApiObject, frozen=True):
    """The spec of a ReplicaSet or StatefulSet."""

    selector: LabelSelector | None = None


class Service(ApiObject, frozen=True, tag_field="kind"):
    metadata: ObjectMeta = ObjectMeta()
    spec: LabelMapSpec = LabelMapSpec()


class ReplicationController(ApiObject, frozen=True, tag_field="kind"):
    metadata: ObjectMeta = ObjectMeta()
    spec: LabelMapSpec = LabelMapSpec()


class ReplicaSet(ApiObject, frozen=True, tag_field="kind"):
    metadata: ObjectMeta = ObjectMeta()
    spec: LabelSelectorSpec = LabelSelectorSpec()


class StatefulSet(ApiObject, frozen=True, tag_field="kind"):
    metadata: ObjectMeta = ObjectMeta()
    spec: LabelSelectorSpec = LabelSelectorSpec()


SelectingObject: TypeAlias = Service | ReplicationController | ReplicaSet | StatefulSet
"""What selects pods of its namespace. The items of a typed list may leave out ``kind``; in a story it tells them apart."""


def is_storage(volume: Volume) -> bool:
    """Whether volume rules look at the volume; any other is as good as none to the scheduler.

    An inline ``csi`` volume is looked at by queueing hints alone (kube-scheduler 1.37: VolumeBinding), never to place a pod.
    """
    return (
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.iscsi is not None
        or volume.rbd is not None
        or volume.azure_disk is not None
        or volume.azure_file is not None
        or volume.cinder is not None
        or volume.vsphere_volume is not None
        or volume.portworx_volume is not None
    )


def key_of(metadata: ObjectMeta) -> str:
    """``namespace/name``, or the name alone for a cluster-scoped object."""
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
