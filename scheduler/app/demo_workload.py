"""The demo's pods: a few shapes that clusters see in bursts, made the same way for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

NAMESPACE = "demo"
SCHEDULER_NAME = "reprise"


class Shape(NamedTuple):
    """A template; ``share`` is its part of all pods."""

    name: str
    share: int
    cpu: str
    memory: str
    image: str
    spec: Mapping[str, Any] = MappingProxyType({})


_AMD64 = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}
            ]
        }
    }
}
_PREFERS_COMPUTE = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 80,
                "preference": {
                    "matchExpressions": [
                        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["compute-16"]}
                    ]
                },
            }
        ]
    }
}

SHAPES = (
    Shape(
        "batch-worker",
        60,
        "100m",
        "128Mi",
        "batch/worker:3.2",
        {"tolerations": [{"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"}]},
    ),
    Shape("ci-job", 25, "200m", "256Mi", "ci/runner:11.4", {"affinity": _AMD64}),
    Shape("web", 10, "150m", "200Mi", "shop/web:5.0", {"nodeSelector": {"kubernetes.io/os": "linux"}}),
    Shape("trainer", 5, "500m", "1Gi", "ml/trainer:0.9", {"affinity": _PREFERS_COMPUTE, "priority": 100}),
)


def build_pods(count: int, *, seed: int) -> Iterator[dict[str, Any]]:
    """``count`` pods, the shapes mixed by their shares."""
    chance = random.Random(seed)
    shares = [shape.share for shape in SHAPES]
    for index in range(count):
        yield build_pod(chance.choices(SHAPES, shares)[0], index)


def build_pod(shape: Shape, index: int) -> dict[str, Any]:
    """One pod of a shape."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{shape.name}-{index:06}",
            "namespace": NAMESPACE,
            "labels": {"app.kubernetes.io/name": shape.name},
        },
        "spec": {
            "schedulerName": SCHEDULER_NAME,
            "containers": [
                {
                    "name": "main",
                    "image": shape.image,
                    "resources": {"requests": {"cpu": shape.cpu, "memory": shape.memory}},
                }
            ],
            **shape.spec,
        },
    }
