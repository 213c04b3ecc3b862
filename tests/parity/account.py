"""What a scheduler has done so far, read from the API alone: pods, their conditions, and Events."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from tests.parity.placement import Placement
from tests.support.resources import Object
from tests.support.watch import Watch

PodFacts = dict[str, Any]
Snapshot = dict[str, PodFacts]
"""Facts by the name of a pod; of a name that was used again, by `name#2` and so on."""
World = Mapping[tuple[str, str, str], Object]


class Account:
    """Follows the pods that come after it was opened, event by event."""

    def __init__(self, pods: Watch, events: Watch, tries_vary: Iterable[str] = ()) -> None:
        """Of the pods whose tries vary, repeated Events are one."""
        self._pods, self._events = pods, events
        self._read_pods, self._read_events = len(pods.events), len(events.events)
        self._from_event = self._read_events
        self._last: dict[str, Object] = {}
        self._gone: set[str] = set()
        self._expected: set[str] = set()
        self._foreign: set[str] = set()
        self._tries_vary = frozenset(tries_vary)
        self._told: dict[str, list[Object]] = defaultdict(list)
        self._names: dict[str, str] = {}
        self._uses: dict[str, int] = defaultdict(int)
        self._placements: list[Placement] = []
        self._world: dict[tuple[str, str, str], Object] = {}
        self._step = 0

    def read(self) -> None:
        """Take in what has come. Binds from here on are noted with the surroundings that are given next."""
        self._read()

    def surroundings(self, world: World) -> None:
        """Binds that have not been read are decided on these objects, beside the pods."""
        self._world = dict(world)

    def settled(self, world: World) -> None:
        """The step is over, and controllers have left these objects."""
        for placement in self._placements:
            if placement.step == self._step:
                placement.later = list(world.values())

    def bound_by_others(self, name: str) -> None:
        """Another scheduler binds this pod, so that its place is not judged."""
        self._foreign.add(name)

    def expect(self, uid: str) -> None:
        """A pod was created, and may not have been seen yet."""
        self._expected.add(uid)

    def heard(self) -> int:
        """How many events have come, of pods and Events together."""
        return len(self._pods.events) + len(self._events.events)

    def is_told(self, uid: str) -> bool:
        """Whether the pod is bound or has a condition that says why not, and its Event is there."""
        self._read()
        pod = self._last.get(uid)
        if pod is None:
            return False
        if uid in self._gone or "status" in _scheduled(pod):
            return _is_gated(pod) or bool(self._told[uid])
        return bool(pod["spec"].get("nodeName")) and bool(self._told[uid])

    def all_told(self) -> bool:
        """Whether that holds for every pod that was not created on a node and is there."""
        self._read()
        return self._expected <= self._last.keys() and all(
            self.is_told(uid)
            for uid, pod in self._last.items()
            if uid not in self._gone and not (pod["spec"].get("nodeName") and "status" not in _scheduled(pod))
        )

    def are_bound(self, names: Iterable[str]) -> bool:
        """Whether the pods of these names are on a node."""
        self._read()
        nodes = {self._names[uid]: pod["spec"].get("nodeName") for uid, pod in self._last.items()}
        return all(nodes.get(name) for name in names)

    def snapshot(self) -> Snapshot:
        """The facts of every pod, now."""
        self._read()
        self._step += 1
        return {self._names[uid]: self._facts(uid, pod) for uid, pod in self._last.items()}

    def placements(self) -> list[Placement]:
        """Every bind so far, in the order in which they came."""
        self._read()
        return self._placements

    def _facts(self, uid: str, pod: Object) -> PodFacts:
        status = pod["status"]
        node = pod["spec"].get("nodeName", "")
        there = "gone" if uid in self._gone else "terminating" if pod["metadata"].get("deletionTimestamp") else "there"
        return {
            "is": f"{'bound' if node else 'pending'}, {there}",
            "nominated": status.get("nominatedNodeName", ""),
            "conditions": {
                each["type"]: {key: each.get(key) for key in ("status", "reason", "message", "observedGeneration")}
                for each in status.get("conditions", ())
            },
            "events": self._events_of(uid, node),
        }

    def _events_of(self, uid: str, node: str) -> list[str]:
        words = [self._words(each, node) for each in self._told[uid]]
        if self._names[uid] in self._tries_vary:
            return [each for each, _ in itertools.groupby(words)]
        return words

    def _words(self, event: Object, node: str) -> str:
        """An Event as text, without what is of this run alone: UIDs, and of a bind the node, which placements are about."""
        note = event.get("note", "")
        for uid, name in self._names.items():
            note = note.replace(uid, f"<uid of {name}>")
        if event["reason"] == "Scheduled" and node:
            note = note.removesuffix(f" {node}") + " <its node>"
        related = event.get("related")
        about = f", related to {related['kind']} {related['name']}" if related else ""
        return f"{event['type']} {event['reason']} {event['action']}: {note}{about}"

    def _read(self) -> None:
        fresh = self._pods.events[self._read_pods :]
        self._read_pods += len(fresh)
        for each in fresh:
            uid, name = each.object["metadata"]["uid"], each.object["metadata"]["name"]
            before = self._last.get(uid)
            if before is None:
                if each.type == "DELETED":
                    continue  # of an earlier script
                self._uses[name] += 1
                self._names[uid] = name if self._uses[name] == 1 else f"{name}#{self._uses[name]}"
            was_bound = before is None or before["spec"].get("nodeName")
            if (
                before is not None
                and not was_bound
                and each.object["spec"].get("nodeName")
                and name not in self._foreign
            ):
                self._note_placement(uid, before, each.object)
            self._last[uid] = each.object
            if each.type == "DELETED":
                self._gone.add(uid)
        told = self._events.events[self._read_events :]
        self._read_events += len(told)
        for each in told:
            if each.type == "ADDED":
                self._told[each.object["regarding"].get("uid", "")].append(each.object)

    def _note_placement(self, uid: str, before: Object, after: Object) -> None:
        known = [pod for each, pod in self._last.items() if each != uid and each not in self._gone]
        made = Placement(
            step=self._step + 1,
            name=self._names[uid],
            pod=before,
            node=after["spec"]["nodeName"],
            pods=known,
            world=[each for key, each in self._world.items()],
        )
        self._placements.append(made)


def _scheduled(pod: Object) -> Object:
    conditions = pod["status"].get("conditions", ())
    return next((each for each in conditions if each["type"] == "PodScheduled"), {})


def _is_gated(pod: Object) -> bool:
    return bool(pod["spec"].get("schedulingGates"))
