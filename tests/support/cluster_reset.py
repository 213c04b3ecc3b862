"""Make a test cluster empty again, fast enough to do it before every test."""

from collections import defaultdict
from collections.abc import Callable, Collection
from functools import partial

from tests.support.api_client import METADATA_ONLY, ApiClient, ApiError, run_all
from tests.support.resources import (
    CONTROLLER_REVISIONS,
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    DEPLOYMENTS,
    DEVICE_CLASSES,
    EVENTS,
    JOBS,
    LEASES,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    PRIORITY_CLASSES,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    SERVICES,
    STATEFUL_SETS,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
    Object,
    Resource,
)

# In this order: pods hold nodes and claims, and Events are written about all of them.
EMPTIED = (
    PODS,
    DEPLOYMENTS,
    JOBS,
    REPLICA_SETS,
    STATEFUL_SETS,
    CONTROLLER_REVISIONS,
    REPLICATION_CONTROLLERS,
    SERVICES,
    POD_DISRUPTION_BUDGETS,
    RESOURCE_CLAIMS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    VOLUME_ATTACHMENTS,
    CSI_STORAGE_CAPACITIES,
    STORAGE_CLASSES,
    CSI_NODES,
    CSI_DRIVERS,
    RESOURCE_SLICES,
    DEVICE_CLASSES,
    PRIORITY_CLASSES,
    NODES,
    LEASES,
    EVENTS,
)
KEPT_NAMESPACES = {"default", "kube-system", "kube-public", "kube-node-lease", "reprise"}
ONE_BY_ONE = 20  # fewer than these are deleted singly, which takes as long and asks less of the server


def count_objects(client: ApiClient) -> int:
    """How many of what there can be many."""
    total = 0
    for resource in (PODS, NODES, EVENTS):
        page = client.call("GET", resource.path(), query={"limit": 1}, accept=METADATA_ONLY)
        total += len(page.get("items") or []) + page["metadata"].get("remainingItemCount", 0)
    return total


def reset_cluster(client: ApiClient, *, keep: Collection[Resource] = ()) -> None:
    """Delete what tests make, in all namespaces, and the namespaces they made; finalizers are no obstacle.

    Custom resources, roles and bindings stay: their tests take them away; and what the caller wants to `keep`.
    """
    for resource in EMPTIED:
        if resource not in keep:
            _empty(client, resource)
    for namespace in client.list_objects(NAMESPACES, metadata_only=True):
        if namespace["metadata"]["name"] not in KEPT_NAMESPACES:
            client.delete_namespace(namespace["metadata"]["name"])


def _empty(client: ApiClient, resource: Resource) -> None:
    for attempt in range(3):
        found = [item for item in client.list_objects(resource, metadata_only=True) if not _is_servers_own(item)]
        if not found:
            return
        if attempt:  # deleted, and still there
            run_all(partial(_release, client, resource), found)
        places: dict[str | None, list[Object]] = defaultdict(list)
        for item in found:
            places[item["metadata"].get("namespace")].append(item)
        for namespace, items in places.items():
            if len(items) > ONE_BY_ONE and resource not in {SERVICES, LEASES, PRIORITY_CLASSES}:
                client.delete_collection(resource, namespace)
            else:
                run_all(partial(_delete, client, resource), items)
    left = [item["metadata"]["name"] for item in client.list_objects(resource) if not _is_servers_own(item)]
    if left:
        raise AssertionError(f"cannot delete {resource.plural} {left[:5]}")


def _is_servers_own(item: Object) -> bool:
    """What kube-apiserver makes for itself."""
    metadata = item["metadata"]
    name: str = metadata["name"]
    return (
        name.startswith("system-")  # priority classes
        or (name == "kubernetes" and metadata.get("namespace") == "default")  # its Service
        or metadata.get("labels", {}).get("apiserver.kubernetes.io/identity") is not None  # its Lease
    )


def _delete(client: ApiClient, resource: Resource, item: Object) -> None:
    metadata = item["metadata"]
    _unless_gone(partial(client.delete, resource, metadata["name"], metadata.get("namespace"), grace_seconds=0))


def _release(client: ApiClient, resource: Resource, item: Object) -> None:
    if item["metadata"].get("finalizers"):
        patch = {"metadata": {"finalizers": None}}
        metadata = item["metadata"]
        _unless_gone(partial(client.patch, resource, metadata["name"], patch, namespace=metadata.get("namespace")))


def _unless_gone(action: Callable[[], object]) -> None:
    try:
        action()
    except ApiError as error:
        if error.status != 404:
            raise
