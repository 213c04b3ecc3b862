"""Who fits where, worked out again from plain JSON objects as the API server gave them: nothing here is the product's.

A recorded story only tells in which order a scheduler was shown which version of which object, and what it decided. The
account knows the rules that its tests use and no others, and fails when an object asks for more: requests of plain
containers, pods per node, cordons, taints, node selectors, required node affinity with `In`, and host ports.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tests.support.resources import Object

Version = tuple[str, str]
"""The uid of an object and its resourceVersion."""

_UNITS = {"": 1000, "k": 10**6, "M": 10**9, "G": 10**12, "Ki": 2**10 * 1000, "Mi": 2**20 * 1000, "Gi": 2**30 * 1000}
_MILLI = {**_UNITS, "m": 1}
_RULES = {"nodeSelector", "affinity", "tolerations", "containers", "nodeName"}
_NO_RULES = {
    *("schedulerName", "priority", "preemptionPolicy", "restartPolicy", "dnsPolicy", "securityContext"),
    *("terminationGracePeriodSeconds", "enableServiceLinks"),
}
_CONTAINER_RULES = {"resources", "ports"}
_NO_CONTAINER_RULES = {"name", "image", "imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy"}
_NO_ENTRY = ("NoSchedule", "NoExecute")
_IGNORED = {"PodBound", "NamespaceApplied", "SelectingObjectApplied", "Tick"}
"""Stimuli that change nothing here: a bound pod's room is taken already, and no Service or controller keeps a pod from a node."""


def version_of(item: Object) -> Version:
    """What tells this state of the object from all others."""
    return item["metadata"]["uid"], item["metadata"]["resourceVersion"]


def amount(quantity: str | int) -> int:
    """A quantity in thousandths.

    Raises:
        KeyError: a unit that no test uses.
    """
    text = str(quantity)
    digits = text.rstrip("kmKMGi")
    return int(digits) * _MILLI[text[len(digits) :]]


def requests_of(pod: Object) -> Counter[str]:
    """What a pod takes of its node, in thousandths, a place among the node's `pods` included."""
    spec = pod["spec"]
    assert spec.keys() <= _RULES | _NO_RULES, f"a rule that this account does not know: {spec.keys()}"
    total = Counter({"pods": 1000})
    for container in spec["containers"]:
        assert container.keys() <= _CONTAINER_RULES | _NO_CONTAINER_RULES, f"not known here: {container.keys()}"
        for resource, quantity in container.get("resources", {}).get("requests", {}).items():
            total[resource] += amount(quantity)
    return total


def host_ports_of(pod: Object) -> set[int]:
    """Host ports, all of TCP and on all addresses."""
    ports = [port for container in pod["spec"]["containers"] for port in container.get("ports", ())]
    assert all(port.get("protocol") == "TCP" and not port.get("hostIP") for port in ports)
    return {port["hostPort"] for port in ports if port.get("hostPort")}


def overcommitted(nodes: Iterable[Object], pods: Iterable[Object]) -> dict[str, dict[str, int]]:
    """By node, what its pods together take beyond what is allocatable, in thousandths."""
    taken: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pod in pods:
        taken[pod["spec"]["nodeName"]].update(requests_of(pod))
    allocatable = {node["metadata"]["name"]: node["status"]["allocatable"] for node in nodes}
    excess: dict[str, dict[str, int]] = {}
    for name, requests in taken.items():
        for resource, total in requests.items():
            if (over := total - amount(allocatable[name].get(resource, 0))) > 0:
                excess.setdefault(name, {})[resource] = over
    return excess


@dataclass(frozen=True)
class Decision:
    """What one cycle of the story decided: `node` is "" when it found none. `line` of the story counts from 1."""

    line: int
    pod: Object
    outcome: str
    node: str


class PlainAccount:
    """The cluster as a scheduler knew it at one point of its story; pods by uid, nodes by name.

    `pending` has pods without a node, `assigned` those shown on one, `assumed` those decided on and not yet shown there;
    `delivered` has the line that first showed a pod on a node.
    """

    def __init__(self, originals: Mapping[Version, Object]) -> None:
        """Take the objects from `originals`, as they were read from the API server by somebody else."""
        self.nodes: dict[str, Object] = {}
        self.pending: dict[str, Object] = {}
        self.assigned: dict[str, Object] = {}
        self.assumed: dict[str, tuple[Object, str]] = {}
        self.delivered: dict[str, int] = {}
        self._originals = originals
        self._taken: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._ports: defaultdict[str, Counter[int]] = defaultdict(Counter)

    def follow(self, story: Path) -> Iterator[Decision]:
        """Go through the story; at each decision the account is as it was just before it."""
        with story.open("rb") as lines:
            next(lines)  # the header
            for number, raw in enumerate(lines, start=2):
                step = msgspec.json.decode(raw)
                if "stimulus" in step:
                    self._take(step["stimulus"], step.get("instructions", []), number)
                    continue
                uid, node = step["pod"], step.get("node", "")
                binds = [each for each in step["instructions"] if each["instruction"] == "BindPod"]
                assert [(bind["pod"]["uid"], bind["node_name"]) for bind in binds] == ([(uid, node)] if node else [])
                decision = Decision(number, self.pending[uid], step["outcome"], node)
                yield decision
                if node:
                    self.assumed[uid] = (decision.pod, node)
                    self._charge(decision.pod, node, 1)

    def obstacles(self, pod: Object, node_name: str) -> list[str]:
        """Why the pod does not fit on the node; empty when it does."""
        if node_name not in self.nodes:
            return ["no such node"]
        node, spec = self.nodes[node_name], pod["spec"]
        allocatable, taken = node["status"]["allocatable"], self._taken[node_name]
        found = [
            f"not enough {resource}"
            for resource, wanted in requests_of(pod).items()
            if wanted and taken[resource] + wanted > amount(allocatable.get(resource, 0))
        ]
        found += [f"host port {port}" for port in host_ports_of(pod) if self._ports[node_name][port]]
        found += [f"taint {taint['key']}" for taint in _untolerated(spec, node)]
        found += ["cordoned"] if node["spec"].get("unschedulable") else []
        found += [] if _selects(spec, node["metadata"]["labels"]) else ["not selected"]
        return found

    def _take(self, stimulus: dict[str, Any], instructions: list[Any], line: int) -> None:
        kind = stimulus["type"]
        if kind == "NodeApplied":
            node = self._originals[version_of(stimulus["node"])]
            self.nodes[node["metadata"]["name"]] = node
        elif kind == "PodApplied":
            self._pod_applied(self._originals[version_of(stimulus["pod"])], line)
        elif kind == "BindFailed":
            self._release(stimulus["uid"])
        elif kind == "BindDue":
            self._check_again(stimulus["uid"], bool(instructions), line)
        else:
            assert kind in _IGNORED, f"a stimulus that this account does not know: {kind}"

    def _pod_applied(self, pod: Object, line: int) -> None:
        uid = pod["metadata"]["uid"]
        assert "deletionTimestamp" not in pod["metadata"]
        if "nodeName" not in pod["spec"]:
            self.pending[uid] = pod
            return
        if uid not in self.assigned:
            self.delivered[uid] = line
            self._release(uid)
            self._charge(pod, pod["spec"]["nodeName"], 1)
        self.assigned[uid] = pod

    def _check_again(self, uid: str, is_refused: bool, line: int) -> None:
        """Others touched the node of a pod that is about to be bound: without the pod itself there has to be room, or not."""
        if uid not in self.assumed:
            return
        pod, node = self.assumed[uid]
        self._charge(pod, node, -1)
        found = self.obstacles(pod, node)
        self._charge(pod, node, 1)
        assert bool(found) == is_refused, f"line {line}: {found} on {node}, and refused: {is_refused}"
        if is_refused:
            self._release(uid)

    def _release(self, uid: str) -> None:
        if uid in self.assumed:
            pod, node = self.assumed.pop(uid)
            self._charge(pod, node, -1)

    def _charge(self, pod: Object, node_name: str, sign: int) -> None:
        for resource, wanted in requests_of(pod).items():
            self._taken[node_name][resource] += sign * wanted
        for port in host_ports_of(pod):
            self._ports[node_name][port] += sign


def _untolerated(spec: Object, node: Object) -> list[Object]:
    tolerations = spec.get("tolerations", ())
    return [
        taint
        for taint in node["spec"].get("taints", ())
        if taint["effect"] in _NO_ENTRY and not any(_tolerates(each, taint) for each in tolerations)
    ]


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    return bool(toleration["operator"] == "Exists" or toleration.get("value") == taint.get("value"))


def _selects(spec: Object, labels: Mapping[str, str]) -> bool:
    if any(labels.get(key) != value for key, value in spec.get("nodeSelector", {}).items()):
        return False
    affinity = spec.get("affinity", {})
    assert affinity.keys() <= {"nodeAffinity"}
    required = affinity.get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or any(_term_selects(term, labels) for term in required["nodeSelectorTerms"])


def _term_selects(term: Object, labels: Mapping[str, str]) -> bool:
    assert term.keys() == {"matchExpressions"}
    assert all(each["operator"] == "In" for each in term["matchExpressions"])
    return all(labels.get(each["key"]) in each["values"] for each in term["matchExpressions"])
