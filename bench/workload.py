"""SchedulingBasic of kube-scheduler's own benchmarks (scheduler_perf, 1.37): plain nodes, pods of one small shape, nothing else.

There the harness gives each pod a label of its own, so that none of them could be batched; here all of them carry the same
one (``signatureBatchSize`` is the number of pods), and no pods run before the measured ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.support.resources import Object

NAME = "SchedulingBasic"
NAMESPACE = "default"

_ALLOCATABLE = {"cpu": "4", "memory": "32Gi", "pods": "110"}
_REQUESTS = {"cpu": "100m", "memory": "500Mi"}


def nodes(count: int) -> Iterator[Object]:
    """Ready nodes of 4 CPUs, 32Gi and 110 pods; nothing runs them."""
    for index in range(count):
        name = f"node-{index:05}"
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {
                "capacity": _ALLOCATABLE,
                "allocatable": _ALLOCATABLE,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }


def pods(count: int, scheduler_name: str) -> Iterator[Object]:
    """Pods of one container that asks for, and is limited to, 100m CPU and 500Mi."""
    container = {
        "name": "pause",
        "image": "registry.k8s.io/pause:3.10.2",
        "ports": [{"containerPort": 80}],
        "resources": {"requests": _REQUESTS, "limits": _REQUESTS},
    }
    for index in range(count):
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"pod-{index:05}",
                "namespace": NAMESPACE,
                "labels": {"signature": "signature-label-0"},
            },
            "spec": {"schedulerName": scheduler_name, "containers": [container]},
        }


def most_pods(node_count: int) -> int:
    """How many of these pods the nodes hold: CPU is what runs out first."""
    return node_count * 40
