"""Random changes of a cluster: what the API would deliver between two decisions."""

import copy
from typing import Any

from tests.oracle.draw import Draw, Json, Setting
from tests.oracle.families import dress_node, key_of, make_existing, make_node, one_object
from tests.oracle.images import node_images
from tests.oracle.nodes import UNSCHEDULABLE_TAINT, allocatable, labels, taints
from tests.oracle.pods import requests, resized
from tests.oracle.selectors import labels_of_pod


class Cluster:
    """The objects as of the last step, and the step under way."""

    def __init__(
        self, draw: Draw, setting: Setting, nodes: list[Json], pods: list[Json], others: list[Json] | None = None
    ) -> None:
        self.draw = draw
        self.setting = setting
        self.nodes = {node["metadata"]["name"]: node for node in nodes}
        self.pods = {pod["metadata"]["uid"]: pod for pod in pods}
        self.others = {key_of(one): one for one in others or []}
        self.made = 0
        self._applied: dict[tuple[str, str], Json] = {}
        self._deleted: list[Json] = []

    def step(self) -> Json:
        """One to three changes, as the `apply` and `delete` of a line. No object is in both under one UID."""
        self._applied, self._deleted = {}, []
        for _ in range(self.draw.weighted({1: 60, 2: 25, 3: 15})):
            self._change()
        line: Json = {"apply": copy.deepcopy(list(self._applied.values()))}
        if self._deleted:
            line["delete"] = self._deleted
        return line

    def _change(self) -> None:
        change = self.draw.weighted(
            {
                self._node_labels: 9,
                self._node_taints: 9,
                self._node_allocatable: 10,
                self._node_images: 6,
                self._node_same: 5,
                self._node_deleted: 5,
                self._node_replaced: 5,
                self._node_added: 5,
                self._cordon: 6,
                self._pod_added: 16,
                self._pod_deleted: 12,
                self._pod_ended: 5,
                self._pod_resized: 5,
                self._pod_terminating: 3,
                self._pod_labels: 3,
                self._pod_bound: 6,
                self._pod_replaced: 4,
                self._object_applied: 40 if self.setting.looks_beyond else 0,
                self._object_deleted: 12 if self.setting.looks_beyond else 0,
            }
        )
        change()

    def _apply(self, thing: Json) -> None:
        self.made += 1
        thing["metadata"]["resourceVersion"] = str(1000 + self.made)
        self._place(thing)[0][self._place(thing)[1]] = thing
        self._applied[thing["kind"], thing["metadata"]["uid"]] = thing

    def _delete(self, thing: Json) -> None:
        meta = thing["metadata"]
        if self._applied.pop((thing["kind"], meta["uid"]), None) is not None and "resourceVersion" not in meta:
            return
        self._place(thing)[0].pop(self._place(thing)[1])
        reference = {key: meta[key] for key in ("name", "namespace", "uid") if key in meta}
        self._deleted.append({"apiVersion": thing["apiVersion"], "kind": thing["kind"], "metadata": reference})

    def _place(self, thing: Json) -> tuple[dict[Any, Json], Any]:
        """Where the object is kept: in which of the mappings, and under which key."""
        if thing["kind"] == "Node":
            return self.nodes, thing["metadata"]["name"]
        return (self.pods, thing["metadata"]["uid"]) if thing["kind"] == "Pod" else (self.others, key_of(thing))

    def _some_node(self) -> Json | None:
        return copy.deepcopy(self.draw.pick(list(self.nodes.values()))) if self.nodes else None

    def _some_pod(self) -> Json | None:
        return copy.deepcopy(self.draw.pick(list(self.pods.values()))) if self.pods else None

    def _new_uid(self, name: str) -> str:
        self.made += 1
        return f"uid-{name}-{self.made}"

    def _node_labels(self) -> None:
        if one := self._some_node():
            one["metadata"]["labels"] = labels(self.draw, one["metadata"]["name"])
            dress_node(self.draw, self.setting, one)
            self._apply(one)

    def _node_taints(self) -> None:
        if one := self._some_node():
            one["spec"].pop("taints", None)
            if made := taints(self.draw, 0.7, 0.8 if self.setting.roomy else 0.1):
                one["spec"]["taints"] = made
            self._apply(one)

    def _cordon(self) -> None:
        if one := self._some_node():
            rest = [t for t in one["spec"].pop("taints", []) if t["key"] != UNSCHEDULABLE_TAINT["key"]]
            if not one["spec"].pop("unschedulable", False):
                one["spec"]["unschedulable"] = True
                rest.append(dict(UNSCHEDULABLE_TAINT))
            if rest:
                one["spec"]["taints"] = rest
            self._apply(one)

    def _node_allocatable(self) -> None:
        if one := self._some_node():
            one["status"]["allocatable"] = allocatable(self.draw, self.setting)
            self._apply(one)

    def _node_images(self) -> None:
        if one := self._some_node():
            one["status"].pop("images", None)
            if made := node_images(self.draw, 0.8):
                one["status"]["images"] = made
            self._apply(one)

    def _node_same(self) -> None:
        """A heartbeat: nothing that a scheduler reads has changed."""
        if one := self._some_node():
            one["status"]["conditions"] = [
                {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-02T03:04:05Z"}
            ]
            self._apply(one)

    def _node_deleted(self) -> None:
        """The node's pods stay behind, on a node that is unknown until one of its name comes."""
        if (one := self._some_node()) and (len(self.nodes) > 1 or self.draw.chance(0.2)):
            self._delete(one)

    def _node_added(self) -> None:
        absent = [name for name in (*(f"n{i}" for i in range(1, 13)), "gone") if name not in self.nodes]
        if absent:
            name = self.draw.pick(absent)
            self._apply(make_node(self.draw, name, self._new_uid(name), self.setting))

    def _node_replaced(self) -> None:
        if one := self._some_node():
            name = one["metadata"]["name"]
            self._delete(one)
            self._apply(make_node(self.draw, name, self._new_uid(name), self.setting))

    def _pod_added(self) -> None:
        name = f"later{self.made}"
        self._apply(make_existing(self.draw, name, self._new_uid(name), self.setting, list(self.nodes)))

    def _pod_deleted(self) -> None:
        if one := self._some_pod():
            self._delete(one)

    def _pod_replaced(self) -> None:
        """Deleted and created again under its name, as a StatefulSet does; often on another node."""
        if one := self._some_pod():
            meta = one["metadata"]
            again = make_existing(self.draw, meta["name"], self._new_uid(meta["name"]), self.setting, list(self.nodes))
            again["metadata"]["namespace"] = meta["namespace"]
            self._delete(one)
            self._apply(again)

    def _pod_ended(self) -> None:
        if one := self._some_pod():
            one["status"]["phase"] = self.draw.pick(("Succeeded", "Failed"))
            self._apply(one)

    def _pod_resized(self) -> None:
        if one := self._some_pod():
            if self.draw.chance(0.6):
                one["spec"]["containers"][0].setdefault("resources", {})["requests"] = requests(self.draw, self.setting)
            if self.draw.chance(0.6):
                resized(self.draw, one, self.setting)
            self._apply(one)

    def _pod_terminating(self) -> None:
        if one := self._some_pod():
            one["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
            self._apply(one)

    def _pod_labels(self) -> None:
        if one := self._some_pod():
            one["metadata"]["labels"] = {"app": self.draw.pick(("web", "db", "cache"))}
            if self.setting.looks_beyond:
                one["metadata"]["labels"] = labels_of_pod(self.draw)
            self._apply(one)

    def _object_applied(self) -> None:
        """A new object of another kind, a new state of a known one, or another one under its name."""
        if one := one_object(self.draw, self.setting, list(self.nodes), list(self.others)):
            before = self.others.get(key_of(one))
            if before is not None and self.draw.chance(0.15):
                self._delete(before)
                one["metadata"]["uid"] = self._new_uid(one["metadata"]["uid"])
            elif before is not None:
                one["metadata"]["uid"] = before["metadata"]["uid"]
            self._apply(one)

    def _object_deleted(self) -> None:
        """Of any kind, also when there are few of it."""
        if self.others:
            kind = self.draw.pick(sorted({one["kind"] for one in self.others.values()}))
            self._delete(copy.deepcopy(self.draw.pick([one for one in self.others.values() if one["kind"] == kind])))

    def _pod_bound(self) -> None:
        pending = [pod for pod in self.pods.values() if not pod["spec"].get("nodeName")]
        if pending and self.nodes:
            one = copy.deepcopy(self.draw.pick(pending))
            one["spec"]["nodeName"] = self.draw.pick(list(self.nodes))
            one["status"]["phase"] = "Running"
            self._apply(one)
