"""The resources that are watched, and the stimuli that their changes become."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar
from urllib.parse import urlencode

from scheduler.api.disruption import PodDisruptionBudget
from scheduler.api.objects import (
    DeviceClass,
    Namespace,
    Node,
    ObjectMeta,
    Pod,
    ReplicaSet,
    ReplicationController,
    SelectingObject,
    Service,
    StatefulSet,
)
from scheduler.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    StorageObject,
    VolumeAttachment,
)
from scheduler.core.stimulus import (
    DeviceClassApplied,
    DeviceClassDeleted,
    DisruptionBudgetApplied,
    DisruptionBudgetDeleted,
    NamespaceApplied,
    NamespaceDeleted,
    NodeApplied,
    NodeDeleted,
    PodApplied,
    PodDeleted,
    SelectingObjectApplied,
    SelectingObjectDeleted,
    Stimulus,
    StorageObjectApplied,
    StorageObjectDeleted,
)


class HasMetadata(Protocol):
    """Any Kubernetes object."""

    @property
    def metadata(self) -> ObjectMeta: ...


ObjectT = TypeVar("ObjectT", bound=HasMetadata)


@dataclass(frozen=True)
class WatchedResource(Generic[ObjectT]):
    """One resource, over all namespaces.

    ``applied(now, object)`` and ``deleted(now, namespace, name, uid)`` make the stimuli. The group of an ``optional``
    resource may be missing from the server: then there are no such objects.
    """

    name: str
    path: str
    kind: type[ObjectT]
    applied: Callable[[float, ObjectT], Stimulus]
    deleted: Callable[[float, str, str, str], Stimulus]
    group: str = ""
    field_selector: str = ""
    optional: bool = False
    is_namespaced: bool = True

    @property
    def full_name(self) -> str:
        """As kubectl and RBAC name it: ``pods``, ``deviceclasses.resource.k8s.io``."""
        return f"{self.name}.{self.group}" if self.group else self.name

    def query(self, **parameters: str) -> str:
        """The path with this resource's selector and the given parameters."""
        if self.field_selector:
            parameters["fieldSelector"] = self.field_selector
        return f"{self.path}?{urlencode(parameters)}"


AnyResource: TypeAlias = WatchedResource[Any]

NODES = WatchedResource(
    name="nodes",
    path="/api/v1/nodes",
    kind=Node,
    applied=lambda now, node: NodeApplied(now=now, node=node),
    deleted=lambda now, _namespace, name, uid: NodeDeleted(now=now, name=name, uid=uid),
    is_namespaced=False,
)
# A pod that reaches a terminal phase leaves the selector: the server then sends it as deleted (kube-scheduler 1.37: informers).
PODS = WatchedResource(
    name="pods",
    path="/api/v1/pods",
    kind=Pod,
    applied=lambda now, pod: PodApplied(now=now, pod=pod),
    deleted=lambda now, namespace, name, uid: PodDeleted(now=now, namespace=namespace, name=name, uid=uid),
    field_selector="status.phase!=Succeeded,status.phase!=Failed",
)
NAMESPACES = WatchedResource(
    name="namespaces",
    path="/api/v1/namespaces",
    kind=Namespace,
    applied=lambda now, namespace: NamespaceApplied(now=now, namespace=namespace),
    deleted=lambda now, _namespace, name, uid: NamespaceDeleted(now=now, name=name, uid=uid),
    is_namespaced=False,
)
DEVICE_CLASSES = WatchedResource(
    name="deviceclasses",
    group="resource.k8s.io",
    path="/apis/resource.k8s.io/v1/deviceclasses",
    kind=DeviceClass,
    applied=lambda now, device_class: DeviceClassApplied(now=now, device_class=device_class),
    deleted=lambda now, _namespace, name, uid: DeviceClassDeleted(now=now, name=name, uid=uid),
    is_namespaced=False,
    optional=True,
)

SelectingT = TypeVar("SelectingT", bound=SelectingObject)


def _selecting(name: str, kind: type[SelectingT], group: str = "") -> WatchedResource[SelectingT]:
    return WatchedResource(
        name=name,
        group=group,
        path=f"/apis/{group}/v1/{name}" if group else f"/api/v1/{name}",
        kind=kind,
        applied=lambda now, subject: SelectingObjectApplied(now=now, subject=subject),
        deleted=lambda now, namespace, name, uid: SelectingObjectDeleted(
            now=now, kind=kind.__name__, namespace=namespace, name=name, uid=uid
        ),
    )


SERVICES = _selecting("services", Service)
REPLICATION_CONTROLLERS = _selecting("replicationcontrollers", ReplicationController)
REPLICA_SETS = _selecting("replicasets", ReplicaSet, "apps")
STATEFUL_SETS = _selecting("statefulsets", StatefulSet, "apps")
SELECTING: tuple[AnyResource, ...] = (SERVICES, REPLICATION_CONTROLLERS, REPLICA_SETS, STATEFUL_SETS)

StorageT = TypeVar("StorageT", bound=StorageObject)


def _storage(
    name: str, kind: type[StorageT], group: str = "storage.k8s.io", *, is_namespaced: bool = False
) -> WatchedResource[StorageT]:
    return WatchedResource(
        name=name,
        group=group,
        path=f"/apis/{group}/v1/{name}" if group else f"/api/v1/{name}",
        kind=kind,
        applied=lambda now, subject: StorageObjectApplied(now=now, subject=subject),
        deleted=lambda now, namespace, name, uid: StorageObjectDeleted(
            now=now, kind=kind.__name__, namespace=namespace, name=name, uid=uid
        ),
        is_namespaced=is_namespaced,
    )


STORAGE: tuple[AnyResource, ...] = (
    _storage("persistentvolumeclaims", PersistentVolumeClaim, "", is_namespaced=True),
    _storage("persistentvolumes", PersistentVolume, ""),
    _storage("storageclasses", StorageClass),
    _storage("csinodes", CSINode),
    _storage("csidrivers", CSIDriver),
    _storage("csistoragecapacities", CSIStorageCapacity, is_namespaced=True),
    _storage("volumeattachments", VolumeAttachment),
)

DISRUPTION_BUDGETS = WatchedResource(
    name="poddisruptionbudgets",
    group="policy",
    path="/apis/policy/v1/poddisruptionbudgets",
    kind=PodDisruptionBudget,
    applied=lambda now, budget: DisruptionBudgetApplied(now=now, budget=budget),
    deleted=lambda now, namespace, name, uid: DisruptionBudgetDeleted(now=now, namespace=namespace, name=name, uid=uid),
)
IF_NAMED: tuple[AnyResource, ...] = (*SELECTING, *STORAGE, DISRUPTION_BUDGETS)
"""Watched as far as an enabled plugin names their kinds."""

WATCHED: tuple[AnyResource, ...] = (
    NODES,
    NAMESPACES,
    DEVICE_CLASSES,
    PODS,
)
"""Watched whatever is enabled. Pods come last: what they meet is known before them."""


def watched_resources(kinds: Iterable[str]) -> tuple[AnyResource, ...]:
    """What to watch when enabled plugins name these kinds."""
    wanted = frozenset(kinds)
    return (*WATCHED[:-1], *(resource for resource in IF_NAMED if resource.kind.__name__ in wanted), WATCHED[-1])
