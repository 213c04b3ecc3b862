"""One pod answers for another only when both get the same hints: of drawn changes, and pods that differ in some field."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from scheduler.app.cluster_objects import read_object, read_pod
from scheduler.app.explanation import profile_for
from scheduler.app.plain_cluster import PlainCluster
from scheduler.config.configuration import from_object
from scheduler.core.batching import Signer
from scheduler.core.changes import node_events, pod_events
from scheduler.core.measurements import Measurements
from scheduler.core.observing import Observers
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo
from scheduler.profile.failure import PluginFailure
from scheduler.profile.profile import Profile
from tests.oracle.draw import Draw, Setting
from tests.oracle.hints import KINDS, changed_self, lines, related

SETTING = Setting("mixed", roomy=True)


def variants(draw: Draw, line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The pod with other labels, tolerations, requests or gates, in another namespace, with other volumes, and as it is."""
    wanted = line["pod"]
    changed = line["hint"]["old"] or line["hint"]["new"]
    yield wanted
    for number in range(4):
        made = changed_self(draw, SETTING, wanted) if number else related(draw, wanted, copy.deepcopy(changed))
        yield made
    moved = copy.deepcopy(wanted)
    moved["metadata"]["namespace"] = draw.pick(("default", "shop", "batch"))
    yield moved


def events(hint: dict[str, Any], old: Any, new: Any) -> tuple[ClusterEvent, ...]:
    if old is not None and new is not None and hint["kind"] in ("Node", "Pod"):
        return node_events(old, new) if hint["kind"] == "Node" else pod_events(old, new, EventResource.ASSIGNED_POD)
    action = ActionType.ADD if old is None else ActionType.DELETE if new is None else ActionType.UPDATE
    resource = {"Node": EventResource.NODE, "Pod": EventResource.ASSIGNED_POD, **KINDS}[hint["kind"]]
    return (ClusterEvent(resource, action),)


def told(
    profile: Profile, plugin: str, pod: PodInfo, event: ClusterEvent, old: Any, new: Any, world: PlainCluster
) -> str:
    try:
        return profile.queueing_hint(plugin, pod, event, old, new, world.cache.table).value
    except PluginFailure:
        return "Queue"


@pytest.mark.parametrize("seed", range(4))
def test_pods_that_are_alike_to_a_plugin_get_the_same_hint(seed: int) -> None:
    draw, compared = Draw(f"groups/{seed}"), Counter[str]()
    for index in range(12):
        for line in lines(seed, index):
            if line["hint"]["target"]:
                continue
            compared += compare(draw, line)

    assert compared["alike"] > 300
    assert compared["not alike"] > 100


def compare(draw: Draw, line: dict[str, Any]) -> Counter[str]:
    """Pairs of pods that were alike to a plugin, and that were not."""
    world, counts = PlainCluster(), Counter[str]()
    for raw in line["objects"]:
        if (item := read_object(raw)) is not None:
            world.apply(item)
    old, new = (None if raw is None else read_object(raw) for raw in (line["hint"]["old"], line["hint"]["new"]))
    profiles = from_object(line["config"], any_scheduler_name=True).profiles
    first, *others = (read_pod(own_uid(raw, number), "pod") for number, raw in enumerate(variants(draw, line)))
    profile = profile_for(first, profiles)
    signer = Signer({first.pod.spec.scheduler_name: profile}, lambda _failure, _pod: None, Observers(Measurements()))
    for event in events(line["hint"], old, new):
        for plugin in profile.rejecting:
            if not any(each.matches(event) for each in profile.events_of(plugin)):
                continue
            for other in others:
                alike = [profile.likeness(pod, signer.sign(pod), (plugin,)) for pod in (first, other)]
                if alike[0] != alike[1]:
                    counts["not alike"] += 1
                    continue
                counts["alike"] += 1
                said = [told(profile, plugin, pod, event, old, new, world) for pod in (first, other)]
                assert said[0] == said[1], (plugin, event.label, first.pod, other.pod)
    return counts


def own_uid(raw: dict[str, Any], number: int) -> dict[str, Any]:
    return {**raw, "metadata": {**raw["metadata"], "uid": f"uid-variant{number}", "name": "wanted"}}
