"""Pods with owners while Services, controllers, nodes and other pods change: a reused decision is that of a new scheduler."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from scheduler.api.objects import LabelSelector, Node, OwnerReference, Pod, SelectingObject, Taint
from scheduler.batch.options import BatchOptions
from scheduler.core.cycle import CycleResult
from scheduler.core.stimulus import SelectingObjectApplied, SelectingObjectDeleted
from scheduler.profile.profile import Profile
from tests.oracle.builders import config
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core, changed, default_profiles, on_node
from tests.support.selecting_objects import replica_set, replication_controller, service, stateful_set
from tests.support.topology_spread import ZONE

RACK = "rack"
KINDS = (("ReplicaSet", "apps/v1"), ("StatefulSet", "apps/v1"), ("ReplicationController", "v1"))
LABELS: tuple[dict[str, str], ...] = ({}, {"app": "web"}, {"app": "db"}, {"app": "web", "rev": "1"})
STEPS = 60


def spreading(*constraints: dict[str, Any]) -> dict[str, Any]:
    return config(("PodTopologySpread", {"defaultingType": "List", "defaultConstraints": list(constraints)}))


CONFIGURATIONS = {
    "system": None,
    "hard": spreading(
        {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"},
        {"maxSkew": 2, "topologyKey": RACK, "whenUnsatisfiable": "ScheduleAnyway", "nodeTaintsPolicy": "Honor"},
    ),
    "soft": spreading({"maxSkew": 1, "topologyKey": RACK, "whenUnsatisfiable": "ScheduleAnyway"}),
}


class Story:
    """What the API server holds, and a scheduler that was told of each change."""

    def __init__(self, random: Random, profiles: list[Profile]) -> None:
        self.random = random
        self.profiles = profiles
        self.core = Core(profiles, batching=BatchOptions(max_age_seconds=0.0, verify_fraction=0.0))
        self.nodes: dict[str, Node] = {}
        self.placed: dict[str, Pod] = {}
        self.owners: dict[str, SelectingObject] = {}
        self.hits = 0
        for number in range(6):
            self.change_node(f"n{number}")

    def change_node(self, name: str = "") -> None:
        random = self.random
        labels = {key: random.choice("abc") for key in (ZONE, RACK) if random.random() < 0.85}
        taints = [Taint(key="x", effect="NoSchedule")] if random.random() < 0.2 else []
        node = make_node(name or random.choice(sorted(self.nodes)), labels=labels, taints=taints)
        self.nodes[node.metadata.name] = node
        self.core.nodes(node)

    def change_owner(self) -> None:
        random, labels = self.random, self.random.choice(LABELS)
        selector = LabelSelector(match_labels=labels)
        name = random.choice(("service", "ReplicaSet", "StatefulSet", "ReplicationController"))
        if name in self.owners and random.random() < 0.4:
            gone = self.owners.pop(name)
            self.core.scheduler.handle(
                SelectingObjectDeleted(
                    now=0.0, kind=type(gone).__name__, namespace="default", name="owner", uid=gone.metadata.uid
                )
            )
            return
        made: dict[str, SelectingObject] = {
            "service": service("owner", labels),
            "ReplicaSet": replica_set("owner", selector),
            "StatefulSet": stateful_set("owner", selector),
            "ReplicationController": replication_controller("owner", labels),
        }
        self.owners[name] = made[name]
        self.core.scheduler.handle(SelectingObjectApplied(now=0.0, subject=made[name]))

    def change_pod(self) -> None:
        if not self.placed:
            return
        uid = self.random.choice(sorted(self.placed))
        if self.random.random() < 0.5:
            self.core.pod_gone(self.placed.pop(uid))
            return
        pod = self.placed[uid]
        pod = changed(pod, version=f"{pod.metadata.resource_version}x", metadata={"labels": self.random.choice(LABELS)})
        self.placed[uid] = pod
        self.core.pods(pod)

    def decide(self, number: int) -> None:
        pod = make_pod(f"p{number}", labels=self.random.choice(LABELS))
        if self.random.random() < 0.7:
            kind, version = self.random.choice(KINDS)
            owner = OwnerReference(api_version=version, kind=kind, name="owner", uid="owner", controller=True)
            pod = changed(pod, metadata={"owner_references": [owner]})
        self.core.pods(pod)
        result = self.core.decide()
        assert told(result) == told(self.anew(pod)), f"{number}, {result.batch}"
        self.hits += result.batch in ("hint_used", "fit_error")
        if not result.node_name:
            self.core.pod_gone(pod)
            return
        self.core.bound(pod, result.node_name)
        self.placed[pod.metadata.uid] = on_node(pod, result.node_name)
        self.core.pods(self.placed[pod.metadata.uid])

    def anew(self, pod: Pod) -> CycleResult:
        core = Core(self.profiles, batching=BatchOptions(enabled=False))
        for owner in self.owners.values():
            core.scheduler.handle(SelectingObjectApplied(now=0.0, subject=owner))
        core.nodes(*(self.nodes[name] for name in sorted(self.nodes)))
        core.pods(*self.placed.values(), pod)
        return core.decide()


def told(result: CycleResult) -> tuple[Any, ...]:
    return (result.pod, result.outcome, result.node_name, result.message, sorted(result.plugins))


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize("seed", range(3))
def test_decisions_are_those_of_a_scheduler_that_starts_now(seed: int, configuration: str) -> None:
    random = Random(f"{configuration} {seed}")
    story = Story(random, list(default_profiles(CONFIGURATIONS[configuration]).values()))
    for number in range(STEPS):
        story.decide(number)
        random.choice((story.change_node, story.change_owner, story.change_owner, story.change_pod, bool, bool))()

    assert story.hits > STEPS // 4
