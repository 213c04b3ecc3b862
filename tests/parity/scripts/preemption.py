"""Pods of higher priority take the place of others: whom, where, and who may not be taken."""

from typing import Any

from tests.parity.story import (
    Change,
    Collection,
    Step,
    budget,
    change_node,
    create,
    delete_pod,
    end_terminating,
    node,
    pod,
)
from tests.support.resources import PODS, Object

STORIES = Collection()
PROTECTED = {"protected": "yes"}


def running(name: str, minute: int) -> Change:
    """The pod has been running since this minute."""
    status = {"phase": "Running", "startTime": f"2026-01-01T00:{minute:02}:00Z"}
    return Change(PODS, name, {"status": status}, "default", "status")


def slow(name: str, cpu: str, **options: Any) -> Object:
    """A pod that takes its time to go."""
    return pod(name, cpu, terminationGracePeriodSeconds=30, **options)


STORIES.add(
    "a victim goes",
    "one node, one pod of low priority, and one that is worth more",
    create(node("only", "2"), pod("cheap", "1500m", on="only", priority="low")),
    create(pod("dear", "1", priority="high"), bound=("dear",)),
    traps=("the-api-server-clears-the-nomination", "who-preempts-is-held-back"),
)
STORIES.add(
    "only those who must go",
    "of four pods the least important that make room go, the others stay",
    create(
        node("only", "4"),
        *(pod(f"cheap-{index}", "1", on="only", priority="low") for index in range(2)),
        *(pod(f"middle-{index}", "1", on="only", priority="middle") for index in range(2)),
    ),
    Step(tuple(running(name, minute) for minute, name in enumerate(("cheap-0", "cheap-1", "middle-0", "middle-1"), 1))),
    create(pod("dear", "1", priority="high"), bound=("dear",)),
    create(pod("dear-too", "2", priority="high"), bound=("dear-too",)),
)
STORIES.add(
    "the node whose victims matter least",
    "a victim of lower priority is chosen before fewer victims",
    create(
        node("a", "2"),
        node("b", "2"),
        pod("middle", "2", on="a", priority="middle"),
        pod("low-1", "1", on="b", priority="low"),
        pod("low-2", "1", on="b", priority="low"),
    ),
    create(pod("dear", "2", priority="high"), bound=("dear",)),
)
STORIES.add(
    "fewer victims",
    "of equal priorities the node with the smaller sum",
    create(
        node("a", "2"),
        node("b", "2"),
        pod("a-1", "1", on="a", priority="low"),
        pod("a-2", "1", on="a", priority="low"),
        pod("b-1", "2", on="b", priority="low"),
    ),
    create(pod("dear", "2", priority="high"), bound=("dear",)),
)
STORIES.add(
    "those who started last",
    "all else alike, the node whose most important victim started last",
    create(
        node("a", "1"),
        node("b", "1"),
        node("c", "1"),
        *(pod(f"on-{name}", "1", on=name, priority="low") for name in "abc"),
    ),
    Step((running("on-a", 10), running("on-b", 30), running("on-c", 20))),
    create(pod("dear", "1", priority="high"), bound=("dear",)),
)
STORIES.add(
    "a disruption budget",
    "the node without protected pods is taken, though its victims matter more",
    create(
        node("a", "1"),
        node("b", "1"),
        pod("protected", "1", on="a", priority="low", labels=PROTECTED),
        pod("free", "1", on="b", priority="middle"),
    ),
    budget("budget", PROTECTED),
    create(pod("dear", "1", priority="high"), bound=("dear",)),
)
STORIES.add(
    "a budget that gives way",
    "where all are protected the budget is broken; of two on one node the one it still allows goes",
    create(
        node("only", "2"),
        pod("protected-1", "1", on="only", priority="low", labels=PROTECTED),
        pod("protected-2", "1", on="only", priority="low", labels=PROTECTED),
    ),
    Step((running("protected-1", 1), running("protected-2", 2))),
    budget("budget", PROTECTED, allowed=1),
    create(pod("dear", "1", priority="high"), bound=("dear",)),
    create(pod("dear-too", "1", priority="high"), bound=("dear-too",)),
)
STORIES.add(
    "a polite pod",
    "its class says that it takes nobody's place",
    create(node("only", "1"), pod("cheap", "1", on="only", priority="low")),
    create(pod("polite", "1", priority="polite")),
    delete_pod("cheap"),
)
STORIES.add(
    "nobody of lower priority",
    "equals are no victims, and where nobody is a victim the message says so",
    create(node("a", "1"), node("b", "500m"), pod("equal", "1", on="a", priority="high")),
    create(pod("dear", "1", priority="high")),
)
STORIES.add(
    "where it would not help",
    "taints and labels are not made right by taking a place",
    create(
        node("tainted", "1", taints=[{"key": "one", "value": "yes", "effect": "NoSchedule"}]),
        node("unlabelled", "1"),
        node("full", "1", labels={"disk": "ssd"}),
        pod("cheap-1", "1", on="tainted", priority="low"),
        pod("cheap-2", "1", on="unlabelled", priority="low"),
        pod("dear-already", "1", on="full", priority="high"),
    ),
    create(pod("dear", "1", priority="high", nodeSelector={"disk": "ssd"})),
    change_node("tainted", taints=[]),
    traps=("preemption-helps-only-where-it-can", "the-nested-message"),
)
STORIES.add(
    "a victim that takes its time",
    "the pod waits, nominated, while its victim ends; one of lower priority does not get the place",
    create(node("only", "2"), slow("cheap", "2", on="only", priority="low")),
    create(pod("dear", "1500m", priority="high")),
    create(pod("middle", "1", priority="middle")),
    create(pod("small", "500m", priority="middle"), rests=True),
    end_terminating(bound=("dear",)),
    traps=("a-terminating-victim-is-waited-for", "nominated-pods-take-their-room"),
)
STORIES.add(
    "the one who preempted is deleted",
    "its victim is gone, and the place is for who waits",
    create(node("only", "2"), slow("cheap", "2", on="only", priority="low")),
    create(pod("dear", "2", priority="high")),
    create(pod("middle", "1", priority="middle")),
    delete_pod("dear"),
    end_terminating(bound=("middle",)),
)
STORIES.add(
    "a nomination is taken over",
    "a pod of still higher priority takes the place that another is nominated to",
    create(node("only", "2"), slow("cheap", "2", on="only", priority="low")),
    create(pod("middle", "2", priority="middle")),
    create(pod("dear", "2", priority="high"), rests=True),
    end_terminating(bound=("dear",)),
    traps=("a-nomination-is-cleared",),
)
STORIES.add(
    "two who preempt at once",
    "two nodes, two victims, two pods that are worth more",
    create(
        node("a", "1"),
        node("b", "2"),
        pod("cheap-a", "1", on="a", priority="low"),
        pod("cheap-b", "2", on="b", priority="low"),
    ),
    create(pod("dear-2", "2", priority="high"), bound=("dear-2",)),
    create(pod("dear-1", "1", priority="high"), bound=("dear-1",)),
)
STORIES.add(
    "another node comes first",
    "while its victim ends a node with room appears, and the nominated pod goes there",
    create(node("only", "2"), slow("cheap", "2", on="only", priority="low")),
    create(pod("dear", "2", priority="high")),
    create(node("new", "4"), bound=("dear",)),
    end_terminating(),
    traps=("the-nominated-node-first",),
)
STORIES.add(
    "a place for anti-affinity",
    "the victim is the pod that must be apart",
    create(
        node("only", "4"),
        pod(
            "cheap",
            "100m",
            on="only",
            priority="low",
            labels={"app": "web"},
        ),
    ),
    create(
        pod(
            "dear",
            "100m",
            priority="high",
            affinity={
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
                    ]
                }
            },
        ),
        bound=("dear",),
    ),
)
STORIES.add(
    "a place for a port",
    "the victim has the host port",
    create(
        node("only", "4"),
        pod("cheap", "100m", on="only", priority="low", ports=[{"containerPort": 80, "hostPort": 80}]),
        pod("bystander", "100m", on="only", priority="low"),
    ),
    create(pod("dear", "100m", priority="high", ports=[{"containerPort": 80, "hostPort": 80}]), bound=("dear",)),
)
