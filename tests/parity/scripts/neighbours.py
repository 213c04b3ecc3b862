"""Pods that look at other pods: spread constraints, affinity, anti-affinity, host ports; and images."""

from tests.parity.story import (
    Collection,
    change,
    create,
    delete_pod,
    in_turn,
    label_node,
    node,
    pod,
    spread,
    term,
)
from tests.support.manifests import namespace_manifest
from tests.support.resources import NAMESPACES, NODES, Object

STORIES = Collection()
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
WEB = {"app": "web"}
DB = {"app": "db"}


def zones(**names: str) -> list[Object]:
    return [node(name, zone=zone) for name, zone in names.items()]


def apart(labels: dict[str, str], key: str = HOST, **fields: object) -> Object:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term(labels, key, **fields)]}}


def near(labels: dict[str, str], key: str = HOST, **fields: object) -> Object:
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term(labels, key, **fields)]}}


def rather(which: str, weight: int, labels: dict[str, str], key: str = HOST) -> Object:
    made = [{"weight": weight, "podAffinityTerm": term(labels, key)}]
    return {which: {"preferredDuringSchedulingIgnoredDuringExecution": made}}


def service(name: str, labels: dict[str, str]) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": dict(labels), "ports": [{"port": 80}]},
    }


STORIES.add(
    "spread over zones, strictly",
    "three zones, one of them full: the third pod goes there or nowhere, and a deletion makes it right",
    create(*zones(a="one", b="two"), node("c", "500m", zone="three"), pod("filler", "500m", on="c")),
    in_turn(
        *(
            pod(name, "1", labels=WEB, topologySpreadConstraints=[spread(WEB, ZONE)])
            for name in ("first", "second", "third", "fourth")
        ),
        rests=True,
    ),
    delete_pod("first"),
    delete_pod("second"),
)
STORIES.add(
    "nodes without the topology key",
    "a node that has no zone is none to spread over, and is told of as such",
    create(*zones(a="one"), node("nowhere"), node("small", "100m", zone="two")),
    in_turn(
        *(pod(name, "1", labels=WEB, topologySpreadConstraints=[spread(WEB, ZONE)]) for name in ("first", "second"))
    ),
    label_node("nowhere", **{ZONE: "two"}),
)
STORIES.add(
    "at least three domains",
    "two domains where three are asked for: the smallest count is taken as none",
    create(*zones(a="one", b="two")),
    in_turn(
        *(
            pod(name, "1", labels=WEB, topologySpreadConstraints=[spread(WEB, ZONE, minDomains=3)])
            for name in ("first", "second", "third")
        )
    ),
    create(node("c", zone="three")),
)
STORIES.add(
    "spread softly",
    "constraints that count in the score, beside room",
    create(*zones(a="one", b="one", c="two"), pod("there", "1", labels=WEB, on="c")),
    in_turn(
        *(
            pod(
                name,
                "1",
                labels=WEB,
                topologySpreadConstraints=[spread(WEB, ZONE, hard=False), spread(WEB, HOST, hard=False, skew=2)],
            )
            for name in ("first", "second", "third")
        )
    ),
)
STORIES.add(
    "pods of a service",
    "constraints by default, for the pods of a service",
    create(*zones(a="one", b="one", c="two"), service("web", WEB)),
    in_turn(*(pod(name, "200m", labels=WEB) for name in ("first", "second", "third", "fourth")), pod("other", "200m")),
)
STORIES.add(
    "apart from each other",
    "one pod a node; the third waits until one goes",
    create(node("a"), node("b")),
    in_turn(*(pod(name, labels=WEB, affinity=apart(WEB)) for name in ("first", "second", "third"))),
    delete_pod("second"),
)
STORIES.add(
    "a guard that others must keep away from",
    "a pod that is there wants no web pods in its zone",
    create(*zones(a="one", b="one"), pod("guard", labels=DB, affinity=apart(WEB, ZONE), on="a")),
    create(pod("web", labels=WEB)),
    create(node("c", zone="two")),
)
STORIES.add(
    "near a pod that comes later",
    "a pod waits for the one it wants to be near to",
    create(*zones(a="one", b="two")),
    create(pod("web", labels=WEB, affinity=near(DB, ZONE))),
    create(pod("unrelated", labels={"app": "cache"})),
    create(pod("db", labels=DB, nodeSelector={HOST: "b"})),
)
STORIES.add(
    "near themselves",
    "the first pod of a group that wants to be together may go anywhere, the others follow",
    create(*zones(a="one", b="two")),
    in_turn(*(pod(name, "1500m", labels=WEB, affinity=near(WEB, ZONE)) for name in ("first", "second", "third"))),
)
STORIES.add(
    "rather near, rather apart",
    "preferred terms of the pod and of pods that are there",
    create(
        *zones(a="one", b="two", c="three"),
        pod("db", labels=DB, on="a"),
        pod("shy", labels={"app": "shy"}, affinity=rather("podAntiAffinity", 80, WEB), on="b"),
    ),
    in_turn(
        pod("web-near", labels=WEB, affinity=rather("podAffinity", 50, DB, ZONE)),
        pod("web-apart", labels=WEB, affinity=rather("podAntiAffinity", 50, DB, ZONE)),
        pod("web", labels=WEB),
    ),
)
STORIES.add(
    "affinity across namespaces",
    "a term about the pods of namespaces with a label",
    create(
        namespace_manifest("front", labels={"team": "front"}),
        namespace_manifest("back", labels={"team": "back"}),
        *zones(a="one", b="two"),
        pod("db", labels=DB, namespace="back", on="b"),
        pod("other-db", labels=DB, namespace="front", on="a"),
    ),
    create(
        pod(
            "web",
            labels=WEB,
            affinity=near(DB, ZONE, namespaceSelector={"matchLabels": {"team": "back"}}),
        )
    ),
    create(
        pod("web-of-nobody", labels=WEB, affinity=near(DB, ZONE, namespaceSelector={"matchLabels": {"team": "nobody"}}))
    ),
)
STORIES.add(
    "a namespace is labelled",
    "a pod waits for a pod in a namespace with a label that it does not have yet",
    create(namespace_manifest("back"), *zones(a="one"), pod("db", labels=DB, namespace="back", on="a")),
    create(pod("web", labels=WEB, affinity=near(DB, ZONE, namespaceSelector={"matchLabels": {"team": "back"}}))),
    change(NAMESPACES, "back", {"metadata": {"labels": {"team": "back"}}}),
)
STORIES.add(
    "host ports",
    "the same port of another protocol or address is free; the same one is not",
    create(node("a"), node("b", "50m")),
    in_turn(
        pod("first", ports=[{"containerPort": 80, "hostPort": 8080, "hostIP": "127.0.0.1"}]),
        pod(
            "other-protocol", ports=[{"containerPort": 80, "hostPort": 8080, "hostIP": "127.0.0.1", "protocol": "UDP"}]
        ),
        pod("other-address", ports=[{"containerPort": 80, "hostPort": 8080, "hostIP": "127.0.0.2"}]),
        pod("same", ports=[{"containerPort": 80, "hostPort": 8080}]),
    ),
    delete_pod("other-protocol"),
    delete_pod("first"),
    delete_pod("other-address"),
)
STORIES.add(
    "images that nodes have",
    "a large image draws a pod to the node that has it",
    create(node("a"), node("b"), node("c")),
    change(
        NODES,
        "b",
        {"status": {"images": [{"names": ["registry.example/large:1"], "sizeBytes": 900_000_000}]}},
        subresource="status",
    ),
    in_turn(pod("large-image", image="registry.example/large:1"), pod("other-image", image="registry.example/other:1")),
)
