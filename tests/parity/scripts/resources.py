"""Room on nodes: what does not fit, what makes it fit, and in which order pods are taken."""

from tests.parity.story import (
    Collection,
    change,
    change_pod,
    create,
    delete_node,
    delete_pod,
    in_turn,
    node,
    pod,
)
from tests.support.manifests import node_manifest
from tests.support.resources import NODES, Object

STORIES = Collection()
GPU = "example.com/gpu"
TAINT = {"key": "dedicated", "value": "others", "effect": "NoSchedule"}


def gpu() -> Object:
    """Limits and requests of an extended resource are the same."""
    return {"requests": {GPU: "1"}, "limits": {GPU: "1"}}


def init(name: str, cpu: str, **fields: object) -> Object:
    """An init container, or with a restart policy a sidecar."""
    return {"name": name, "image": "registry.example/init:1", "resources": {"requests": {"cpu": cpu}}, **fields}


STORIES.add(
    "a pod goes to the emptiest node",
    "three nodes of different size and use, and pods that come one by one",
    create(node("small", "2"), node("large", "8"), node("used", "8"), pod("occupant", "4", on="used")),
    in_turn(pod("first", "500m"), pod("second", "1"), pod("third", "3")),
)
STORIES.add(
    "equal nodes",
    "each of three equal nodes is as good as the others, until one has a pod",
    create(node("a"), node("b"), node("c")),
    in_turn(pod("first", "1"), pod("second", "1"), pod("third", "1"), pod("fourth", "1")),
)
STORIES.add(
    "no nodes at all",
    "an error in the queue, and Unschedulable to the user; a node ends the wait",
    create(pod("early", "100m"), until_told=True),
    create(node("late"), bound=("early",)),
    traps=("no-nodes-is-retried-by-the-clock",),
)
STORIES.add(
    "too large for every node",
    "a pod that lacks two resources on some nodes and one on others; a larger node is what it waits for",
    create(
        node("short-of-cpu", "1"),
        node_manifest("short-of-memory", kwok=False, allocatable={"memory": "1Gi"}),
        node_manifest("short-of-both", kwok=False, allocatable={"cpu": "1", "memory": "1Gi"}),
        node("fits-not-either", "1"),
    ),
    create(pod("large", requests={"cpu": "2", "memory": "2Gi"})),
    create(node("still-too-small", "1")),
    create(node("enough", "2")),
    traps=("reasons-are-sorted-as-text",),
)
STORIES.add(
    "a pod goes and makes room",
    "one of two waiting pods fits when an occupant is deleted",
    create(node("only", "2"), pod("occupant", "1500m", on="only")),
    in_turn(pod("wants-1", "1"), pod("wants-2", "2"), rests=True),
    delete_pod("occupant"),
    delete_pod("wants-1"),
)
STORIES.add(
    "a node grows",
    "allocatable is raised, first by too little and then by enough",
    create(node("only", "1")),
    create(pod("wants-3", "3")),
    change(NODES, "only", {"status": {"allocatable": {"cpu": "2"}}}, subresource="status"),
    change(NODES, "only", {"status": {"allocatable": {"cpu": "3"}}}, subresource="status"),
)
STORIES.add(
    "as many pods as a node takes",
    "the number of pods is the limit, also of pods that ask for nothing",
    create(node_manifest("only", kwok=False, allocatable={"pods": "2"})),
    in_turn(*(pod(name, requests={}) for name in ("first", "second", "third"))),
    delete_pod("second"),
)
STORIES.add(
    "extended resources",
    "a resource that one node has, once; nodes without it are better for who needs none",
    create(node("plain"), node_manifest("with-gpu", kwok=False, allocatable={GPU: "1"})),
    in_turn(pod("plain-one"), pod("first", **gpu()), pod("second", **gpu())),
    delete_pod("first"),
)
STORIES.add(
    "sidecars and init containers",
    "what a pod asks for is the largest of its init containers, beside its sidecars, or the sum of the others",
    create(node("a", "2"), node("b", "3")),
    in_turn(
        pod("large-init", "500m", initContainers=[init("setup", "2500m")]),
        pod("sidecar", "1500m", initContainers=[init("proxy", "1", restartPolicy="Always")]),
        pod("both", "500m", initContainers=[init("proxy", "1", restartPolicy="Always"), init("setup", "1500m")]),
        pod("neither", "500m", initContainers=[init("proxy", "1", restartPolicy="Always"), init("setup", "100m")]),
    ),
)
STORIES.add(
    "pods that ask for nothing",
    "scores count something for them, so that they are spread",
    create(node("a"), node("b"), node("c"), pod("there", requests={}, on="a")),
    in_turn(*(pod(name, requests={}) for name in ("first", "second", "third"))),
    traps=("requests-of-pods-that-ask-for-nothing",),
)
STORIES.add(
    "the highest priority first",
    "three pods wait for one place; the place goes to the first by priority",
    create(node("only", "1"), pod("occupant", "1", on="only", priority="high")),
    in_turn(
        pod("waits-low", "1", priority="low"),
        pod("waits-high", "1", priority="polite"),
        pod("waits-none", "1"),
        rests=True,
    ),
    delete_pod("occupant"),
)
STORIES.add(
    "a node goes away",
    "the pod that waits for room hears of one node less when it is tried again",
    create(node("a", "1"), node("b", "1")),
    create(pod("large", "2")),
    delete_node("a"),
    create(node("c", "1")),
    create(node("d", "2")),
)
STORIES.add(
    "a waiting pod is labelled",
    "labels and annotations change nothing for a pod that lacks room",
    create(node("only", "1")),
    create(pod("large", "2")),
    change_pod("large", {"metadata": {"labels": {"changed": "yes"}, "annotations": {"also": "changed"}}}),
    traps=("own-updates-wake-nobody",),
)
STORIES.add(
    "a pod that has ended",
    "a pod whose phase is Succeeded takes no room",
    create(node("only", "1"), pod("job", "1", on="only")),
    create(pod("next", "1")),
    change_pod("job", {"status": {"phase": "Succeeded"}}, subresource="status"),
)
STORIES.add(
    "many nodes and many reasons",
    "ten tainted nodes, two without room and one cordoned: counts are sorted as text",
    create(
        *(node(f"tainted-{index}", taints=[TAINT]) for index in range(10)),
        *(node(f"small-{index}", "500m") for index in range(2)),
        node("cordoned", unschedulable=True),
    ),
    create(pod("large", "1")),
    traps=("reasons-are-sorted-as-text", "all-nodes-are-counted"),
)
