"""Out-of-tree plugins that break the rules of reuse, beside the default plugins: a check notices, and every pod is placed right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from scheduler.api.objects import Pod
from scheduler.batch.options import BatchOptions
from scheduler.config.configuration import from_object
from scheduler.core.cycle import CycleResult
from scheduler.framework import ops
from scheduler.framework.facet import Facet
from scheduler.framework.ops import Ints, Masks
from scheduler.framework.plugin import CycleState, FilterPlugin, Plugin, ScorePlugin, SignPlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code, Reason
from scheduler.framework.view import NodeView
from scheduler.profile.registry import IN_TREE, Registration
from scheduler.telemetry.metrics import SchedulerCollector, registry, render
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core
from tests.support.signed_plugins import ALL_CHECKED, FOREVER, batch_of

NODES = ("n0", "n1", "n2", "n3")
SWITCHED_OFF = BatchOptions(enabled=False)


class Unsaid(FilterPlugin, SignPlugin):
    """Keeps pods off the nodes that one of their labels names, and leaves the labels out of the signature."""

    name = "Unsaid"
    facets = Facet.NAME

    def sign(self, pod: PodInfo) -> tuple[Any, ...]:
        return ()

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return (Reason("named by the pod", Code.UNSCHEDULABLE),)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        return ops.bit(nodes.is_named((pod.pod.metadata.labels or {})["not-on"]), 0)


class Hidden(ScorePlugin, SignPlugin):
    """Favours a node of its own choice, which the scheduler does not hear of."""

    name = "Hidden"
    facets = Facet.NAME
    favourite = "n0"

    def sign(self, pod: PodInfo) -> tuple[Any, ...]:
        return ()

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        nothing: Ints = 0 if nodes.is_row else np.zeros(len(nodes), np.int64)
        score: Ints = ops.add(nothing, ops.where(nodes.is_named(self.favourite), 100, 0))
        return score


class Planted(NamedTuple):
    """``change`` is done to the plugin before the pod with that index is decided on; ``noticed`` is what a check says."""

    make: Callable[[], Any]
    pods: list[Pod]
    change: Callable[[Any], None]
    noticed: str


CHANGED = 4


def favour_another(plugin: Hidden) -> None:
    plugin.favourite = "n3"


PLANTED = {
    "sign leaves out what the plugin reads": Planted(
        Unsaid,
        [make_pod(f"p{number}", labels={"not-on": "n1" if number < CHANGED else "n0"}) for number in range(12)],
        lambda plugin: None,
        "feasible nodes",
    ),
    "the plugin reads what nobody sees": Planted(
        Hidden, [make_pod(f"p{number}") for number in range(12)], favour_another, "chosen node"
    ),
}

every_planted = pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)


def play(planted: Planted, batching: BatchOptions) -> tuple[Core, list[CycleResult]]:
    """All pods wait, then each is decided on."""
    plugin: Plugin = planted.make()
    configuration = from_object(
        {"profiles": [{"schedulerName": "reprise", "plugins": {"multiPoint": {"enabled": [{"name": plugin.name}]}}}]},
        registry={**IN_TREE, plugin.name: Registration(lambda: plugin)},
    )
    core = Core(configuration.profiles, batching=batching)
    core.nodes(*(make_node(name) for name in NODES))
    core.pods(*planted.pods)
    results = []
    for number in range(len(planted.pods)):
        if number == CHANGED:
            planted.change(plugin)
        results.append(core.decide())
    return core, results


def nodes_of(results: list[CycleResult]) -> list[tuple[str, str]]:
    return [(result.pod, result.node_name) for result in results]


def metrics_of(core: Core) -> list[str]:
    return render(registry(SchedulerCollector(core.state))).decode().splitlines()


@every_planted
def test_a_check_notices_the_plugin_and_every_pod_is_placed_as_from_scratch(planted: Planted) -> None:
    _, results = play(planted, ALL_CHECKED)
    _, from_scratch = play(planted, SWITCHED_OFF)
    right = results[:CHANGED] + results[CHANGED + 1 :]

    assert nodes_of(results) == nodes_of(from_scratch)
    assert {result.outcome for result in results} == {"assumed"}
    assert [result.pod for result in results if result.mismatch is not None] == [results[CHANGED].pod]
    assert [result.mismatch for result in right] == [None] * len(right)


@every_planted
def test_the_profile_reuses_nothing_from_then_on_and_says_why(planted: Planted) -> None:
    core, results = play(planted, ALL_CHECKED)
    reason = f"verification found another decision: {planted.noticed}"

    assert [result.batch for result in results] == ["no_hint", *["hint_used"] * CHANGED, *["disabled"] * 7]
    assert core.state.batching.as_document(0.0)["profiles"] == {"reprise": {"enabled": False, "reason": reason}}
    assert batch_of(core) == {
        "no_hint": 1,
        "hint_used": CHANGED,
        "verified": CHANGED,
        "mismatched": 1,
        "flushed": {"verification_failed": 1},
        "bypassed": {"disabled": 7},
    }


@every_planted
def test_the_metrics_show_it(planted: Planted) -> None:
    assert 'scheduler_batch_enabled{profile="reprise"} 1.0' in metrics_of(play(planted, FOREVER)[0])
    shown = metrics_of(play(planted, ALL_CHECKED)[0])

    assert 'scheduler_batch_enabled{profile="reprise"} 0.0' in shown
    assert 'scheduler_batch_verifications_total{profile="reprise",result="mismatch"} 1.0' in shown
    assert 'scheduler_batch_cache_flushed_total{profile="reprise",reason="verification_failed"} 1.0' in shown


@every_planted
def test_without_a_check_it_would_have_gone_wrong(planted: Planted) -> None:
    _, unchecked = play(planted, FOREVER)
    _, from_scratch = play(planted, SWITCHED_OFF)

    assert nodes_of(unchecked)[:CHANGED] == nodes_of(from_scratch)[:CHANGED]
    assert nodes_of(unchecked) != nodes_of(from_scratch)
