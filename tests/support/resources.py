"""The API resources that tests touch, and the paths they live at."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of the API: its group and version, kind, plural name, and whether it lives in namespaces."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool = False

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """The path of a collection, an object or a subresource; without a namespace, of all namespaces."""
        root = "/api" if "/" not in self.api_version else "/apis"
        parts = [root, self.api_version]
        if self.namespaced and namespace is not None:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part is not None]
        return "/".join(parts)


PODS = Resource("v1", "Pod", "pods", namespaced=True)
NODES = Resource("v1", "Node", "nodes")
NAMESPACES = Resource("v1", "Namespace", "namespaces")
SERVICES = Resource("v1", "Service", "services", namespaced=True)
SERVICE_ACCOUNTS = Resource("v1", "ServiceAccount", "serviceaccounts", namespaced=True)
SECRETS = Resource("v1", "Secret", "secrets", namespaced=True)
CONFIG_MAPS = Resource("v1", "ConfigMap", "configmaps", namespaced=True)
CORE_EVENTS = Resource("v1", "Event", "events", namespaced=True)
REPLICATION_CONTROLLERS = Resource("v1", "ReplicationController", "replicationcontrollers", namespaced=True)
PERSISTENT_VOLUMES = Resource("v1", "PersistentVolume", "persistentvolumes")
PERSISTENT_VOLUME_CLAIMS = Resource("v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True)
EVENTS = Resource("events.k8s.io/v1", "Event", "events", namespaced=True)
REPLICA_SETS = Resource("apps/v1", "ReplicaSet", "replicasets", namespaced=True)
STATEFUL_SETS = Resource("apps/v1", "StatefulSet", "statefulsets", namespaced=True)
DEPLOYMENTS = Resource("apps/v1", "Deployment", "deployments", namespaced=True)
CONTROLLER_REVISIONS = Resource("apps/v1", "ControllerRevision", "controllerrevisions", namespaced=True)
JOBS = Resource("batch/v1", "Job", "jobs", namespaced=True)
DEVICE_CLASSES = Resource("resource.k8s.io/v1", "DeviceClass", "deviceclasses")
RESOURCE_SLICES = Resource("resource.k8s.io/v1", "ResourceSlice", "resourceslices")
RESOURCE_CLAIMS = Resource("resource.k8s.io/v1", "ResourceClaim", "resourceclaims", namespaced=True)
PRIORITY_CLASSES = Resource("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses")
POD_DISRUPTION_BUDGETS = Resource("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True)
STORAGE_CLASSES = Resource("storage.k8s.io/v1", "StorageClass", "storageclasses")
CSI_NODES = Resource("storage.k8s.io/v1", "CSINode", "csinodes")
CSI_DRIVERS = Resource("storage.k8s.io/v1", "CSIDriver", "csidrivers")
CSI_STORAGE_CAPACITIES = Resource("storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities", namespaced=True)
VOLUME_ATTACHMENTS = Resource("storage.k8s.io/v1", "VolumeAttachment", "volumeattachments")
LEASES = Resource("coordination.k8s.io/v1", "Lease", "leases", namespaced=True)
CLUSTER_ROLES = Resource("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles")
CLUSTER_ROLE_BINDINGS = Resource("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings")
ROLES = Resource("rbac.authorization.k8s.io/v1", "Role", "roles", namespaced=True)
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", namespaced=True)
NETWORK_POLICIES = Resource("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", namespaced=True)
SERVICE_MONITORS = Resource("monitoring.coreos.com/v1", "ServiceMonitor", "servicemonitors", namespaced=True)
PROMETHEUS_RULES = Resource("monitoring.coreos.com/v1", "PrometheusRule", "prometheusrules", namespaced=True)
CUSTOM_RESOURCE_DEFINITIONS = Resource(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions"
)
SELF_SUBJECT_ACCESS_REVIEWS = Resource("authorization.k8s.io/v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews")

_KINDS = {(known.api_version, known.kind): known for known in list(globals().values()) if isinstance(known, Resource)}


def resource_of(manifest: Mapping[str, Any]) -> Resource:
    """The resource of an object that says its apiVersion and kind.

    Raises:
        KeyError: a kind that this module does not list.
    """
    return _KINDS[manifest["apiVersion"], manifest["kind"]]
