"""What a decision depends on beyond the pod: each change between two pods of a shape leads to the right node, from the entry.

Scores by hand. TaintToleration: 100 - 100 * taints / most taints. NodeAffinity: 100 * weight / highest weight. ImageLocality:
100 * (size * share of holders - 23 MiB) / (1000 MiB - 23 MiB).
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from scheduler.api.objects import (
    Affinity,
    ContainerPort,
    Node,
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PreferredSchedulingTerm,
    Taint,
)
from scheduler.framework import ops
from scheduler.framework.columns import same_verdict
from scheduler.framework.facet import Facet
from scheduler.framework.ops import Masks
from scheduler.framework.plugin import CycleState, Plugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.view import NodeView
from scheduler.plugins import image_locality, node_affinity, node_ports, node_unschedulable, taint_toleration
from scheduler.plugins.node_resources_fit import NodeResourcesFit
from tests.support.builders import make_container, make_node, make_pod
from tests.support.core_run import Core
from tests.support.scripted_plugins import make_profile, named
from tests.support.signed_plugins import FOREVER, SignedFilter, SignedScore, batch_of

MIB = 2**20


def run(*plugins: Plugin, nodes: list[Node], shape: dict[str, Any] | None = None, **favour: int) -> Core:
    """``favour``: points of nodes in a score of its own, which counts twice."""
    score = SignedScore()
    score.by_name = favour
    profile = make_profile(
        node_unschedulable.NodeUnschedulable(), NodeResourcesFit(), *plugins, score, weights={"Score": 2}
    )
    # Fit is here as a filter only.
    others = tuple(one for one in profile.score if not isinstance(one.plugin, NodeResourcesFit))
    profile = dataclasses.replace(profile, score=others)
    core = Core([profile], batching=FOREVER)
    core.nodes(*nodes)
    core.pods(*(make_pod(f"p{number}", **(shape or {})) for number in range(12)))
    return core


def decide(core: Core) -> tuple[str, str]:
    result = core.decide()
    return result.batch, result.node_name


def soft(name: str, taints: int, **fields: Any) -> Node:
    effects = [Taint(key=f"k{number}", effect="PreferNoSchedule") for number in range(taints)]
    return make_node(name, taints=effects, **fields)


# Extrema over the feasible nodes


def test_the_most_taints_of_a_node_move_the_scores_of_others() -> None:
    """n0 has 100 and 2 points of its own; n1, with one taint, 0 or 90, and 60. Six more have as few taints as n0."""
    nodes = [soft("n0", 0), soft("n1", 1), soft("n2", 1), *(soft(f"n{number}", 0) for number in range(3, 9))]
    core = run(taint_toleration.TaintToleration(), nodes=nodes, n0=1, n1=30)
    assert [decide(core) for _ in range(2)] == [("no_hint", "n0"), ("hint_used", "n0")]
    core.nodes(soft("n2", 10))
    assert decide(core) == ("hint_used", "n1")
    core.nodes(soft("n2", 1))
    assert decide(core) == ("hint_used", "n0")


def test_the_node_with_the_most_taints_enters_and_leaves() -> None:
    core = run(taint_toleration.TaintToleration(), nodes=[soft("n0", 0), soft("n1", 1), soft("n2", 10)], n1=30)
    assert [decide(core) for _ in range(2)] == [("no_hint", "n1"), ("hint_used", "n1")]
    core.nodes(soft("n2", 10, unschedulable=True))
    assert decide(core) == ("hint_used", "n0")
    core.nodes(soft("n2", 10))
    assert decide(core) == ("hint_used", "n1")
    core.node_gone("n2")
    assert decide(core) == ("hint_used", "n0")


def test_one_of_two_nodes_with_the_most_taints_leaves() -> None:
    nodes = [soft("n0", 0), soft("n1", 1), soft("n2", 10), soft("n3", 10)]
    core = run(taint_toleration.TaintToleration(), nodes=nodes, n1=30)
    assert [decide(core) for _ in range(2)] == [("no_hint", "n1"), ("hint_used", "n1")]
    core.node_gone("n3")
    assert decide(core) == ("hint_used", "n1")
    core.node_gone("n2")
    assert decide(core) == ("hint_used", "n0")


def preferring(**weights: int) -> Affinity:
    terms = [
        PreferredSchedulingTerm(
            weight=weight,
            preference=NodeSelectorTerm(match_expressions=[NodeSelectorRequirement(key=key, operator="Exists")]),
        )
        for key, weight in weights.items()
    ]
    return Affinity(node_affinity=NodeAffinity(preferred=terms))


def test_the_highest_preference_of_a_node_moves_the_scores_of_others() -> None:
    """n0 has 100+120 or 1+120, n1 0+200, n2 0 or 100."""
    core = run(
        node_affinity.NodeAffinity(),
        nodes=[make_node("n0", labels={"zone": "a"}), make_node("n1"), make_node("n2")],
        shape={"affinity": preferring(zone=1, disk=99)},
        n0=60,
        n1=100,
    )
    assert [decide(core) for _ in range(2)] == [("no_hint", "n0"), ("hint_used", "n0")]
    core.nodes(make_node("n2", labels={"disk": ""}))
    assert decide(core) == ("hint_used", "n1")
    core.nodes(make_node("n2", labels={"disk": ""}, unschedulable=True))
    assert decide(core) == ("hint_used", "n0")


# The number of feasible nodes


def test_nodes_that_were_never_scored_are_when_there_is_a_second_one() -> None:
    core = run(nodes=[make_node("n0"), make_node("n1", unschedulable=True)], n1=50)
    assert [decide(core) for _ in range(2)] == [("no_hint", "n0"), ("hint_used", "n0")]
    core.nodes(make_node("n1"))
    assert decide(core) == ("hint_used", "n1")


def test_a_last_node_is_taken_whatever_its_score() -> None:
    core = run(nodes=[make_node("n0"), make_node("n1")], n1=50)
    assert [decide(core) for _ in range(2)] == [("no_hint", "n1"), ("hint_used", "n1")]
    core.nodes(make_node("n1", unschedulable=True))
    assert decide(core) == ("hint_used", "n0")


def test_without_a_node_the_entry_says_why() -> None:
    core = run(nodes=[make_node("n0"), make_node("n1")])
    assert [decide(core)[0] for _ in range(2)] == ["no_hint", "hint_used"]
    core.nodes(make_node("n1", unschedulable=True), make_node("n0", allocatable={"cpu": "0"}))
    result = core.decide()

    assert (result.batch, result.outcome) == ("fit_error", "unschedulable")
    assert result.message == "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
    core.nodes(make_node("n0"))
    assert decide(core) == ("hint_used", "n0")


# ImageLocality: number of nodes, and nodes that hold the image


def with_image(name: str, size: int = 1000 * MIB, **fields: Any) -> Node:
    return make_node(name, images={"app:1": size} if size else {}, **fields)


APP: dict[str, Any] = {"containers": [make_container(image="app:1")]}


def test_the_number_of_nodes_moves_the_scores_of_all() -> None:
    """One holder of two: 48. Of three: 31. n0 has 40."""
    core = run(image_locality.ImageLocality(), nodes=[make_node("n0"), with_image("n1")], shape=APP, n0=20)
    assert [decide(core) for _ in range(2)] == [("no_hint", "n1"), ("hint_used", "n1")]
    core.nodes(make_node("n2", unschedulable=True))
    assert decide(core) == ("hint_used", "n0")
    core.node_gone("n2")
    assert decide(core) == ("hint_used", "n1")


def test_another_holder_of_the_image_moves_the_scores_of_all() -> None:
    """One holder of three: 31. Two: 65. n0 has 40."""
    nodes = [make_node("n0"), with_image("n1"), make_node("n2", unschedulable=True)]
    core = run(image_locality.ImageLocality(), nodes=nodes, shape=APP, n0=20)
    assert [decide(core) for _ in range(2)] == [("no_hint", "n0"), ("hint_used", "n0")]
    core.nodes(with_image("n2", unschedulable=True))
    assert decide(core) == ("hint_used", "n1")
    core.nodes(make_node("n2", unschedulable=True))
    assert decide(core) == ("hint_used", "n0")


def test_an_image_of_another_size_moves_the_score() -> None:
    core = run(image_locality.ImageLocality(), nodes=[make_node("n0"), with_image("n1")], shape=APP, n0=20)
    assert [decide(core) for _ in range(2)] == [("no_hint", "n1"), ("hint_used", "n1")]
    core.nodes(with_image("n1", 500 * MIB))
    assert decide(core) == ("hint_used", "n0")


# The row itself


def changes() -> dict[str, tuple[list[Plugin], dict[str, Any], Node]]:
    """By facet: plugins, the shape, and n1 as it becomes, which was the best node and takes the pod no more."""
    hard = [Taint(key="k", effect="NoSchedule")]
    return {
        "taints": ([taint_toleration.TaintToleration()], {}, make_node("n1", taints=hard)),
        "unschedulable": ([], {}, make_node("n1", unschedulable=True)),
        "labels": (
            [node_affinity.NodeAffinity()],
            {"node_selector": {"zone": "a"}},
            make_node("n1", labels={"zone": "b"}),
        ),
        "allocatable": ([], {}, make_node("n1", labels={"zone": "a"}, allocatable={"cpu": "0"})),
    }


@pytest.mark.parametrize("facet", changes())
def test_a_node_that_became_unfit_is_not_offered(facet: str) -> None:
    plugins, shape, unfit = changes()[facet]
    nodes = [make_node("n0", labels={"zone": "a"}), make_node("n1", labels={"zone": "a"})]
    core = run(*plugins, nodes=nodes, shape=shape, n1=50)
    assert [decide(core) for _ in range(2)] == [("no_hint", "n1"), ("hint_used", "n1")]
    core.nodes(unfit)
    assert decide(core) == ("hint_used", "n0")
    core.nodes(make_node("n1", labels={"zone": "a"}))
    assert decide(core) == ("hint_used", "n1")


def test_a_host_port_that_a_pod_took_is_taken_until_that_pod_is_gone() -> None:
    shape = {"containers": [make_container(ports=[ContainerPort(host_port=80)])]}
    core = run(node_ports.NodePorts(), nodes=[make_node("n0"), make_node("n1")], shape=shape, n1=50)
    first, second = core.decide(), core.decide()
    assert [(one.batch, one.node_name) for one in (first, second)] == [("no_hint", "n1"), ("hint_used", "n0")]
    assert core.decide().batch == "fit_error"
    core.bind_failed(_pod(core, first.uid), "n1")
    assert decide(core) == ("hint_used", "n1")


def _pod(core: Core, uid: str) -> Pod:
    return core.state.bindings[uid].queued.pod.pod


def test_room_that_assumed_pods_take_is_gone_at_once() -> None:
    """Two of 2 CPUs fit on n1, whatever the API server has said of them."""
    core = run(nodes=[make_node("n0"), make_node("n1")], shape={"requests": {"cpu": "2"}}, n1=50)

    assert [decide(core) for _ in range(5)] == [
        ("no_hint", "n1"),
        ("hint_used", "n1"),
        ("hint_used", "n0"),
        ("hint_used", "n0"),
        ("fit_error", ""),
    ]


def test_a_node_that_is_gone_is_never_offered() -> None:
    core = run(nodes=[make_node("n0"), make_node("n1")], n1=50)
    assert [decide(core) for _ in range(2)] == [("no_hint", "n1"), ("hint_used", "n1")]
    core.node_gone("n1")
    assert decide(core) == ("hint_used", "n0")


def test_a_new_node_is_offered() -> None:
    core = run(nodes=[make_node("n0")], n1=50)
    assert [decide(core) for _ in range(2)] == [("no_hint", "n0"), ("hint_used", "n0")]
    core.nodes(make_node("n1"))
    assert decide(core) == ("hint_used", "n1")


def test_another_node_in_the_row_of_one_that_is_gone_is_another_node() -> None:
    """Same labels, same size: only the name is new, and what plugins know by it."""
    core = run(nodes=[make_node("n0"), make_node("n1")], n0=50, n9=70)
    assert [decide(core) for _ in range(2)] == [("no_hint", "n0"), ("hint_used", "n0")]
    core.node_gone("n1")
    core.nodes(make_node("n9"))
    assert decide(core) == ("hint_used", "n9")


def test_a_plugin_that_reads_nothing_of_a_node_is_asked_about_a_new_one() -> None:
    """It refuses every pod of the shape, whatever the node."""
    core = run(named(SignedFilter, "Never", facets=Facet.NONE, filter=_refuse_all), nodes=[make_node("n0")])
    assert [decide(core) for _ in range(2)] == [("no_hint", ""), ("fit_error", "")]
    core.nodes(make_node("n1"))
    assert decide(core) == ("fit_error", "")


def _refuse_all(plugin: Plugin, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
    return ops.bit(same_verdict(nodes, True), 0)


def test_ties_are_decided_as_in_a_full_evaluation() -> None:
    """All totals are equal: the entry and a scheduler without a cache take the same node each time."""
    nodes = [make_node(f"n{number}") for number in range(40)]
    cached, cold = run(nodes=nodes), run(nodes=nodes)
    cold.state.batching.off["reprise"] = "for this test"

    assert [cached.decide().node_name for _ in range(12)] == [cold.decide().node_name for _ in range(12)]
    assert batch_of(cached) == {"no_hint": 1, "hint_used": 11}


def test_an_entry_that_was_not_used_for_too_many_changes_is_brought_up_to_date_all_the_same() -> None:
    core = run(nodes=[make_node("n0"), make_node("n1")], n1=50)
    assert [decide(core) for _ in range(2)] == [("no_hint", "n1"), ("hint_used", "n1")]
    core.nodes(make_node("n1", unschedulable=True))
    for number in range(2**15 + 1):
        core.nodes(make_node("n2", unschedulable=True, labels={"beat": str(number % 2)}))
    assert decide(core) == ("hint_used", "n0")
