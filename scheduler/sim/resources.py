"""The resources that are served: one row each, nothing else of the server knows a kind by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from scheduler.sim.events import EVENTS_GROUP_FORM, EventRules, Form
from scheduler.sim.kinds import DisruptionBudgetRules, NamespaceRules, NodeRules, Rules
from scheduler.sim.pods import PodRules
from scheduler.sim.selectors import Field, Fields
from scheduler.sim.storage import (
    ClaimRules,
    CSIDriverRules,
    CSINodeRules,
    StorageClassRules,
    VolumeAttachmentRules,
    VolumeRules,
)

READ_VERBS = ("get", "list", "watch")
ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True)
class Resource:
    """One resource of one API version."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    # What may be selected by, beside metadata.name and metadata.namespace.
    selectable: Mapping[str, Field] = field(default_factory=dict)
    # Whether changes of the spec are counted in metadata.generation.
    counts_generations: bool = True
    # Whether a deletion is answered with the deleted object and not with a Status.
    returns_deleted: bool = False
    # Whether a watch is answered from a cache, which words its refusals in its own way.
    cached: bool = True
    rules: Rules = field(default_factory=Rules)
    # The shelf that the objects are kept on; two resources that share one show the same objects in two forms.
    shelf: str = ""
    form: Form | None = None

    @cached_property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def path(self) -> str:
        """Path of its API version."""
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"

    @cached_property
    def shelf_name(self) -> str:
        return self.shelf or f"{self.plural}.{self.group}"

    @cached_property
    def singular(self) -> str:
        return self.kind.lower()

    @cached_property
    def fields(self) -> Fields:
        own = {"metadata.name": Field(("metadata", "name"))}
        if self.namespaced:
            own["metadata.namespace"] = Field(("metadata", "namespace"))
        return own | dict(self.selectable)

    def key(self, namespace: str, name: str) -> str:
        """The key of an object on the shelf; keys sort as the API lists."""
        return f"{namespace}/{name}" if self.namespaced else name

    def storage_key(self, key: str) -> str:
        """The key as error texts show it."""
        return f"/registry/{self.plural if self.plural != 'nodes' else 'minions'}/{key}"


def _fields(*paths: str, absent: str = "") -> dict[str, Field]:
    return {path: Field(tuple(path.split(".")), absent) for path in paths}


_EVENT_FIELDS = (
    _fields("reason", "reportingComponent", "source", "type")
    | {"source": Field(("source", "component"))}
    | _fields(*(f"involvedObject.{name}" for name in ("kind", "namespace", "name", "uid", "apiVersion")))
)
_NEW_EVENT_FIELDS = _fields("reason", "type") | {
    "reportingController": Field(("reportingComponent",)),
    **{
        f"regarding.{name}": Field(("involvedObject", name))
        for name in ("kind", "namespace", "name", "uid", "apiVersion")
    },
}

PODS = Resource(
    "",
    "v1",
    "pods",
    "Pod",
    short_names=("po",),
    categories=("all",),
    subresources=("binding", "status"),
    selectable=_fields(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    )
    | _fields("spec.hostNetwork", absent="false"),
    returns_deleted=True,
    rules=PodRules(),
)
NODES = Resource(
    "",
    "v1",
    "nodes",
    "Node",
    namespaced=False,
    short_names=("no",),
    subresources=("status",),
    selectable=_fields("spec.unschedulable", absent="false"),
    counts_generations=False,
    rules=NodeRules(),
)
NAMESPACES = Resource(
    "",
    "v1",
    "namespaces",
    "Namespace",
    namespaced=False,
    short_names=("ns",),
    subresources=("finalize", "status"),
    selectable=_fields("status.phase"),
    counts_generations=False,
    returns_deleted=True,
    rules=NamespaceRules(),
)
EVENTS = Resource(
    "",
    "v1",
    "events",
    "Event",
    short_names=("ev",),
    selectable=_EVENT_FIELDS,
    counts_generations=False,
    cached=False,
    rules=EventRules(),
    shelf="events",
)
NEW_EVENTS = Resource(
    "events.k8s.io",
    "v1",
    "events",
    "Event",
    short_names=("ev",),
    selectable=_NEW_EVENT_FIELDS,
    counts_generations=False,
    cached=False,
    rules=EventRules(strict=True),
    shelf="events",
    form=EVENTS_GROUP_FORM,
)


def _of_drivers(plural: str, kind: str, rules: Rules | None = None, **more: Any) -> Resource:
    """What CSI drivers write and read."""
    fields = {
        "namespaced": False,
        "counts_generations": False,
        "returns_deleted": True,
        "rules": rules or Rules(),
        **more,
    }
    return Resource("storage.k8s.io", "v1", plural, kind, **fields)


RESOURCES = (
    PODS,
    NODES,
    NAMESPACES,
    EVENTS,
    Resource(
        "",
        "v1",
        "services",
        "Service",
        short_names=("svc",),
        categories=("all",),
        subresources=("status",),
        selectable=_fields("spec.clusterIP", "spec.type"),
        counts_generations=False,
        returns_deleted=True,
    ),
    Resource(
        "",
        "v1",
        "replicationcontrollers",
        "ReplicationController",
        short_names=("rc",),
        categories=("all",),
        subresources=("status",),
    ),
    Resource(
        "apps", "v1", "replicasets", "ReplicaSet", short_names=("rs",), categories=("all",), subresources=("status",)
    ),
    Resource(
        "apps", "v1", "statefulsets", "StatefulSet", short_names=("sts",), categories=("all",), subresources=("status",)
    ),
    Resource(
        "",
        "v1",
        "persistentvolumes",
        "PersistentVolume",
        namespaced=False,
        short_names=("pv",),
        subresources=("status",),
        counts_generations=False,
        returns_deleted=True,
        rules=VolumeRules(),
    ),
    Resource(
        "",
        "v1",
        "persistentvolumeclaims",
        "PersistentVolumeClaim",
        short_names=("pvc",),
        subresources=("status",),
        counts_generations=False,
        returns_deleted=True,
        rules=ClaimRules(),
    ),
    Resource(
        "storage.k8s.io",
        "v1",
        "storageclasses",
        "StorageClass",
        namespaced=False,
        short_names=("sc",),
        counts_generations=False,
        returns_deleted=True,
        rules=StorageClassRules(),
    ),
    _of_drivers("csinodes", "CSINode", CSINodeRules()),
    _of_drivers("csidrivers", "CSIDriver", CSIDriverRules()),
    _of_drivers("csistoragecapacities", "CSIStorageCapacity", namespaced=True, returns_deleted=False),
    _of_drivers("volumeattachments", "VolumeAttachment", VolumeAttachmentRules(), subresources=("status",)),
    Resource(
        "policy",
        "v1",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
        short_names=("pdb",),
        subresources=("status",),
        rules=DisruptionBudgetRules(),
    ),
    NEW_EVENTS,
    Resource("coordination.k8s.io", "v1", "leases", "Lease", counts_generations=False),
    Resource("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", namespaced=False, returns_deleted=True),
)
