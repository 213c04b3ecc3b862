"""Pods, nodes and namespaces as JSON manifests, with defaults for all that a test does not care about."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.resources import Object

KWOK_ANNOTATION = "kwok.x-k8s.io/node"


def pod_manifest(
    name: str,
    *,
    namespace: str = "default",
    scheduler_name: str = "reprise",
    requests: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> Object:
    """A pod of one container that asks for `requests` (100m CPU, 128Mi by default); further fields of its spec by name."""
    resources = {"requests": dict({"cpu": "100m", "memory": "128Mi"} if requests is None else requests)}
    container = {"name": "main", "image": "registry.example/app:1", "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels or {})},
        "spec": {"schedulerName": scheduler_name, "containers": [container], **spec},
    }


def node_manifest(
    name: str,
    *,
    allocatable: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    zone: str | None = None,
    kwok: bool = True,
    **spec: Any,
) -> Object:
    """A ready node of 4 CPUs, 16Gi and 110 pods, with the labels a kubelet sets; `kwok` has it simulated by kwok."""
    resources = {"cpu": "4", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110", **(allocatable or {})}
    well_known = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    if zone is not None:
        well_known["topology.kubernetes.io/zone"] = zone
    conditions = [
        {"type": "Ready", "status": "True", "reason": "KubeletReady"},
        *({"type": kind, "status": "False"} for kind in ("MemoryPressure", "DiskPressure", "PIDPressure")),
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {**well_known, **(labels or {})},
            "annotations": {**({KWOK_ANNOTATION: "fake"} if kwok else {}), **(annotations or {})},
        },
        "spec": {"taints": [dict(taint) for taint in taints], **spec},
        "status": {"capacity": resources, "allocatable": resources, "conditions": conditions},
    }


def namespace_manifest(name: str, *, labels: Mapping[str, str] | None = None) -> Object:
    """A namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels or {})}}
