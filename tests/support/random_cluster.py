"""Random nodes and pods that the plugins of resources, labels, taints, ports and images tell apart, extremes included."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

import msgspec

from scheduler.api.objects import (
    Affinity,
    ContainerPort,
    ContainerRestartRule,
    ImageVolumeSource,
    Node,
    Pod,
    Taint,
    Toleration,
    Volume,
    VolumeMount,
)
from scheduler.plugins.node_declared_features import MOUNT_OPTIONS, RESTART_ALL, USER_NAMESPACES
from tests.support.builders import make_container, make_node, make_pod

HIGHEST, LOWEST = 2**63 - 1, -(2**63)
RESOURCES = ("cpu", "memory", "ephemeral-storage", "example.com/gpu", "example.com/fpga", "hugepages-2Mi")
KEYS, VALUES = ("zone", "cores", "disk"), ("a", "b", "", "8", "1_000", str(HIGHEST), "x" * 20)
FEATURES = ("AppArmor", RESTART_ALL, USER_NAMESPACES, MOUNT_OPTIONS)
IMAGES = ("app:1", "app:latest", "app", "registry:5000/web", "db@sha256:00")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
AMOUNTS = ("0", "1", "100m", "3", "2Gi", "16Gi", "9Ei", str(HIGHEST), str(HIGHEST - 1))
NEGATIVE_AMOUNTS = ("-1", "-2Gi", str(LOWEST))

Item = TypeVar("Item")


def some(random: Random, items: Sequence[Item], most: int | None = None) -> list[Item]:
    """A few of the items in random order, or none."""
    return random.sample(items, random.randint(0, min(len(items), len(items) if most is None else most)))


def amount(random: Random, *, signed: bool = False) -> str:
    if signed and random.random() < 0.3:
        return random.choice((*NEGATIVE_AMOUNTS, str(random.randint(LOWEST, HIGHEST))))
    return random.choice((*AMOUNTS, str(random.randint(0, HIGHEST)), str(random.randint(0, 10**10))))


def random_node(random: Random, name: str, *, signed: bool = False) -> Node:
    """A node; ``signed``: with amounts that no API server would let pass."""
    sizes = (0, 1, 23 * 2**20, 500 * 2**20, HIGHEST, random.randint(0, 2 * 10**9))
    taints = [
        Taint(key=key, value=random.choice(("", "v")), effect=random.choice(EFFECTS)) for key in some(random, KEYS, 2)
    ]
    return make_node(
        name,
        labels={key: random.choice(VALUES) for key in some(random, KEYS)},
        allocatable={name: amount(random, signed=signed) for name in some(random, (*RESOURCES, "pods"))},
        taints=taints,
        unschedulable=random.random() < 0.3,
        images={image: random.choice(sizes) for image in some(random, IMAGES)},
        declared_features=sorted(some(random, FEATURES)),
    )


def random_term(random: Random) -> dict[str, Any]:
    """A node selector term; one in ten cannot be read."""
    expressions = []
    for key in some(random, (*KEYS, "other"), 2):
        operator = random.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
        values = {"Exists": [], "DoesNotExist": [], "Gt": ["8"], "Lt": ["9"]}.get(operator, [])
        if operator in ("In", "NotIn"):
            values = [random.choice(VALUES[:4]) for _ in range(random.choice((1, 2, 12)))]
        if random.random() < 0.1:
            values = [*values, "one-more"] if operator not in ("In", "NotIn") else []
        expressions.append({"key": key, "operator": operator, "values": values})
    fields = []
    if random.random() < 0.3:
        key, operator = random.choice(("metadata.name", "spec.other")), random.choice(("In", "NotIn"))
        fields = [{"key": key, "operator": operator, "values": [random.choice(("n0", "n1", "ghost", ""))]}]
    return {"matchExpressions": expressions, "matchFields": fields}


def random_affinity(random: Random) -> Affinity:
    preferred = [
        {"weight": random.randint(0, 100), "preference": random_term(random)} for _ in range(random.randint(0, 2))
    ]
    rules: dict[str, Any] = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    if random.random() < 0.7:
        terms = [random_term(random) for _ in range(random.randint(0, 2))]
        rules["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    return msgspec.convert({"nodeAffinity": rules}, Affinity)


def random_pod(random: Random, name: str = "pod", node_name: str = "") -> Pod:
    """A pod, for the queue or on a node."""
    containers = [
        make_container(
            f"c{number}",
            image=random.choice((*IMAGES, "absent")),
            requests={resource: amount(random) for resource in some(random, RESOURCES)}
            if random.random() < 0.8
            else None,
            ports=[
                ContainerPort(
                    host_port=random.choice((0, 80, 81)),
                    host_ip=random.choice(("", "0.0.0.0", "10.0.0.1", "::")),
                    protocol=random.choice(("", "TCP", "UDP")),
                )
                for _ in range(random.randint(0, 2))
            ],
            restart_policy_rules=random.choice((None, None, [ContainerRestartRule(action="RestartAllContainers")])),
            volume_mounts=random.choice((None, None, [VolumeMount(bind_mount_options=["noexec"])])),
        )
        for number in range(random.randint(1, 3))
    ]
    tolerations = [
        Toleration(
            key=random.choice(("", *KEYS)),
            operator=random.choice(("", "Equal", "Exists")),
            value=random.choice(("", "v")),
            effect=random.choice(("", *EFFECTS)),
        )
        for _ in range(random.randint(0, 2))
    ]
    image_volume = Volume(name="v", image=ImageVolumeSource(reference="app:1"))
    return make_pod(
        name,
        containers=containers,
        node_name=node_name,
        node_selector={random.choice(KEYS): random.choice(VALUES)} if random.random() < 0.2 else None,
        affinity=random_affinity(random) if random.random() < 0.6 else None,
        tolerations=tolerations,
        volumes=[image_volume] if random.random() < 0.3 else None,
        host_network=random.random() < 0.3,
        host_users=random.choice((None, True, False)),
    )
