"""Pods and nodes of the stories about the batch cache."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec

from scheduler.api.objects import (
    Affinity,
    ContainerPort,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    Toleration,
)
from tests.support.builders import make_container
from tests.support.small_cluster import IMAGES, small_node


def named(*names: str) -> Affinity:
    fields = [[NodeSelectorRequirement(key="metadata.name", operator="In", values=[name])] for name in names]
    required = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=one) for one in fields])
    return Affinity(node_affinity=NodeAffinity(required=required))


def preferring(zone: str) -> Affinity:
    labels = [NodeSelectorRequirement(key="zone", operator="In", values=[zone])]
    terms = [PreferredSchedulingTerm(weight=5, preference=NodeSelectorTerm(match_expressions=labels))]
    return Affinity(node_affinity=NodeAffinity(preferred=terms))


def with_containers(image: str = "other", ports: int = 0, **requests: str) -> dict[str, Any]:
    held = [ContainerPort(host_port=80)] if ports else []
    return {"containers": [make_container(image=image, requests=requests or {"cpu": "100m"}, ports=held)]}


SHAPES: tuple[dict[str, Any], ...] = (
    with_containers(cpu="100m", memory="128Mi"),
    with_containers(IMAGES[0], cpu="1"),
    with_containers(ports=1),
    {
        **with_containers(IMAGES[1]),
        "tolerations": [Toleration(key="soft", operator="Exists")],
        "affinity": preferring("a"),
    },
    {**with_containers(memory="64Mi"), "node_selector": {"zone": "b"}},
    {**with_containers(), "affinity": named("n0", "n1", "n17")},
    with_containers(cpu="9"),
    {**with_containers(cpu="2"), "tolerations": [Toleration(key="hard", operator="Exists")]},
)


def build_node(random: Random, name: str) -> Node:
    """A small node that often has room."""
    node = small_node(random, name)
    amounts = {"cpu": random.choice(("2", "8", "16")), "memory": "8Gi", "pods": random.choice(("12", "110", "110"))}
    return msgspec.structs.replace(node, status=msgspec.structs.replace(node.status, allocatable=amounts))
