"""A plugin that fails or is wrong while an entry is used: the pod is still placed as if there were no entry."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.batch.options import BatchOptions
from scheduler.core.batching import Batching, Mismatch
from scheduler.core.state import PluginFault
from scheduler.framework import ops
from scheduler.framework.facet import Facet
from scheduler.framework.ops import Ints, Masks
from scheduler.framework.plugin import CycleState, FilterPlugin, Plugin, PreEnqueuePlugin, SignPlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code, Reason, Status
from scheduler.framework.view import NodeView
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core, on_node
from tests.support.scripted_plugins import make_profile, named
from tests.support.signed_plugins import (
    ALL_CHECKED,
    FOREVER,
    SignedCrowding,
    SignedFilter,
    SignedPreScore,
    SignedScore,
    batch_of,
)


class Counting(SignedCrowding):
    """Fewer pods are better; any change of a node's pods is news to it."""

    name = "Counting"

    def normalize(self, state: CycleState, pod: PodInfo, nodes: NodeView, scores: Ints, low: int, high: int) -> Ints:
        return ops.sub(100, ops.minimum(ops.sub(scores, low), 100))


def run(*plugins: Plugin, batching: Any = FOREVER, nodes: int = 3) -> Core:
    core = Core([make_profile(*plugins)], batching=batching)
    core.nodes(*(make_node(f"n{number}") for number in range(nodes)))
    core.pods(*(make_pod(f"p{number}") for number in range(8)))
    return core


class OnRows(SignedFilter):
    """Works on columns and fails on single rows, so that only a refresh meets it."""

    name = "OnRows"
    facets = Facet.RESOURCES

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        if nodes.is_row:
            raise RuntimeError("one row is too few")
        return ops.bit(nodes.pod_count < 0, 0)


class ScoreOnRows(SignedScore):
    name = "ScoreOnRows"
    facets = Facet.RESOURCES

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        if nodes.is_row:
            raise RuntimeError("one row is too few")
        raw: Ints = ops.minimum(nodes.pod_count, 100)
        return raw


class NormalizeOnRows(SignedCrowding):
    name = "NormalizeOnRows"

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        raw: Ints = ops.minimum(nodes.pod_count, 0)
        return raw

    def score_token(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> tuple[int, ...]:
        return ()

    def normalize(self, state: CycleState, pod: PodInfo, nodes: NodeView, scores: Ints, low: int, high: int) -> Ints:
        if isinstance(scores, int):
            raise TypeError("one row is too few")
        final: Ints = ops.minimum(ops.sub(scores, low), 100)
        return final


class OutOfRangeOnRows(NormalizeOnRows):
    """Raises nothing, and gives a final score that none may have."""

    name = "OutOfRangeOnRows"

    def normalize(self, state: CycleState, pod: PodInfo, nodes: NodeView, scores: Ints, low: int, high: int) -> Ints:
        final: Ints = 101 if isinstance(scores, int) else ops.minimum(ops.sub(scores, low), 100)
        return final


@pytest.mark.parametrize(
    ("plugin", "reason"),
    [
        (OnRows, "filter_error"),
        (ScoreOnRows, "rescore_error"),
        (NormalizeOnRows, "normalize_error"),
        (OutOfRangeOnRows, "normalize_error"),
    ],
)
def test_a_plugin_that_fails_while_a_row_is_refreshed_ends_the_entry_and_not_the_pod(
    plugin: type[Plugin], reason: str
) -> None:
    core = run(plugin())
    results = [core.decide() for _ in range(3)]

    assert [(result.outcome, result.batch) for result in results] == [("assumed", "no_hint")] * 3
    assert batch_of(core) == {"no_hint": 3, "flushed": {reason: 2}}
    assert core.state.measurements.plugin_failures == {plugin.name: 2}


def test_a_plugin_that_fails_while_a_row_is_refreshed_is_reported_once_with_the_pod() -> None:
    core = run(OnRows())
    for _ in range(3):
        core.decide()

    assert core.scheduler.take_complaints() == [
        PluginFault(
            plugin="OnRows",
            stage="Filter",
            pod="default/p1",
            error='running "OnRows" filter plugin: one row is too few',
        )
    ]


def test_a_plugin_that_fails_to_sign_is_reported_once_with_the_pod() -> None:
    core = run(named(SignedFilter, "Signs", fragment=ValueError("cannot be read")))

    assert core.scheduler.take_complaints() == [
        PluginFault(plugin="Signs", stage="Sign", pod="default/p0", error='running Sign plugin "Signs": cannot be read')
    ]
    core.pods(make_pod("late"))
    assert core.scheduler.take_complaints() == []


class FailsTwice(PreEnqueuePlugin, SignedFilter):
    name = "FailsTwice"

    def pre_enqueue(self, pod: PodInfo) -> Status:
        raise RuntimeError("not now")


def test_a_plugin_that_fails_at_another_extension_point_is_reported_again() -> None:
    plugin = FailsTwice()
    plugin.fragment = ValueError("cannot be read")
    core = run(plugin)

    assert [
        (fault.stage, fault.error) for fault in core.scheduler.take_complaints() if isinstance(fault, PluginFault)
    ] == [
        ("Sign", 'running Sign plugin "FailsTwice": cannot be read'),
        ("PreEnqueue", "not now"),
    ]


def test_prescore_that_fails_when_a_second_node_fits_ends_the_entry() -> None:
    """With one node nothing was scored, so PreScore runs for the first time while the entry is used."""
    prescore = SignedPreScore()
    core = run(SignedFilter(), prescore, SignedScore(), nodes=1)
    assert [core.decide().batch for _ in range(2)] == ["no_hint", "hint_used"]
    core.nodes(make_node("n9"))
    prescore.status = RuntimeError("no")
    result = core.decide()

    assert (result.outcome, result.message) == ("error", 'running PreScore plugin "PreScore": no')
    assert batch_of(core)["flushed"] == {"prescore_error": 1}
    assert core.state.measurements.plugin_failures == {"PreScore": 2}, "while the entry was renewed, and without it"


@pytest.mark.parametrize(
    ("plugin", "reason", "message"),
    [
        (named(SignedFilter, "Breaks", facets=Facet.RESOURCES), "filter_error", 'running "Breaks" filter plugin: no'),
        (
            named(SignedScore, "Breaks", facets=Facet.NAME | Facet.RESOURCES),
            "rescore_error",
            'running Score plugins: plugin "Breaks" failed with: no',
        ),
    ],
)
def test_a_plugin_that_fails_for_good_fails_the_pod_and_ends_the_entry(plugin: Any, reason: str, message: str) -> None:
    type(plugin).facets |= Facet.NAME
    core = run(plugin)
    assert [core.decide().batch for _ in range(2)] == ["no_hint", "hint_used"]
    plugin.error = RuntimeError("no")
    result = core.decide()

    assert (result.outcome, result.message) == ("error", message)
    assert batch_of(core) == {"no_hint": 2, "hint_used": 1, "flushed": {reason: 1}}
    assert len(core.state.batching.entries) == 0


class Curious(FilterPlugin, SignPlugin):
    """Reads taints, once a node has two pods, without having declared them."""

    name = "Curious"
    facets = Facet.RESOURCES

    def sign(self, pod: PodInfo) -> tuple[Any, ...]:
        return ()

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return (Reason("refused", Code.UNSCHEDULABLE),)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        counts: Any = nodes.pod_count
        if (counts >= 2) if nodes.is_row else (counts >= 2).any():
            _ = nodes.taints
        return ops.bit(nodes.pod_count < 0, 0)


def test_a_plugin_that_reads_what_it_did_not_declare_is_named_with_the_column() -> None:
    core = run(Curious(), nodes=1)
    results = [core.decide() for _ in range(3)]

    assert [result.outcome for result in results] == ["assumed", "assumed", "error"]
    assert results[2].message == (
        'running "Curious" filter plugin: plugin Curious reads taints (Facet.TAINTS) without declaring it; '
        "add it to the plugin's facets or inputs"
    )


# Verification


class Blind(SignedCrowding):
    """Looks at pods and says that it looks at nothing: its scores are never brought up to date."""

    name = "Blind"

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        return ops.sub(100, ops.minimum(nodes.pod_count, 100))

    def score_token(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> tuple[int, ...]:
        return ()

    def normalize(self, state: CycleState, pod: PodInfo, nodes: NodeView, scores: Ints, low: int, high: int) -> Ints:
        return scores


class Wrong(Blind):
    """Gives another score of one row than of many: a rule that is not the same in both forms."""

    name = "Wrong"

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        return 100 if nodes.is_row else super().score(state, pod, nodes)


def test_a_check_of_a_right_decision_changes_nothing() -> None:
    core, unchecked = run(Counting(), batching=ALL_CHECKED), run(Counting())
    checked = [core.decide() for _ in range(8)]

    assert [result.node_name for result in checked] == [unchecked.decide().node_name for _ in range(8)]
    assert batch_of(core) == {"no_hint": 1, "hint_used": 7, "verified": 7}
    assert core.state.batching.off == {"reprise": ""}


def test_as_many_go_by_unchecked_as_was_drawn() -> None:
    """Of draws at 0.5, 0.9 and 0 a share of a half makes waits of 1, 3 and 0."""
    core = run(Counting())
    core.pods(*(make_pod(f"q{number}") for number in range(4)))
    draws = iter((0.5, 0.9, 0.0, 0.5, 0.9))
    core.state.batching = Batching(
        core.state.profiles,
        core.state.cache,
        core.state.queue,
        BatchOptions(max_age_seconds=0.0, verify_fraction=0.5),
        lambda: next(draws),
        lambda _failure, _pod: None,
        core.state.kubelet_rejections.cooling,
        observers=core.state.observers,
    )
    verified = core.state.batching.counters.verified
    so_far = [(core.decide().batch, verified["reprise"])[1] for _ in range(12)]

    # The first one is not reused.
    assert so_far == [0, 0, 1, 1, 1, 1, 2, 3, 3, 4, 4, 4]


def test_nothing_is_checked_when_the_share_is_0() -> None:
    core = run(Wrong())
    names = [core.decide().node_name for _ in range(4)]

    assert "verified" not in batch_of(core)
    # The first node looks as empty as ever: this is what a check would have found.
    assert len(set(names)) == 1


def test_a_wrong_plugin_is_caught_and_the_pod_gets_the_right_node() -> None:
    core = run(Wrong(), batching=ALL_CHECKED)
    alone = Core([make_profile(Counting())], batching=FOREVER)
    alone.nodes(*(make_node(f"n{number}") for number in range(3)))
    alone.pods(*(make_pod(f"p{number}") for number in range(8)))
    results = [core.decide() for _ in range(8)]

    assert [result.node_name for result in results] == [alone.decide().node_name for _ in range(8)]
    assert [result.batch for result in results] == ["no_hint", "hint_used", *["disabled"] * 6]
    assert [result.is_checked for result in results] == [False, True, *[False] * 6]
    assert results[1].mismatch == Mismatch(
        pod="default/p1",
        reused=results[0].node_name,
        expected=results[1].node_name,
        age_seconds=0.0,
        hits=1,
    )
    assert [result.mismatch for result in results[2:]] == [None] * 6
    assert core.state.batching.off == {"reprise": "verification found another decision: chosen node"}
    assert batch_of(core) == {
        "no_hint": 1,
        "hint_used": 1,
        "verified": 1,
        "mismatched": 1,
        "flushed": {"verification_failed": 1},
        "bypassed": {"disabled": 6},
    }


def test_a_wrong_plugin_of_one_profile_leaves_the_others_alone() -> None:
    profiles = [make_profile(Wrong()), make_profile(Counting(), scheduler_name="other")]
    core = Core(profiles, batching=ALL_CHECKED)
    core.nodes(*(make_node(f"n{number}") for number in range(3)))
    for number in range(3):
        core.pods(make_pod(f"o{number}", scheduler_name="other"), make_pod(f"p{number}"))
    results = [core.decide() for _ in range(6)]

    assert [result.batch for result in results if result.profile == "other"] == ["no_hint", "hint_used", "hint_used"]
    assert [result.batch for result in results if result.profile == "reprise"] == ["no_hint", "hint_used", "disabled"]
    assert core.state.batching.off["other"] == ""


class RefusesRows(SignedFilter):
    """Refuses what it would take were it asked about all nodes at once, or gives another reason than then."""

    name = "RefusesRows"
    facets = Facet.RESOURCES
    takes_any = True

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return (Reason("by column", Code.UNSCHEDULABLE), Reason("by row", Code.UNSCHEDULABLE))

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        if nodes.is_row:
            return 2
        return ops.bit(nodes.pod_count < 0 if self.takes_any else nodes.pod_count >= 0, 0)


def test_a_check_sees_a_node_that_is_refused_wrongly() -> None:
    core = run(RefusesRows(), batching=ALL_CHECKED)
    results = [core.decide() for _ in range(3)]

    assert {result.outcome for result in results} == {"assumed"}
    assert core.state.batching.off == {"reprise": "verification found another decision: feasible nodes"}


def test_a_check_sees_a_refusal_for_another_reason() -> None:
    plugin = RefusesRows()
    plugin.takes_any = False
    core = run(plugin, batching=ALL_CHECKED)
    core.decide()
    core.pods(on_node(make_pod("s"), "n1"))
    result = core.decide()

    assert result.message == "0/3 nodes are available: 3 by column."
    assert core.state.batching.off == {"reprise": "verification found another decision: reasons"}


def test_a_plugin_that_fails_in_a_check_fails_the_pod_as_it_would_without_an_entry() -> None:
    """The entry needs not ask it, so without the check nobody would notice."""
    plugin = named(SignedFilter, "Breaks")
    core = run(plugin, batching=ALL_CHECKED)
    core.decide()
    plugin.error = RuntimeError("no")
    result = core.decide()

    assert (result.outcome, result.message) == ("error", 'running "Breaks" filter plugin: no')
    assert batch_of(core) == {"no_hint": 1, "hint_used": 1, "flushed": {"filter_error": 1}}
