"""Compares events and queueing hints with those of the real plugins on random changes (README.md).

python -m tests.oracle.hints [--cases N] [--seed S]

Where a plugin of kube-scheduler leaves a pod waiting that the change may have helped, Reprise may wake it: each such case is
one of MISSED, which says when that is so. Anything else that differs is a failure.
"""

import argparse
import copy
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from scheduler.app.cluster_objects import read_object, read_pod
from scheduler.app.explanation import profile_for
from scheduler.app.plain_cluster import PlainCluster
from scheduler.config.configuration import from_object
from scheduler.core.changes import node_events, pod_events
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.profile.failure import PluginFailure
from scheduler.profile.profile import Profile
from tests.oracle.affinity import toleration
from tests.oracle.draw import Draw, Json
from tests.oracle.generate import cluster, encode
from tests.oracle.pods import requests
from tests.oracle.program import Program, oracle
from tests.oracle.selectors import labels_of_pod
from tests.oracle.steps import Cluster

STEPS = 4
BATCH = 400
KINDS = {
    "PersistentVolumeClaim": EventResource.PERSISTENT_VOLUME_CLAIM,
    "PersistentVolume": EventResource.PERSISTENT_VOLUME,
    "StorageClass": EventResource.STORAGE_CLASS,
    "CSINode": EventResource.CSI_NODE,
    "CSIDriver": EventResource.CSI_DRIVER,
    "CSIStorageCapacity": EventResource.CSI_STORAGE_CAPACITY,
    "VolumeAttachment": EventResource.VOLUME_ATTACHMENT,
    "DeviceClass": EventResource.DEVICE_CLASS,
}


def lines(seed: int, index: int) -> Iterator[Json]:
    """The changes of one cluster, each with the state after it and the pod that waits."""
    draw = Draw(f"{seed}/hints/{index}")
    setting, nodes, pods, others, config, wanted = cluster(draw, 5, 10)
    wanted["spec"].pop("nodeName", None)
    world = Cluster(draw, setting, nodes, pods, others)
    for _ in range(STEPS):
        before = _objects(world)
        world.step()
        after = _objects(world)
        state = list(after.values())
        for key in sorted({*before, *after}):
            old, new = before.get(key), after.get(key)
            if old != new and (kind := key[0]) in ("Node", "Pod", *KINDS) and _is_told(kind, old, new):
                yield _line(state, related(draw, wanted, old or new), config, kind, old, new)
        if draw.chance(0.5):
            old, wanted = wanted, changed_self(draw, setting, wanted)
            yield _line(state, wanted, config, "Pod", old, wanted, target=True)
        if draw.chance(0.15):
            yield _line(state, wanted, config, "DeviceClass", *_device_classes(draw, wanted))


def _line(
    state: list[Json], pod: Json, config: Json | None, kind: str, old: Any, new: Any, target: bool = False
) -> Json:
    hint = {"kind": kind, "old": old, "new": new, "target": target}
    return {"hint": hint, "objects": copy.deepcopy(state), "pod": copy.deepcopy(pod), "config": config}


def related(draw: Draw, wanted: Json, changed: Json | None) -> Json:
    """The pod that waits, mostly so that it has to do with what changed."""
    assert changed is not None
    made, meta = copy.deepcopy(wanted), changed["metadata"]
    if "namespace" in meta and draw.chance(0.7):
        made["metadata"]["namespace"] = meta["namespace"]
    spec = made["spec"]
    volumes: list[Json] = []
    match changed["kind"]:
        case "Pod" if draw.chance(0.2):
            theirs = changed["spec"]
            volumes = [one for one in theirs.get("volumes", ()) if draw.chance(0.7)]
            for mine, their in zip(spec["containers"], theirs["containers"], strict=False):
                mine["ports"] = their.get("ports", [])
        case "PersistentVolumeClaim" if draw.chance(0.6):
            volumes = [{"persistentVolumeClaim": {"claimName": meta["name"]}}]
        case "CSIDriver" if draw.chance(0.5):
            volumes = [{"csi": {"driver": draw.pick((meta["name"], "other"))}}]
        case "VolumeAttachment" if draw.chance(0.5):
            volumes = [draw.pick(({"gcePersistentDisk": {"pdName": "d"}}, {"emptyDir": {}}, {"ephemeral": {}}))]
            changed["spec"]["attacher"] = draw.pick(("pd.csi.storage.gke.io", changed["spec"].get("attacher", "")))
    if volumes:
        spec["volumes"] = [{"name": f"related{number}", **one} for number, one in enumerate(volumes)]
    return made


def _objects(world: Cluster) -> dict[tuple[str, str], Json]:
    every = (*world.nodes.values(), *world.pods.values(), *world.others.values())
    return {(one["kind"], one["metadata"]["uid"]): copy.deepcopy(one) for one in every}


def _is_told(kind: str, old: Json | None, new: Json | None) -> bool:
    """Of pods: those on nodes, before and after, that have not ended."""
    there = [one for one in (old, new) if one is not None]
    if kind != "Pod":
        return True
    return all(
        one["spec"].get("nodeName") and one["status"].get("phase") not in ("Succeeded", "Failed") for one in there
    )


def changed_self(draw: Draw, setting: Any, wanted: Json) -> Json:
    made = copy.deepcopy(wanted)
    spec = made["spec"]
    match draw.pick(("labels", "tolerations", "requests", "gates", "nothing")):
        case "labels":
            made["metadata"]["labels"] = labels_of_pod(draw)
        case "tolerations":
            spec.setdefault("tolerations", []).append(toleration(draw))
        case "requests":
            spec["containers"][0].setdefault("resources", {})["requests"] = requests(draw, setting)
        case "gates":
            gates = spec.pop("schedulingGates", None)
            if not gates:
                spec["schedulingGates"] = [{"name": "example.com/later"}]
    return made


def _device_classes(draw: Draw, wanted: Json) -> tuple[Json | None, Json]:
    asked = [name for one in wanted["spec"]["containers"] for name in one.get("resources", {}).get("requests", {})]
    name = draw.pick(("gpus", "nics"))

    def made() -> Json:
        served = draw.pick((None, "", "example.com/gpu", *asked))
        spec = {} if served is None else {"extendedResourceName": served}
        return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}

    if draw.chance(0.3):
        first = wanted["spec"]["containers"][0].setdefault("resources", {}).setdefault("requests", {})
        first[f"deviceclass.resource.kubernetes.io/{name}"] = draw.pick(("0", "1"))
    return (made() if draw.chance(0.5) else None), made()


def answer(line: Json) -> Json:
    """What Reprise says to a line."""
    world, pod = PlainCluster(), read_pod(line["pod"], "pod")
    for raw in line["objects"]:
        if (item := read_object(raw)) is not None:
            world.apply(item)
    profile = profile_for(pod, from_object(line["config"], any_scheduler_name=True).profiles)
    asked = line["hint"]
    old, new = (None if raw is None else read_object(raw) for raw in (asked["old"], asked["new"]))
    events = []
    for event in _events(asked, old, new):
        hints = {}
        for name in profile.rejecting:
            if any(each.matches(event) for each in profile.events_of(name)):
                hints[name] = _hint(profile, name, pod, event, old, new, world)
        events.append({"event": event.label, "hints": hints})
    return {"events": events, "rejecting": sorted(profile.rejecting)}


def _hint(profile: Profile, name: str, pod: Any, event: ClusterEvent, old: Any, new: Any, world: PlainCluster) -> str:
    with world.without(pod.uid):
        try:
            return profile.queueing_hint(name, pod, event, old, new, world.cache.table).value
        except PluginFailure:
            return "Error"


def _events(asked: Json, old: Any, new: Any) -> tuple[ClusterEvent, ...]:
    kind = asked["kind"]
    if old is not None and new is not None:
        if kind == "Node":
            return node_events(old, new)
        if kind == "Pod":
            assigned = bool(new.pod.spec.node_name)
            return pod_events(old, new, EventResource.ASSIGNED_POD if assigned else EventResource.TARGET_POD)
    action = ActionType.UPDATE
    if old is None:
        action = ActionType.ADD
    elif new is None:
        action = ActionType.DELETE
    resource = {"Node": EventResource.NODE, "Pod": EventResource.ASSIGNED_POD, **KINDS}[kind]
    return (ClusterEvent(resource, action),)


def _arguments(line: Json, plugin: str) -> Json:
    """Of every profile: which one is asked does not matter here."""
    found: Json = {}
    for profile in (line["config"] or {}).get("profiles") or ():
        for entry in profile.get("pluginConfig") or ():
            if entry["name"] == plugin:
                found |= entry.get("args") or {}
    return found


def _affinity(pod: Json | None) -> Json:
    return ((pod or {}).get("spec") or {}).get("affinity") or {}


def _selects_namespaces(line: Json) -> bool:
    text = json.dumps([_affinity(one) for one in (line["pod"], line["hint"]["old"]) if one])
    return "namespaceSelector" in text


def _has_others_anti_affinity(line: Json) -> bool:
    return any("podAntiAffinity" in _affinity(one) for one in line["objects"] if one["kind"] == "Pod")


def _has_affinity(line: Json) -> bool:
    affinity = _affinity(line["pod"])
    return bool(affinity.get("podAffinity") or affinity.get("podAntiAffinity"))


def _asks_for_ignored(line: Json) -> bool:
    args = _arguments(line, "NodeResourcesFit")
    return bool(args.get("ignoredResources") or args.get("ignoredResourceGroups"))


def _uses_claims(line: Json) -> bool:
    return any("persistentVolumeClaim" in one or "ephemeral" in one for one in line["pod"]["spec"].get("volumes") or ())


_FINE = re.compile(r'"(?!cpu)[^"]+": "?[0-9.+]*(\.[0-9]|[mun]"|[PE]i|[0-9]{16})')


def _is_rounded(hint: Json) -> bool:
    """Whether a pod asks for parts of a byte, or for so much that thousandths of it do not fit in 64 bits.

    Requests are compared as they are counted, in whole units; kube-scheduler compares them in thousandths.
    """
    pods = [(one["spec"], one["status"]) for one in (hint["old"], hint["new"]) if one] if hint["kind"] == "Pod" else []
    return bool(_FINE.search(json.dumps(pods)))


# By plugin and event, when the hints may differ.
MISSED: dict[tuple[str, str], Callable[[Json], bool]] = {
    # addedAffinity is met from now on, and the pod's own affinity was before.
    ("NodeAffinity", "NodeUpdateNodeLabel"): lambda line: bool(_arguments(line, "NodeAffinity").get("addedAffinity")),
    # Resources that Filter does not look at.
    ("NodeResourcesFit", "NodeAdd"): _asks_for_ignored,
    ("NodeResourcesFit", "NodeUpdateNodeAllocatable"): _asks_for_ignored,
    # A limit that fell away, or a driver that is new and has none.
    ("NodeVolumeLimits", "storage.k8s.io/CSINodeUpdate"): lambda _line: True,
    # The claim of an ephemeral volume.
    ("NodeVolumeLimits", "storage.k8s.io/VolumeAttachmentDelete"): _uses_claims,
    # The driver of a claim's volume.
    ("VolumeBinding", "storage.k8s.io/CSIDriverUpdate"): _uses_claims,
    # Namespaces by their labels; the first of its kind again; one of several terms.
    ("InterPodAffinity", "AssignedPodAdd"): _selects_namespaces,
    ("InterPodAffinity", "AssignedPodUpdatePodLabel"): _has_affinity,
    ("InterPodAffinity", "AssignedPodDelete"): lambda line: _selects_namespaces(line) or _has_affinity(line),
    # The terms of others.
    ("InterPodAffinity", "NodeAdd"): _has_others_anti_affinity,
    ("InterPodAffinity", "NodeUpdateNodeLabel"): lambda line: _has_others_anti_affinity(line) or _has_affinity(line),
}


def differences(line: Json, expected: Any, actual: Any, missed: Counter[str]) -> list[str]:
    """Where the answers differ in a way that is not one of MISSED; those that are, are counted in ``missed``."""
    if "error" in expected or "missing" in expected:
        return [f"oracle: {expected}"] if "panic" in str(expected) or "missing" in expected else []
    if [one["event"] for one in expected["events"]] != [one["event"] for one in actual["events"]]:
        if _is_rounded(line["hint"]):
            missed["requests told apart below a unit"] += 1
            return []
        return [f"events: {expected['events']} expected, not {actual['events']}"]
    found = []
    for right, mine in zip(expected["events"], actual["events"], strict=True):
        event = right["event"]
        for plugin in sorted({*right["hints"], *mine["hints"]}):
            if plugin not in actual["rejecting"]:
                continue  # it scores only, so that it never rejects a pod
            # A plugin that fails has the pod tried again.
            want, have = (
                "Queue" if one["hints"].get(plugin) == "Error" else one["hints"].get(plugin) for one in (right, mine)
            )
            if want == have:
                continue
            may_differ = MISSED.get((plugin, event))
            if may_differ is not None and may_differ(line) and (want == "QueueSkip" or _selects_namespaces(line)):
                missed[f"{plugin} {event}"] += 1
            else:
                found.append(f"{plugin} {event}: {want} expected, not {have}")
    return found


def compare(right: Program, seed: int, count: int) -> tuple[int, int, Counter[str], list[tuple[Json, list[str]]]]:
    """Lines, hints, those of MISSED, and what differs."""
    asked = hints = 0
    missed: Counter[str] = Counter()
    wrong: list[tuple[Json, list[str]]] = []
    made = (line for index in range(count) for line in lines(seed, index))
    while batch := [line for _, line in zip(range(BATCH), made, strict=False)]:
        for line, expected in zip(batch, right.answer([encode(line) for line in batch]), strict=True):
            asked += 1
            actual = {"error": "not asked"} if "error" in expected else answer(line)
            hints += sum(len(one["hints"]) for one in expected.get("events", ()))
            if differs := differences(line, expected, actual, missed):
                wrong.append((line, differs))
    return asked, hints, missed, wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.hints")
    parser.add_argument("--cases", type=int, default=300, help="clusters, each with some changes")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="default: a new one, printed")
    options = parser.parse_args()
    right = oracle()
    asked, hints, missed, wrong = compare(right, options.seed, options.cases)
    reached = {key: count for key, count in right.reached.items() if key.startswith("hint/")}
    for key in sorted(reached):
        print(f"{reached[key]:7} {key}")
    for key, count in sorted(missed.items()):
        print(f"{count:7} woken here alone: {key}")
    for line, differs in wrong[:5]:
        print(encode(line))
        print("\n".join(f"  {one}" for one in differs))
    print(
        f"seed {options.seed}: {asked} changes, {hints} hints, {sum(missed.values())} listed, {len(wrong)} differences"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
