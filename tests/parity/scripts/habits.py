"""Habits that the rules of placing do not tell of: nominations from outside, words that are repeated or cut, changes that help nobody."""

from typing import Any

from tests.parity.story import Collection, change, change_pod, create, delete_pod, in_turn, node, pod, term
from tests.support.manifests import node_manifest
from tests.support.resources import NODES

STORIES = Collection()
GATE = [{"name": "example.com/gate"}]
OPEN = [{"op": "remove", "path": "/spec/schedulingGates"}]
LONG_NAMES = tuple(f"example.com/{'resource-of-a-long-name-' * 2}{number}" for number in range(20))


def restarting(name: str) -> Any:
    """A pod with a rule that all its containers start anew when one has ended so, which its node must be able to do."""
    made = pod(name)
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    made["spec"]["containers"][0].update(restartPolicy="Never", restartPolicyRules=[rule])
    return made


def nominate(name: str, node_name: str | None) -> Any:
    """Write a nomination from outside, or take it away."""
    return change_pod(name, {"status": {"nominatedNodeName": node_name}}, subresource="status")


STORIES.add(
    "nominated to the worse node",
    "a pod goes where it is nominated to, though another node scores better and its own nomination takes all the room",
    create(node("better", "8"), node("worse", "1")),
    create(pod("nominated", "1", schedulingGates=GATE)),
    nominate("nominated", "worse"),
    change_pod("nominated", OPEN),
    traps=("the-nominated-node-first", "the-api-server-clears-the-nomination"),
)
STORIES.add(
    "the room of an equal",
    "a pod of the same priority is nominated to the only node, and is not even tried; one of a lower priority does not count",
    create(node("only", "1"), node("other", "1", unschedulable=True)),
    create(pod("equal", "1", schedulingGates=GATE)),
    nominate("equal", "only"),
    create(pod("next", "1")),
    create(pod("above", "1", priority="polite")),
    delete_pod("above"),
    delete_pod("equal"),
    traps=("nominated-pods-take-their-room",),
)
STORIES.add(
    "a neighbour that is only nominated",
    "with the nominated pod on the node the other's affinity is met, and without it not: it must be met both ways",
    create(node("only", "2")),
    create(pod("nominated", "1", labels={"app": "web"}, schedulingGates=GATE)),
    nominate("nominated", "only"),
    create(
        pod(
            "follower",
            affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term({"app": "web"})]}},
        )
    ),
    change_pod("nominated", OPEN),
    traps=("nominated-pods-take-their-room",),
)
STORIES.add(
    "a nomination is taken back",
    "those of no higher priority are tried again, and the pod itself; it changes first to another node, then to none",
    create(node("only", "2"), node("other", "1")),
    in_turn(
        pod("above", "4", priority="polite"),
        pod("nominated", "4", priority="middle"),
        pod("equal", "4", priority="middle"),
        pod("below", "4", priority="low"),
        rests=True,
    ),
    nominate("nominated", "only"),
    nominate("nominated", "other"),
    nominate("nominated", None),
    traps=("a-nomination-that-goes-wakes-others", "a-nomination-is-cleared"),
)
STORIES.add(
    "a nomination that a failure keeps",
    "a pod that may not preempt fails with its nomination and keeps it; one that may, and finds nobody, loses it",
    create(node("only", "2")),
    create(
        pod("polite", "4", priority="polite", schedulingGates=GATE),
        pod("ready", "4", priority="high", schedulingGates=GATE),
    ),
    nominate("polite", "only"),
    change_pod("polite", OPEN),
    nominate("ready", "only"),
    change_pod("ready", OPEN),
    traps=("a-nomination-is-cleared",),
)
STORIES.add(
    "nominated by another scheduler",
    "a pod of another scheduler that has no node is not seen, though it is nominated and of higher priority",
    create(node("only", "1")),
    create(pod("foreign", "1", priority="high", scheduler_name="somebody-else")),
    nominate("foreign", "only"),
    create(pod("ours", "1", priority="low")),
    traps=("pods-of-others-count",),
)
STORIES.add(
    "the same words again",
    "what fails a third time for the same reasons has written its condition once: its Event is a series, and no new one",
    create(node("only", "2"), *(pod(f"there-{number}", "500m", on="only") for number in range(4))),
    create(pod("large", "2"), rests=True),
    delete_pod("there-0", rests=True),
    delete_pod("there-1", rests=True),
    delete_pod("there-2", rests=True),
    delete_pod("there-3"),
    traps=("the-same-failure-is-not-written", "the-identity-of-an-event"),
)
STORIES.add(
    "more reasons than an Event can hold",
    "the condition tells all of twenty resources that the node lacks, the Event what goes into 1024 bytes",
    create(node("only")),
    create(
        pod(
            "demanding",
            requests={"cpu": "100m", **dict.fromkeys(LONG_NAMES, "1")},
            limits=dict.fromkeys(LONG_NAMES, "1"),
        )
    ),
    create(node_manifest("equipped", kwok=False, allocatable=dict.fromkeys(LONG_NAMES, "1"))),
    traps=("the-note-is-cut",),
)
STORIES.add(
    "changes of its own",
    "a pod that lacks a neighbour is tried again when its labels change, and not when an annotation does",
    create(node("only")),
    create(
        pod(
            "lonely",
            affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term({"app": "db"})]}},
        ),
        rests=True,
    ),
    change_pod("lonely", {"metadata": {"annotations": {"changed": "yes"}}}),
    change_pod("lonely", {"metadata": {"labels": {"changed": "yes"}}}, rests=True),
    change_pod("lonely", {"metadata": {"labels": {"app": "db"}}}),
    traps=("specific-and-general-updates",),
)
STORIES.add(
    "a full node and a pod that asks for nothing",
    "what scores count for it is not asked of the node, whose last thousandth is taken",
    create(node("full", "1", allocatable={"memory": "1Gi"})),
    in_turn(pod("fills", requests={"cpu": "1", "memory": "1Gi"}), pod("asks-for-nothing", requests={})),
    traps=("requests-of-pods-that-ask-for-nothing",),
)
STORIES.add(
    "a feature that no node declares",
    "the pod needs it; its own condition comes back as an update that the plugin hears of, and does not wake it",
    create(node("old")),
    create(restarting("modern")),
    change_pod("modern", {"metadata": {"labels": {"changed": "yes"}}}),
    change(
        NODES, "old", {"status": {"declaredFeatures": ["RestartAllContainersOnContainerExits"]}}, subresource="status"
    ),
    traps=("own-updates-wake-nobody",),
)
STORIES.add(
    "a pod of a scheduling group",
    "groups are off by default: the pod is placed like any other, and nobody waits for the rest of its group",
    create(node("only", "1")),
    create(pod("member", "1", schedulingGroup={"podGroupName": "crew"})),
    create(pod("second-member", "1", schedulingGroup={"podGroupName": "crew"})),
    delete_pod("member"),
    traps=("groups-are-off",),
)
