"""Pods nominated to a node of an entry take it from a pod for that pod's decision only; the entry stays as it is.

Expected: kube-scheduler 1.37, RunFilterPluginsWithNominatedPods.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.api.objects import Node, Pod, PodSchedulingGate, PodStatus
from scheduler.framework import ops
from scheduler.framework.facet import Facet
from scheduler.framework.ops import Ints
from scheduler.framework.plugin import CycleState, NormalizePlugin, SignPlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.view import NodeView
from scheduler.plugins.node_resources_fit import NodeResourcesFit
from scheduler.plugins.scheduling_gates import SchedulingGates
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core
from tests.support.scripted_plugins import make_profile
from tests.support.signed_plugins import ALL_CHECKED, SignedScore, batch_of

GATES = [PodSchedulingGate(name="later")]


def nominated(name: str, node: str, *, cpu: str = "3", priority: int = 10, **fields: Any) -> Pod:
    """A pod that waits and does not take its turn."""
    status = PodStatus(nominated_node_name=node)
    return make_pod(name, requests={"cpu": cpu}, priority=priority, status=status, scheduling_gates=GATES, **fields)


def scored(core: Core) -> Core:
    """n2 is best, n1 next, n0 worst; each has 4 CPUs."""
    core.nodes(make_node("n0"), make_node("n1"), make_node("n2"))
    return core


def run(*, scores: dict[str, int] | None = None) -> Core:
    score = SignedScore()
    score.by_name = {"n1": 50, "n2": 90} if scores is None else scores
    return scored(Core([make_profile(SchedulingGates(), NodeResourcesFit(), score)], batching=ALL_CHECKED))


def pods(count: int, *, cpu: str = "1", **fields: Any) -> list[Pod]:
    return [make_pod(f"p{number}", requests={"cpu": cpu}, **fields) for number in range(count)]


def test_the_best_node_is_kept_for_a_nominated_pod() -> None:
    """Beside the nominated pod's 3 CPUs there is room for one more on n2."""
    core = run()
    core.pods(nominated("ahead", "n2"), *pods(3))
    results = [core.decide() for _ in range(3)]

    assert [result.node_name for result in results] == ["n2", "n1", "n1"]
    assert [result.batch for result in results] == ["no_hint", "hint_not_used", "hint_not_used"]
    assert [result.feasible for result in results] == [3, 2, 2]
    assert batch_of(core) == {"no_hint": 1, "hint_not_used": 2, "verified": 2}


def test_a_nominated_pod_on_another_node_takes_nothing() -> None:
    core = run()
    core.pods(nominated("ahead", "n0", cpu="4"), *pods(3))

    assert [core.decide().batch for _ in range(3)] == ["no_hint", "hint_used", "hint_used"]


def test_a_pod_of_a_higher_priority_does_not_leave_room_and_shares_the_entry() -> None:
    """Priority is no part of the signature: the overlay is worked out for each pod."""
    core = run()
    core.pods(
        nominated("ahead", "n2", cpu="4", priority=5),
        *pods(1),
        *(make_pod(f"q{number}", requests={"cpu": "1"}, priority=priority) for number, priority in enumerate((5, 6))),
    )
    results = {result.pod: result for result in (core.decide() for _ in range(3))}

    assert {pod: result.node_name for pod, result in results.items()} == {
        "default/q1": "n2",
        "default/q0": "n1",
        "default/p0": "n1",
    }
    assert batch_of(core) == {"no_hint": 1, "hint_not_used": 2, "verified": 2}


def test_the_entry_is_as_it_was_once_the_nomination_is_gone() -> None:
    core = run()
    ahead = nominated("ahead", "n2", cpu="4")
    core.pods(ahead, *pods(3))
    assert [core.decide().node_name for _ in range(2)] == ["n1", "n1"]
    core.pod_gone(ahead)
    result = core.decide()

    assert (result.node_name, result.batch) == ("n2", "hint_used")
    assert len(core.state.batching.entries) == 1


def test_when_all_nodes_are_kept_for_others_no_node_fits() -> None:
    core = run()
    core.pods(*pods(2))
    assert core.decide().node_name == "n2"
    core.pods(*(nominated(f"ahead{number}", f"n{number}", cpu="4") for number in range(3)))
    result = core.decide()

    assert (result.outcome, result.batch, result.feasible) == ("unschedulable", "fit_error", 0)
    assert result.message == "0/3 nodes are available: 3 Insufficient cpu."
    assert result.plugins == ("NodeResourcesFit",)


def test_a_node_that_is_full_already_is_not_asked_again() -> None:
    core = run()
    core.nodes(make_node("n2", allocatable={"cpu": "0"}))
    core.pods(nominated("ahead", "n2", cpu="4"), *pods(2))

    assert [(result.batch, result.feasible) for result in (core.decide(), core.decide())] == [
        ("no_hint", 2),
        ("hint_used", 2),
    ]


def test_a_nomination_to_a_node_that_is_gone_matters_to_nobody() -> None:
    core = run()
    core.pods(nominated("ahead", "gone"), *pods(2))

    assert [core.decide().batch for _ in range(2)] == ["no_hint", "hint_used"]


class Relative(NormalizePlugin, SignPlugin):
    """As far as the node is above the worst one, in percent of the distance to the best one."""

    name = "Relative"
    facets = Facet.RESOURCES

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        return nodes.allocatable("memory")

    def normalize(self, state: CycleState, pod: PodInfo, nodes: NodeView, scores: Ints, low: int, high: int) -> Ints:
        final: Ints = ops.div_trunc(ops.mul(ops.sub(scores, low), 100), max(high - low, 1))
        return final

    def sign(self, pod: PodInfo) -> tuple[Any, ...]:
        return ()


@pytest.mark.parametrize("kept", [False, True])
def test_a_node_that_leaves_moves_the_normalised_scores_of_the_others(kept: bool) -> None:
    """Memory and another score. Of n0 to n3: 0, 40, 100, 20+60. Without n2: 0, 100, -, 50+60."""
    score = SignedScore()
    score.by_name = {"n3": 60}
    core = Core([make_profile(SchedulingGates(), NodeResourcesFit(), Relative(), score)], batching=ALL_CHECKED)
    core.nodes(*(_with_memory(f"n{number}", units) for number, units in enumerate((10, 50, 110, 30))))
    core.pods(*pods(3, cpu="100m"))
    assert core.decide().node_name == "n2"
    if kept:
        core.pods(nominated("ahead", "n2", cpu="4"))
    results = [core.decide() for _ in range(2)]

    assert [result.node_name for result in results] == (["n3", "n3"] if kept else ["n2", "n2"])
    assert [result.batch for result in results] == (["hint_not_used"] * 2 if kept else ["hint_used"] * 2)
    assert core.state.batching.counters.mismatched.total() == 0


def test_the_worst_node_that_leaves_moves_the_choice_between_the_others() -> None:
    """n0, n1 and n2 have 0, 90 and 100, and n1 20 more: n1. Without n0 they have 0 and 100: n2."""
    score = SignedScore()
    score.by_name = {"n1": 20}
    core = Core([make_profile(SchedulingGates(), NodeResourcesFit(), Relative(), score)], batching=ALL_CHECKED)
    core.nodes(*(_with_memory(f"n{number}", units) for number, units in enumerate((10, 100, 110))))
    core.pods(*pods(3, cpu="100m"))
    assert core.decide().node_name == "n1"
    core.pods(nominated("ahead", "n0", cpu="4"))
    result = core.decide()

    assert (result.node_name, result.batch) == ("n2", "hint_not_used")


def _with_memory(name: str, units: int) -> Node:
    return make_node(name, allocatable={"memory": f"{units}Gi"})


def test_a_pod_that_is_assumed_is_no_longer_nominated() -> None:
    """Its room is counted once, not twice."""
    core = run()
    ahead = msgspec.structs.replace(nominated("ahead", "n2", cpu="2"))
    spec = msgspec.structs.replace(ahead.spec, scheduling_gates=None)
    core.pods(msgspec.structs.replace(ahead, spec=spec), *pods(3))
    results = [core.decide() for _ in range(4)]

    assert [result.node_name for result in results] == ["n2", "n2", "n2", "n1"]
    assert [result.batch for result in results] == ["pod_nominated", "no_hint", "hint_used", "hint_used"]
