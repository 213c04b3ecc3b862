"""Classes, volumes and claims as JSON manifests, with defaults for all that a test does not care about."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.manifests import pod_manifest
from tests.support.resources import Object

HOSTNAME = "kubernetes.io/hostname"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
WAITS = "WaitForFirstConsumer"


def class_manifest(name: str, *, mode: str = WAITS, provisioner: str = NO_PROVISIONER, **fields: Any) -> Object:
    """A storage class; of a static one the volumes are made by hand."""
    metadata = {"name": name}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": metadata,
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        **fields,
    }


def volume_manifest(
    name: str,
    class_name: str,
    *,
    node: str | None = None,
    size: str = "1Gi",
    modes: Sequence[str] = ("ReadWriteOnce",),
    claim: str | None = None,
    labels: Mapping[str, str] | None = None,
    source: Object | None = None,
    **spec: Any,
) -> Object:
    """A volume, a local one of `node` if given; `claim` of namespace default is the only one that may have it."""
    if node is not None:
        terms = [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]}]
        spec = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}, **spec}
        source = source or {"local": {"path": f"/mnt/{name}"}}
    if claim is not None:
        spec = {"claimRef": {"namespace": "default", "name": claim}, **spec}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": list(modes),
            "storageClassName": class_name,
            "persistentVolumeReclaimPolicy": "Retain",
            **(source or {"hostPath": {"path": f"/mnt/{name}"}}),
            **spec,
        },
    }


def claim_manifest(
    name: str,
    class_name: str,
    *,
    size: str = "1Gi",
    modes: Sequence[str] = ("ReadWriteOnce",),
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Object:
    """A claim of namespace default."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "annotations": dict(annotations or {})},
        "spec": {
            "accessModes": list(modes),
            "storageClassName": class_name,
            "resources": {"requests": {"storage": size}},
            **spec,
        },
    }


def claiming_pod(name: str, *claims: str, **fields: Any) -> Object:
    """A pod that uses these claims; further fields as `pod_manifest` takes them."""
    volumes = [
        {"name": f"claim-{index}", "persistentVolumeClaim": {"claimName": claim}} for index, claim in enumerate(claims)
    ]
    return pod_manifest(name, volumes=volumes, **fields)


def nodes_allowed(volume: Object, nodes: Sequence[Object]) -> set[str]:
    """The nodes that a volume of `volume_manifest` can be used on."""
    affinity = volume["spec"].get("nodeAffinity")
    if affinity is None:
        return {node["metadata"]["name"] for node in nodes}
    [term] = affinity["required"]["nodeSelectorTerms"]
    [expression] = term["matchExpressions"]
    assert expression["operator"] == "In"
    return {
        node["metadata"]["name"]
        for node in nodes
        if node["metadata"]["labels"].get(expression["key"]) in expression["values"]
    }
