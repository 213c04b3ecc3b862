"""Pods that come, wait, are changed from outside and go: gates, deletion, recreation, other schedulers."""

from tests.parity.story import (
    Bind,
    Collection,
    Step,
    change_node,
    change_pod,
    create,
    delete_pod,
    in_turn,
    node,
    pod,
    together,
)

STORIES = Collection()

STORIES.add(
    "gates",
    "a pod with two gates is not tried; when both are gone it is",
    create(node("a")),
    create(pod("gated", schedulingGates=[{"name": "example.com/one"}, {"name": "example.com/two"}])),
    change_pod("gated", [{"op": "remove", "path": "/spec/schedulingGates/0"}]),
    change_pod("gated", [{"op": "remove", "path": "/spec/schedulingGates"}]),
)
STORIES.add(
    "a gated pod narrows its choice",
    "while it is gated a node selector may be added; events of nodes do not matter to it",
    create(node("a")),
    create(pod("gated", schedulingGates=[{"name": "example.com/one"}])),
    change_pod("gated", {"spec": {"nodeSelector": {"disk": "ssd"}}}),
    create(node("b")),
    change_pod("gated", [{"op": "remove", "path": "/spec/schedulingGates"}]),
    create(node("c", labels={"disk": "ssd"})),
    traps=("a-gated-pod-hears-of-its-gate-only",),
)
STORIES.add(
    "deleted while it waits",
    "a pod that waits is deleted; the next one is not held up by it",
    create(node("only", "1")),
    in_turn(pod("large", "2"), pod("also-large", "2")),
    delete_pod("large"),
    create(pod("small", "1")),
)
STORIES.add(
    "created again under its name",
    "a waiting pod is deleted and a smaller one takes its name at once",
    create(node("only", "1")),
    create(pod("again", "2")),
    together(delete_pod("again"), create(pod("again", "500m"))),
    traps=("a-name-is-used-again",),
)
STORIES.add(
    "a pod that is going before it was placed",
    "finalizers keep a deleted pod that has no node; it is not placed when there is room",
    create(node("only", "1")),
    create(pod("large", "2", finalizers=["example.com/hold"])),
    delete_pod("large"),
    create(node("larger", "2")),
    change_pod("large", {"metadata": {"finalizers": None}}),
    traps=("terminating-pods-are-told",),
)
STORIES.add(
    "bound by somebody else",
    "a waiting pod is put on a full node from outside, and counts there",
    create(node("a", "1"), node("b", "1")),
    create(pod("large", "2")),
    Step((Bind("large", "a"),)),
    in_turn(pod("small", "500m"), pod("second", "500m"), pod("third", "500m")),
    delete_pod("large"),
    traps=("pods-of-others-count",),
)
STORIES.add(
    "pods of other schedulers",
    "they are not ours to place; once they are on a node they take room, and make room when they go",
    create(node("only", "1")),
    create(pod("foreign", "1", scheduler_name="somebody-else")),
    create(pod("ours", "1")),
    create(pod("ours-too", "1")),
    delete_pod("foreign"),
    delete_pod("ours"),
    traps=("pods-of-others-count",),
)
STORIES.add(
    "a pod on a node that is not there yet",
    "it takes its room as soon as the node comes",
    create(node("here", "500m"), pod("early-bird", "3", on="later")),
    create(pod("large", "2")),
    create(node("later", "4")),
    delete_pod("early-bird"),
    traps=("pods-before-their-node",),
)
STORIES.add(
    "a foreign pod takes the room",
    "a pod that somebody else put on the node leaves too little; a terminating one still takes its room",
    create(node("only", "2")),
    create(pod("foreign", "1500m", scheduler_name="somebody-else", terminationGracePeriodSeconds=30)),
    Step((Bind("foreign", "only"),)),
    create(pod("ours", "1")),
    delete_pod("foreign", gracefully=True),
    delete_pod("foreign"),
)
STORIES.add(
    "a burst onto one node",
    "ten pods wait for one node, and there is room for seven: by priority, and of equals who waits longer",
    create(node("only", "7", unschedulable=True)),
    in_turn(*(pod(f"pod-{index}", "1", priority="polite" if index % 2 else "low") for index in range(10)), rests=True),
    change_node("only", unschedulable=False),
    delete_pod("pod-1"),
)
STORIES.add(
    "profiles side by side",
    "two pods of other profiles among those of the first; each is decided by its own",
    create(node("a", labels={"pool": "ours"}), node("b"), pod("there", "1", on="b")),
    in_turn(
        pod("spreads", "500m"),
        pod("packs", "500m", scheduler_name="packs"),
        pod("stays", "500m", scheduler_name="stays"),
        pod("stays-not", "500m", scheduler_name="stays", nodeSelector={"kubernetes.io/hostname": "b"}),
    ),
    configuration="several profiles",
)
STORIES.add(
    "one shape many times",
    "twelve pods of one shape, one by one, where kube-scheduler's own batching is at work",
    create(node("a", "4"), node("b", "6"), node("c", "8")),
    in_turn(*(pod(f"pod-{index}", "1200m") for index in range(12))),
    delete_pod("pod-0", "pod-1"),
    configuration="several profiles",
)
