"""The cases of ``reprise bench decide``: nodes, and a stream of pods with what happens between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from scheduler.api.objects import Node, Pod
from scheduler.core.stimulus import NodeApplied, Stimulus

NAMESPACE = "bench"
SCHEDULER_NAME = "reprise"
EVENT_EVERY = 100
ZONES = 3


class Step(NamedTuple):
    """A pod, and the stimulus that comes before it."""

    pod: Pod
    before: Stimulus | None = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """``steps(nodes, pods, now)`` gives the pods; ``cpu`` and ``pods_per_node`` are what each node has."""

    name: str
    steps: Callable[[int, int, float], Iterator[Step]]
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


def build_pod(index: int, *, cpu: str = "1m", memory: str = "1Mi", host_port: int = 0) -> Pod:
    """One pod of a shape."""
    container: dict[str, Any] = {
        "name": "main",
        "image": "bench/app:1",
        "resources": {"requests": {"cpu": cpu, "memory": memory}},
    }
    if host_port:
        container["ports"] = [{"containerPort": host_port, "hostPort": host_port}]
    raw = {
        "metadata": {"name": f"pod-{index:06}", "namespace": NAMESPACE, "uid": f"uid-pod-{index}"},
        "spec": {"schedulerName": SCHEDULER_NAME, "containers": [container]},
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


NODE_EVENTS = Case(name="a node event every 100 pods", steps=_node_events)
CASES = (
    Case(name="same shape", steps=_same_shape),
    Case(name="A B A B", steps=_two_shapes),
    Case(name="one pod a node by host port", steps=_one_a_node),
    Case(name="nodes that fill up", steps=_filling),
    NODE_EVENTS,
    Case(name="an unschedulable shape between schedulable ones", steps=_unschedulable),
)
