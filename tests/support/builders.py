"""Pods and nodes as the scheduler holds them, with defaults for all that a test does not care about."""

from collections.abc import Iterable, Mapping
from typing import Any

from scheduler.api.objects import (
    Container,
    ContainerImage,
    ContainerPort,
    Node,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    Taint,
)
from scheduler.api.quantity import Quantity

HOSTNAME = "kubernetes.io/hostname"


def make_container(
    name: str = "main",
    *,
    image: str = "registry.example/app:1",
    requests: Mapping[str, Quantity] | None = None,
    ports: Iterable[ContainerPort] = (),
    **fields: Any,
) -> Container:
    """A container that asks for nothing unless told; further fields by name."""
    resources = ResourceRequirements(requests=None if requests is None else dict(requests))
    return Container(name=name, image=image, resources=resources, ports=list(ports) or None, **fields)


def make_pod(
    name: str = "pod",
    *,
    namespace: str = "default",
    uid: str | None = None,
    labels: Mapping[str, str] | None = None,
    requests: Mapping[str, Quantity] | None = None,
    containers: Iterable[Container] | None = None,
    status: PodStatus | None = None,
    deletion_timestamp: str | None = None,
    **spec: Any,
) -> Pod:
    """A pod of one container that asks for ``requests`` (100m CPU, 128Mi by default); further fields of its spec by name."""
    metadata = ObjectMeta(
        name=name,
        namespace=namespace,
        uid=f"{namespace}-{name}" if uid is None else uid,
        labels=None if labels is None else dict(labels),
        deletion_timestamp=deletion_timestamp,
    )
    if containers is None:
        containers = [make_container(requests={"cpu": "100m", "memory": "128Mi"} if requests is None else requests)]
    fields = {"scheduler_name": "reprise", "containers": list(containers), **spec}
    return Pod(metadata=metadata, spec=PodSpec(**fields), status=PodStatus() if status is None else status)


def make_node(
    name: str = "node",
    *,
    uid: str | None = None,
    labels: Mapping[str, str] | None = None,
    allocatable: Mapping[str, Quantity] | None = None,
    taints: Iterable[Taint] = (),
    unschedulable: bool = False,
    images: Mapping[str, int] | None = None,
    **status: Any,
) -> Node:
    """A node of 4 CPUs, 16Gi and 110 pods (``allocatable`` adds to these) with its hostname label; ``images``: name to bytes."""
    held = [ContainerImage(names=[image], size_bytes=size) for image, size in (images or {}).items()]
    return Node(
        metadata=ObjectMeta(
            name=name, uid=f"{name}-uid" if uid is None else uid, labels={HOSTNAME: name, **(labels or {})}
        ),
        spec=NodeSpec(unschedulable=unschedulable, taints=list(taints) or None),
        status=NodeStatus(
            allocatable={"cpu": "4", "memory": "16Gi", "pods": "110", **(allocatable or {})},
            images=held or None,
            **status,
        ),
    )
