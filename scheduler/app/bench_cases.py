"""The cases of ``reprise bench decide``: nodes, and a stream of pods with what happens between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from scheduler.api.objects import Node, Pod
from scheduler.api.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, StorageObject
from scheduler.core.stimulus import NodeApplied, Stimulus

NAMESPACE = "bench"
SCHEDULER_NAME = "reprise"
EVENT_EVERY = 100
ZONES = 3

_DRIVER = "csi.example.com"
_VOLUMES_THERE = 5


class Step(NamedTuple):
    """A pod, and the stimulus that comes before it."""

    pod: Pod
    before: Stimulus | None = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """``steps(nodes, pods, now)`` gives the pods; ``cpu`` and ``pods_per_node`` are what each node has.

    ``there(nodes)``: pods that are on the nodes from the beginning; ``storage(nodes, pods)``: objects of storage then.
    """

    name: str
    steps: Callable[[int, int, float], Iterator[Step]]
    there: Callable[[int], Iterator[Pod]] | None = None
    storage: Callable[[int, int], Iterator[StorageObject]] | None = None
    cpu: str = "64"
    pods_per_node: int = 1_000_000


def build_node(index: int, case: Case, *, label: str = "") -> Node:
    """One node; ``label`` is a value that changes with node events."""
    name = f"node-{index:06}"
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{index % ZONES}"}
    if label:
        labels["bench"] = label
    raw = {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels},
        "status": {"allocatable": {"cpu": case.cpu, "memory": "256Gi", "pods": str(case.pods_per_node)}},
    }
    return msgspec.convert(raw, Node)


def build_pod(
    index: int,
    *,
    prefix: str = "pod",
    cpu: str = "1m",
    memory: str = "1Mi",
    host_port: int = 0,
    labels: dict[str, str] | None = None,
    requests: dict[str, str] | None = None,
    **spec: Any,
) -> Pod:
    """One pod of a shape; ``requests``: of more than cpu and memory; further fields of its spec as the API names them."""
    container: dict[str, Any] = {
        "name": "main",
        "image": "bench/app:1",
        "resources": {"requests": {"cpu": cpu, "memory": memory, **(requests or {})}},
    }
    if host_port:
        container["ports"] = [{"containerPort": host_port, "hostPort": host_port}]
    raw = {
        "metadata": {
            "name": f"{prefix}-{index:06}",
            "namespace": NAMESPACE,
            "uid": f"uid-{prefix}-{index}",
            **({"labels": labels} if labels else {}),
        },
        "spec": {"schedulerName": SCHEDULER_NAME, "containers": [container], **spec},
    }
    return msgspec.convert(raw, Pod)


def _same_shape(_nodes: int, pods: int, _now: float) -> Iterator[Step]:
    return (Step(build_pod(index)) for index in range(pods))


def _two_shapes(_nodes: int, pods: int, _now: float) -> Iterator[Step]:
    return (Step(build_pod(index, cpu="1m" if index % 2 else "2m")) for index in range(pods))


def _one_a_node(nodes: int, pods: int, _now: float) -> Iterator[Step]:
    return (Step(build_pod(index, host_port=8080)) for index in range(min(nodes, pods)))


def _filling(nodes: int, pods: int, _now: float) -> Iterator[Step]:
    # Two fit on a node, so every other decision takes a node out of question.
    return (Step(build_pod(index, cpu="31")) for index in range(min(2 * nodes, pods)))


def _node_events(nodes: int, pods: int, now: float) -> Iterator[Step]:
    for index in range(pods):
        node = (
            build_node(index % nodes, NODE_EVENTS, label=f"v{index}")
            if index % EVENT_EVERY == EVENT_EVERY - 1
            else None
        )
        yield Step(build_pod(index), None if node is None else NodeApplied(now=now, node=node))


def _unschedulable(_nodes: int, pods: int, _now: float) -> Iterator[Step]:
    return (Step(build_pod(index, cpu="1000" if index % 2 else "1m")) for index in range(pods))


def _apart(app: str) -> dict[str, Any]:
    """Required anti-affinity to pods of the same app on a node."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _one_a_node_by_affinity(nodes: int, pods: int, _now: float) -> Iterator[Step]:
    return (Step(build_pod(index, labels={"app": "web"}, affinity=_apart("web"))) for index in range(min(nodes, pods)))


def _two_on_each(nodes: int) -> Iterator[Pod]:
    """One of an app that keeps apart as well, and one of an app that does not care."""
    for index in range(nodes):
        there: dict[str, Any] = {"nodeName": f"node-{index:06}"}
        yield build_pod(index, prefix="db", labels={"app": "db"}, affinity=_apart("db"), **there)
        yield build_pod(index, prefix="job", labels={"app": f"job-{index % 100}"}, **there)


def _spread_over_zones(_nodes: int, pods: int, _now: float) -> Iterator[Step]:
    constraint = {
        "maxSkew": 5,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    return (
        Step(build_pod(index, labels={"app": "web"}, topologySpreadConstraints=[constraint])) for index in range(pods)
    )


def _one_that_counts_on_each(nodes: int) -> Iterator[Pod]:
    """And one that does not."""
    for index in range(nodes):
        there: dict[str, Any] = {"nodeName": f"node-{index:06}"}
        yield build_pod(index, prefix="web", labels={"app": "web"}, **there)
        yield build_pod(index, prefix="job", labels={"app": f"job-{index % 100}"}, **there)


def _claims(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]


def _build_claim(name: str, **spec: Any) -> PersistentVolumeClaim:
    metadata: dict[str, Any] = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "resourceVersion": "1"}
    if "volumeName" in spec:
        metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    amounts = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return msgspec.convert({"metadata": metadata, "spec": {**amounts, **spec}}, PersistentVolumeClaim)


def _build_volume(name: str, **spec: Any) -> PersistentVolume:
    raw = {
        "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"},
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, **spec},
        "status": {"phase": "Available"},
    }
    return msgspec.convert(raw, PersistentVolume)


def _volumes_near_the_limit(nodes: int, pods: int) -> Iterator[StorageObject]:
    """Each node can take one volume more than those that its pod has, and each pod of the stream brings one."""
    drivers = [{"name": _DRIVER, "nodeID": "n", "allocatable": {"count": _VOLUMES_THERE + 1}}]
    for index in range(nodes):
        yield msgspec.convert({"metadata": {"name": f"node-{index:06}"}, "spec": {"drivers": drivers}}, CSINode)
    held = (f"db-{index}-{number}" for index in range(nodes) for number in range(_VOLUMES_THERE))
    for name in (*held, *(f"data-{index}" for index in range(pods))):
        yield _build_claim(name, volumeName=name)
        yield _build_volume(name, csi={"driver": _DRIVER, "volumeHandle": name})


def _one_with_volumes_on_each(nodes: int) -> Iterator[Pod]:
    for index in range(nodes):
        names = (f"db-{index}-{number}" for number in range(_VOLUMES_THERE))
        yield build_pod(index, prefix="db", nodeName=f"node-{index:06}", volumes=_claims(*names))


def _with_a_claim(nodes: int, pods: int, _now: float) -> Iterator[Step]:
    return (Step(build_pod(index, volumes=_claims(f"data-{index}"))) for index in range(min(nodes, pods)))


def _a_local_volume_on_each(nodes: int, pods: int) -> Iterator[StorageObject]:
    """And claims that wait for their pod's node."""
    metadata, local = {"name": "local"}, "kubernetes.io/no-provisioner"
    raw = {"metadata": metadata, "provisioner": local, "volumeBindingMode": "WaitForFirstConsumer"}
    yield msgspec.convert(raw, StorageClass)
    for index in range(nodes):
        here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [f"node-{index:06}"]}
        affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}
        yield _build_volume(f"local-{index:06}", storageClassName="local", nodeAffinity=affinity)
    for index in range(pods):
        yield _build_claim(f"data-{index}", storageClassName="local")


NODE_EVENTS = Case(name="a node event every 100 pods", steps=_node_events)
CASES = (
    Case(name="same shape", steps=_same_shape),
    Case(name="A B A B", steps=_two_shapes),
    Case(name="one pod a node by host port", steps=_one_a_node),
    Case(name="nodes that fill up", steps=_filling),
    NODE_EVENTS,
    Case(name="an unschedulable shape between schedulable ones", steps=_unschedulable),
    Case(name="hostname anti-affinity", steps=_one_a_node_by_affinity, there=_two_on_each),
    Case(name="zone spread", steps=_spread_over_zones, there=_one_that_counts_on_each),
    Case(
        name="node volume limits",
        steps=_with_a_claim,
        there=_one_with_volumes_on_each,
        storage=_volumes_near_the_limit,
    ),
    Case(name="WaitForFirstConsumer claims", steps=_with_a_claim, storage=_a_local_volume_on_each),
)
