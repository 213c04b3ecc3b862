"""Where pods were put, and the nodes that are equally good by the real plugins: asked of the oracle for the state at the bind."""

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.oracle.program import Program, oracle
from tests.support.resources import Object

MOST_ORDERS = 24


@dataclass
class Placement:
    """One bind: the pod as it was before, its node, and all that was known of the cluster."""

    step: int
    name: str
    pod: Object
    node: str
    pods: Sequence[Object]
    world: Sequence[Object]
    later: Sequence[Object] = ()
    """The world at the end of the step: controllers may have bound claims before the decision."""

    @property
    def by_nomination(self) -> bool:
        """Whether a nomination had a say: the pod's own is tried first, those of others take room that no oracle sees."""
        return any(pod["status"].get("nominatedNodeName") for pod in (self.pod, *self.pods) if not _node(pod))

    def line(
        self, configuration: Mapping[str, Any], instead: Mapping[str, str] | None = None, *, later: bool = False
    ) -> str:
        """The oracle's question; with `instead`, as if the pods of these names were on these nodes, or on none."""
        moved = instead or {}
        pods = [
            {**pod, "spec": {**pod["spec"], "nodeName": moved[pod["metadata"]["name"]]}}
            if pod["metadata"]["name"] in moved
            else pod
            for pod in self.pods
        ]
        objects = [
            *(self.later if later else self.world),
            *({"apiVersion": "v1", "kind": "Pod", **pod} for pod in pods),
        ]
        return json.dumps({"objects": objects, "pod": self.pod, "config": dict(configuration)})


@dataclass(frozen=True)
class Placed:
    """A bind and the set of nodes that were equally good."""

    step: int
    name: str
    node: str
    best: tuple[str, ...]
    """Empty: no oracle was asked, and the node itself is what counts."""
    wrong: str = ""
    """Why the node is not one of them, if so."""


def equally_good(
    performances: Sequence[tuple[Sequence[Placement], Mapping[str, Any]]], program: Program | None = None
) -> list[list[Placed]]:
    """The placements of several performances, each with its configuration, judged by the oracle in one process."""
    asked = [placement.line(config) for placements, config in performances for placement in placements]
    answers = iter((program or oracle()).answer(asked) if asked else [])
    return [
        [_judge(placement, next(answers), placements, config, program) for placement in placements]
        for placements, config in performances
    ]


def _judge(
    placement: Placement,
    answer: Mapping[str, Any],
    placements: Sequence[Placement],
    configuration: Mapping[str, Any],
    program: Program | None,
) -> Placed:
    if placement.by_nomination or configuration.get("extenders"):
        return Placed(placement.step, placement.name, placement.node, ())
    best = tuple(answer.get("best") or ())
    if placement.node in best:
        return Placed(placement.step, placement.name, placement.node, best)
    # Binds that were at work at once may have reached the API in another order than that of the decisions.
    known = {pod["metadata"]["name"] for pod in placement.pods}
    beside = {
        each.name: each.node
        for each in placements
        if each.step == placement.step and each is not placement and each.name in known
    }
    if any(one["kind"] == "PersistentVolumeClaim" for one in placement.later):
        [other] = (program or oracle()).answer([placement.line(configuration, later=True)])
        if placement.node in (other.get("best") or ()):
            return Placed(placement.step, placement.name, placement.node, tuple(other["best"]))
    orders = itertools.product((False, True), repeat=len(beside))
    for order in itertools.islice(orders, MOST_ORDERS if beside else 0):
        instead = {name: node if before else "" for (name, node), before in zip(beside.items(), order, strict=True)}
        [other] = (program or oracle()).answer([placement.line(configuration, instead)])
        if placement.node in (other.get("best") or ()):
            return Placed(placement.step, placement.name, placement.node, tuple(other["best"]))
    why = f"{placement.node} is not among {list(best) or answer}"
    return Placed(placement.step, placement.name, placement.node, best, why)


def _node(pod: Object) -> str:
    node: str = pod["spec"].get("nodeName", "")
    return node
