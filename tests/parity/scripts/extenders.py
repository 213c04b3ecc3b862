"""Extenders: programs beside the scheduler that take nodes out, score them, bind, and spare victims (`extender.py`)."""

from tests.parity.story import Collection, change_pod, create, in_turn, node, pod

STORIES = Collection()
NAMES, NODES = "an extender that is told names", "an extender that is told nodes"
MANAGED = "example.com/managed"


STORIES.add(
    "an extender refuses nodes",
    "what it refuses is counted beside what the plugins refuse; another node ends the wait",
    create(node("refused"), node("never"), node("small", "500m"), node("tainted-refused", unschedulable=True)),
    create(pod("large", "1")),
    create(node("refused-too")),
    create(node("good")),
    configuration=NAMES,
)
STORIES.add(
    "an extender scores",
    "its score counts beside those of the plugins",
    create(node("node-1", "8"), node("node-5"), node("node-9", "2"), node("node-0", "16")),
    in_turn(pod("first", "1"), pod("second", "500m"), pod("third", "1")),
    configuration=NAMES,
)
STORIES.add(
    "an extender fails",
    "an error of an extender that must not be ignored fails the attempt, again and again; the one that may fail does",
    create(node("good")),
    create(pod("unlucky", labels={"extender": "fails"}), until_told=True),
    change_pod("unlucky", {"metadata": {"labels": {"extender": "works"}}}, bound=("unlucky",)),
    configuration=NAMES,
    tries_vary=("unlucky",),
)
STORIES.add(
    "a resource that an extender manages",
    "no node says that it has it; only pods that ask for it are shown to the extender",
    create(node("plain", "8"), node("managed", "2")),
    in_turn(
        pod("plain-one"),
        pod("managed-one", requests={"cpu": "100m", MANAGED: "1"}, limits={MANAGED: "1"}),
        pod("too-large", requests={"cpu": "4", MANAGED: "1"}, limits={MANAGED: "1"}),
    ),
    configuration=NAMES,
)
STORIES.add(
    "an extender binds",
    "pods are bound by the extender, also after it has refused a node",
    create(node("good"), node("refused", "16")),
    in_turn(pod("first"), pod("second")),
    configuration=NODES,
)
STORIES.add(
    "nodes come back from an extender without their pods",
    "nodes that an extender has answered with whole are scored as if they were empty, or as they are",
    create(node("large", "8"), node("small", "4"), pod("occupant", "6", on="large")),
    create(pod("next", "1")),
    configuration=NODES,
)
STORIES.add(
    "an extender spares victims",
    "the node whose victims matter less is taken from the list by the extender",
    create(
        node("spared", "1"),
        node("open", "1"),
        pod("cheap", "1", on="spared", priority="low"),
        pod("middle", "1", on="open", priority="middle"),
    ),
    create(pod("dear", "1", priority="high"), bound=("dear",)),
    configuration=NODES,
)
