"""Which nodes a pod may go to: taints, cordons, labels, names."""

from typing import Any

from tests.parity.story import (
    Collection,
    change,
    change_node,
    change_pod,
    create,
    delete_node,
    in_turn,
    label_node,
    node,
    pod,
    together,
)
from tests.support.resources import NODES, Object

STORIES = Collection()


def taint(key: str, effect: str = "NoSchedule", value: str = "yes") -> Object:
    return {"key": key, "value": value, "effect": effect}


def tolerates(key: str, effect: str | None = None) -> Object:
    return {"key": key, "operator": "Exists", **({"effect": effect} if effect else {})}


def expression(key: str, operator: str, *values: str) -> Object:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def required(*terms: Object) -> Object:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def on_names(*names: str) -> Object:
    return required({"matchFields": [expression("metadata.name", "In", *names)]})


def preferred(*terms: tuple[int, Object]) -> Object:
    made: list[Any] = [{"weight": weight, "preference": {"matchExpressions": [each]}} for weight, each in terms]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": made}}


STORIES.add(
    "a taint is taken away",
    "two nodes with taints of their own; the pod tolerates neither, and one of them goes",
    create(node("a", taints=[taint("one")]), node("b", taints=[taint("two", "NoExecute"), taint("one")])),
    create(pod("plain")),
    change_node("b", taints=[taint("one")]),
    change_node("a", taints=[]),
)
STORIES.add(
    "a toleration is added",
    "a waiting pod learns to tolerate the taint",
    create(node("a", taints=[taint("one")]), node("b", "500m")),
    create(pod("large", "1")),
    change_pod("large", [{"op": "add", "path": "/spec/tolerations/-", "value": tolerates("other")}]),
    change_pod("large", [{"op": "add", "path": "/spec/tolerations/-", "value": tolerates("one")}]),
)
STORIES.add(
    "taints that are better avoided",
    "PreferNoSchedule counts in the score, less what a pod tolerates",
    create(
        node("a", taints=[taint("one", "PreferNoSchedule"), taint("two", "PreferNoSchedule")]),
        node("b", taints=[taint("one", "PreferNoSchedule")]),
        node("c", "2"),
    ),
    in_turn(
        pod("plain", "1"),
        pod("next", "1"),
        pod("tolerant", "1", tolerations=[tolerates("one", "PreferNoSchedule"), tolerates("two", "PreferNoSchedule")]),
    ),
)
STORIES.add(
    "a node is cordoned and comes back",
    "the only node is cordoned; cordoning another wakes nobody, and taking the cordon away does",
    create(node("a", unschedulable=True), node("b", "500m")),
    create(pod("large", "1")),
    change_node("b", unschedulable=True),
    change_node("a", unschedulable=False),
    traps=("a-cordon-is-no-event",),
)
STORIES.add(
    "a pod that tolerates cordons",
    "the taint of cordoned nodes can be tolerated",
    create(node("a", unschedulable=True)),
    in_turn(
        pod("plain"),
        pod("tolerant", tolerations=[tolerates("node.kubernetes.io/unschedulable", "NoSchedule")]),
    ),
)
STORIES.add(
    "a label that is wanted",
    "a node selector that no node has; labels come, first another value and then the right one",
    create(node("a"), node("b")),
    create(pod("wants-ssd", nodeSelector={"disk": "ssd"})),
    label_node("a", disk="hdd"),
    label_node("b", disk="ssd"),
)
STORIES.add(
    "terms of node affinity",
    "terms are alternatives, and what stands in one must all hold",
    create(
        node("a", labels={"cores": "4", "kind": "old"}),
        node("b", labels={"cores": "16", "kind": "old"}),
        node("c", labels={"cores": "64"}),
        node("d", labels={"cores": "many"}),
    ),
    in_turn(
        pod(
            "more-than-8",
            affinity=required({"matchExpressions": [expression("cores", "Gt", "8"), expression("kind", "Exists")]}),
        ),
        pod("less-than-8", affinity=required({"matchExpressions": [expression("cores", "Lt", "8")]})),
        pod(
            "not-old",
            affinity=required(
                {"matchExpressions": [expression("kind", "DoesNotExist"), expression("cores", "NotIn", "many")]}
            ),
        ),
        pod("none", affinity=required({"matchExpressions": [expression("cores", "In", "1")]})),
        pod(
            "either",
            affinity=required(
                {"matchExpressions": [expression("cores", "In", "1")]},
                {"matchExpressions": [expression("kind", "NotIn", "old"), expression("cores", "In", "many")]},
            ),
        ),
    ),
)
STORIES.add(
    "preferred node affinity",
    "weights of the preferred terms that a node matches are added up",
    create(
        node("a", labels={"x": "1"}), node("b", labels={"y": "1"}), node("c", labels={"x": "1", "y": "1"}), node("d")
    ),
    in_turn(
        pod("x-more", affinity=preferred((10, expression("x", "Exists")), (5, expression("y", "Exists")))),
        pod("y-only", affinity=preferred((10, expression("y", "Exists")), (20, expression("x", "DoesNotExist")))),
        pod("nothing", affinity=preferred((100, expression("z", "Exists")))),
    ),
)
STORIES.add(
    "a pod that names its node",
    "as the pods of a DaemonSet do; other nodes are told of as a whole, and the named one may be full or missing",
    create(node("a"), node("b", "1"), node("c", taints=[taint("one")])),
    in_turn(
        pod("to-a", affinity=on_names("a")),
        pod("to-full-b", "2", affinity=on_names("b")),
        pod("to-tainted-c", affinity=on_names("c")),
        pod("to-missing", affinity=on_names("later")),
    ),
    create(node("later")),
    traps=("outside-of-the-prefilter-result", "a-prefilter-rejection-has-no-histogram"),
)
STORIES.add(
    "conflicting names",
    "terms that name different nodes at once leave none",
    create(node("a"), node("b")),
    create(
        pod(
            "torn",
            affinity=required(
                {"matchFields": [expression("metadata.name", "In", "a"), expression("metadata.name", "In", "b")]}
            ),
        )
    ),
    traps=("a-prefilter-rejection-has-no-histogram",),
)
STORIES.add(
    "a node is replaced under its name",
    "the new node of the same name is larger",
    create(node("only", "1")),
    create(pod("large", "2")),
    together(*(delete_node("only"), create(node("only", "2")))),
)
STORIES.add(
    "heartbeats and conditions",
    "conditions of a node change and wake nobody; its label does",
    create(node("a", "1")),
    create(pod("wants-ssd", nodeSelector={"disk": "ssd"})),
    change(
        NODES,
        "a",
        {
            "status": {
                "conditions": [{"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "gone"}]
            }
        },
        subresource="status",
    ),
    label_node("a", disk="ssd"),
    traps=("heartbeats-wake-nobody",),
)
STORIES.add(
    "several things stand against a pod",
    "the first rule that a node breaks is the one told of it",
    create(
        node("cordoned-and-small", "100m", unschedulable=True),
        node("tainted-and-small", "100m", taints=[taint("one")]),
        node("unlabelled-and-small", "100m"),
        node("small", "100m", labels={"disk": "ssd"}),
    ),
    create(pod("picky", "1", nodeSelector={"disk": "ssd"})),
    change_node("cordoned-and-small", unschedulable=False),
    change_node("tainted-and-small", taints=[]),
)
