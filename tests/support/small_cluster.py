"""Changes of a few nodes and pods that keep crossing what matters: what fits nowhere, on one node, on all of them."""

from __future__ import annotations

from random import Random

from scheduler.api.objects import (
    Affinity,
    ContainerPort,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PreferredSchedulingTerm,
    Taint,
    Toleration,
)
from tests.support.builders import make_container, make_node, make_pod

NODES = tuple(f"n{number}" for number in range(6))
IMAGES = ("app:1", "db:1")
TAINTS = (
    Taint(key="hard", effect="NoSchedule"),
    Taint(key="soft", effect="PreferNoSchedule"),
    Taint(key="soft", value="too", effect="PreferNoSchedule"),
)


def small_node(random: Random, name: str) -> Node:
    """A node that may be full, cordoned, tainted, labelled, or hold an image."""
    return make_node(
        name,
        uid=f"{name}-{random.choice('ab')}",
        labels={"zone": random.choice("abc")} if random.random() < 0.7 else {},
        allocatable={
            "cpu": random.choice(("0", "2", "4", "8")),
            "memory": random.choice(("256Mi", "2Gi", "8Gi")),
            "pods": random.choice(("1", "5", "110")),
        },
        taints=random.sample(TAINTS, random.choice((0, 0, 0, 1, 2))),
        unschedulable=random.random() < 0.15,
        images={image: random.choice((10**8, 5 * 10**8)) for image in random.sample(IMAGES, random.randint(0, 2))},
    )


def small_pod(random: Random, name: str, node_name: str = "", uid: str | None = None) -> Pod:
    """A pod that some of such nodes take."""
    ports = [ContainerPort(host_port=80)] if random.random() < 0.3 else []
    requests = {"cpu": random.choice(("0", "500m", "1", "2")), "memory": random.choice(("128Mi", "512Mi"))}
    container = make_container(image=random.choice((*IMAGES, "other")), requests=requests, ports=ports)
    return make_pod(
        name,
        uid=uid,
        containers=[container],
        node_name=node_name,
        labels={"app": random.choice("xy")},
        tolerations=[Toleration(key=random.choice(("hard", "soft")), operator="Exists")] * random.randint(0, 1),
        node_selector={"zone": random.choice("abc")} if random.random() < 0.2 else None,
        affinity=_affinity(random) if random.random() < 0.4 else None,
    )


def _affinity(random: Random) -> Affinity:
    zone = NodeSelectorRequirement(key="zone", operator="In", values=[random.choice("abc")])
    preferred = [
        PreferredSchedulingTerm(weight=random.randint(1, 9), preference=NodeSelectorTerm(match_expressions=[zone]))
    ]
    required = None
    if random.random() < 0.4:
        names = NodeSelectorRequirement(key="metadata.name", operator="In", values=[random.choice((*NODES, "none"))])
        required = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[names])])
    return Affinity(node_affinity=NodeAffinity(required=required, preferred=preferred))
