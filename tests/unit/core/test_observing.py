"""Which plugins were asked about how many rows, and how long they took (kube-scheduler 1.37: pkg/scheduler/metrics)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from scheduler.core.instruction import PatchObject
from scheduler.core.measurements import Histogram
from scheduler.core.observing import EVERY
from scheduler.framework.binding import PermitAnswer, PreBindFailed, PreBindWrites
from scheduler.framework.facet import Facet
from scheduler.framework.plugin import Plugin, PostFilterPlugin, PreFilterResult
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.post_filter import FailedCycle, PostFilterResult
from scheduler.framework.status import SKIP, SUCCESS, Code, Status
from scheduler.profile.failure import Stage
from tests.support.binding_plugins import DONE, claim_patch, scripted
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core
from tests.support.scripted_plugins import PreEnqueue, make_profile, rejected
from tests.support.signed_plugins import (
    ALL_CHECKED,
    FOREVER,
    SignedFilter,
    SignedNormalized,
    SignedPreFilter,
    SignedPreScore,
    SignedScore,
)


class Clock:
    """A stopwatch that stands still while no plugin runs."""

    def __init__(self) -> None:
        self.shown = 0.0

    def __call__(self) -> float:
        return self.shown

    def slow(self, plugin: Any, **seconds: float) -> Any:
        """The plugin, of which each call of these methods takes so long."""
        for method, each in seconds.items():
            setattr(plugin, method, self._slow(getattr(plugin, method), each))
        return plugin

    def _slow(self, call: Callable[..., Any], seconds: float) -> Callable[..., Any]:
        def slow(*args: Any) -> Any:
            self.shown += seconds
            return call(*args)

        return slow


def changing(plugin: Any) -> Any:
    """The plugin, with something to say each time that a pod comes to a node."""
    plugin.facets = Facet.RESOURCES
    return plugin


def run(clock: Clock, *plugins: Plugin, nodes: int = 3, pods: int = 12, batching: Any = FOREVER) -> Core:
    core = Core([make_profile(*plugins)], batching=batching)
    core.state.measurements.stopwatch = clock
    core.nodes(*(make_node(f"n{number}") for number in range(nodes)))
    core.pods(*(make_pod(f"p{number}") for number in range(pods)))
    return core


def four(clock: Clock) -> tuple[Plugin, ...]:
    """A plugin for each point of a decision; a call takes 4, 1, 8 and 2 seconds."""
    return (
        clock.slow(SignedPreFilter(), pre_filter=4.0),
        clock.slow(changing(SignedFilter()), filter=1.0),
        clock.slow(SignedPreScore(), pre_score=8.0),
        clock.slow(changing(SignedScore()), score=2.0),
    )


def rows(core: Core) -> dict[tuple[str, str], int]:
    return {(plugin, stage.value): one.count for (plugin, stage, _), one in core.state.measurements.plugin_rows.items()}


def taken(histograms: dict[Any, Histogram]) -> dict[tuple[str, ...], tuple[int, float]]:
    """Number and sum by labels."""
    words: dict[type, Callable[[Any], str]] = {Stage: lambda it: it.value, Code: lambda it: it.label}
    return {
        tuple(words.get(type(part), str)(part) for part in key): (sum(one.buckets), one.sum)
        for key, one in histograms.items()
    }


def decided(core: Core, number: int) -> Core:
    for _ in range(number):
        core.decide()
    return core


def test_a_decision_that_is_reused_counts_the_row_that_was_evaluated() -> None:
    clock = Clock()
    core = decided(run(clock, *four(clock)), 1)
    assert rows(core) == {
        ("PreFilter", "PreFilter"): 1,
        ("Filter", "Filter"): 3,
        ("PreScore", "PreScore"): 1,
        ("Score", "Score"): 3,
    }
    decided(core, 11)

    assert rows(core) == {
        ("PreFilter", "PreFilter"): 1,
        ("Filter", "Filter"): 3 + 11,
        ("PreScore", "PreScore"): 1,
        ("Score", "Score"): 3 + 11,
    }


def test_many_changed_rows_count_each() -> None:
    clock = Clock()
    core = decided(run(clock, *four(clock), nodes=40, pods=2), 1)
    core.pods(*(make_pod(f"there{number}", node_name=f"n{number}") for number in range(20, 40)))
    decided(core, 1)

    assert rows(core)["Filter", "Filter"] == rows(core)["Score", "Score"] == 40 + 21


def test_a_check_counts_as_an_evaluation_of_all_rows() -> None:
    clock = Clock()
    core = decided(run(clock, *four(clock), batching=ALL_CHECKED), 2)

    assert rows(core)["PreFilter", "PreFilter"] == 2
    assert rows(core)["Filter", "Filter"] == rows(core)["Score", "Score"] == 3 + 1 + 3


def test_a_plugin_that_wants_to_be_skipped_does_not_count() -> None:
    pre_filter, pre_score = SignedPreFilter(), SignedPreScore()
    pre_filter.result, pre_score.status = PreFilterResult(SKIP), SKIP
    core = decided(run(Clock(), pre_filter, pre_score, SignedScore(), pods=1), 1)

    assert rows(core) == {("Score", "Score"): 3}


def test_one_of_ten_decisions_is_timed_beginning_with_the_first() -> None:
    clock = Clock()
    core = decided(run(clock, *four(clock)), EVERY + 1)

    assert EVERY == 10
    assert taken(core.state.measurements.plugin_seconds) == {
        ("PreFilter", "PreFilter", "Success"): (1, 4.0),
        ("Filter", "Filter", "Success"): (2, 2.0),
        ("PreScore", "PreScore", "Success"): (1, 8.0),
        ("Score", "Score", "Success"): (2, 4.0),
    }
    assert taken(core.state.measurements.point_seconds) == {
        ("Sign", "Success", "reprise"): (1, 0.0),
        ("PreEnqueue", "Success", "reprise"): (2, 0.0),
        ("PreFilter", "Success", "reprise"): (1, 4.0),
        ("Filter", "Success", "reprise"): (2, 2.0),
        ("PreScore", "Success", "reprise"): (1, 8.0),
        ("Score", "Success", "reprise"): (2, 4.0),
    }


def test_normalising_is_timed_for_itself_and_as_a_part_of_score() -> None:
    clock = Clock()
    plugin = clock.slow(changing(SignedNormalized()), score=2.0, normalize=0.5)
    core = decided(run(clock, plugin, pods=1), 1)

    assert taken(core.state.measurements.plugin_seconds) == {
        ("Normalized", "Score", "Success"): (1, 2.0),
        ("Normalized", "NormalizeScore", "Success"): (1, 0.5),
    }
    assert taken(core.state.measurements.point_seconds)["Score", "Success", "reprise"] == (1, 2.5)


def test_profiles_are_told_apart() -> None:
    core = Core([make_profile(SignedFilter(), scheduler_name=name) for name in ("one", "two")])
    core.nodes(make_node("n"))
    core.pods(make_pod("p", scheduler_name="two"))
    decided(core, 1)

    assert [*core.state.measurements.plugin_rows] == [("Filter", Stage.FILTER, "two")]
    assert ("Filter", "Success", "two") in taken(core.state.measurements.point_seconds)


@pytest.mark.parametrize("code", [Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE])
def test_a_rejection_by_pre_filter_has_its_status(code: Code) -> None:
    plugin = SignedPreFilter()
    plugin.result = PreFilterResult(rejected("no", code=code))
    core = decided(run(Clock(), plugin, pods=1), 1)

    assert taken(core.state.measurements.plugin_seconds) == {("PreFilter", "PreFilter", code.label): (1, 0.0)}
    assert taken(core.state.measurements.point_seconds)["PreFilter", code.label, "reprise"] == (1, 0.0)


def test_a_plugin_that_fails_took_its_time_and_the_next_timed_decision_is_the_tenth_after_it() -> None:
    clock = Clock()
    plugin = SignedFilter()
    plugin.error = RuntimeError("boom")
    core = decided(run(clock, clock.slow(plugin, filter=1.0)), EVERY)

    assert taken(core.state.measurements.plugin_seconds) == {("Filter", "Filter", "Error"): (1, 1.0)}
    assert taken(core.state.measurements.point_seconds)["Filter", "Error", "reprise"] == (1, 1.0)
    decided(core, 1)
    assert taken(core.state.measurements.plugin_seconds) == {("Filter", "Filter", "Error"): (2, 2.0)}


@pytest.mark.parametrize(("status", "label"), [(SUCCESS, "Success"), (rejected("not yet"), "Unschedulable")])
def test_pre_enqueue_is_timed_for_one_of_ten_pods_beginning_with_the_first(status: Status, label: str) -> None:
    clock = Clock()
    plugin = PreEnqueue()
    plugin.status = status
    core = run(clock, clock.slow(plugin, pre_enqueue=0.25), pods=EVERY)
    assert taken(core.state.measurements.point_seconds)["PreEnqueue", label, "reprise"] == (1, 0.25)
    core.pods(make_pod("eleventh"))

    assert taken(core.state.measurements.point_seconds)["PreEnqueue", label, "reprise"] == (2, 0.5)
    assert taken(core.state.measurements.plugin_seconds) == {("PreEnqueue", "PreEnqueue", label): (2, 0.5)}


def binding_run(clock: Clock, pods: int = 1, **answers: Any) -> Core:
    plugin = scripted("Scripted", [], **answers)
    times = {"reserve": 1.0, "unreserve": 2.0, "permit": 4.0, "pre_bind_pre_flight": 8.0, "pre_bind": 16.0}
    return run(clock, clock.slow(plugin, post_bind=32.0, **times), pods=pods)


def binding_points(core: Core) -> dict[tuple[str, ...], tuple[int, float]]:
    others = ("Sign", "PreEnqueue", "PreFilter", "Filter", "PreScore", "Score")
    found = taken(core.state.measurements.point_seconds)
    return {key[:2]: value for key, value in found.items() if key[0] not in others}


def test_the_points_of_a_binding_cycle_are_timed_each_time_and_its_plugins_in_one_of_ten() -> None:
    core = binding_run(Clock(), pods=2)
    for pod in (make_pod("p0"), make_pod("p1")):
        core.bound(pod, core.decide().node_name)

    assert binding_points(core) == {
        ("Reserve", "Success"): (2, 2.0),
        ("Permit", "Success"): (2, 8.0),
        ("PreBindPreFlight", "Skip"): (2, 16.0),
        ("PreBind", "Success"): (2, 0.0),
        ("PostBind", "Success"): (2, 64.0),
    }
    assert taken(core.state.measurements.plugin_seconds) == {
        ("Scripted", "Reserve", "Success"): (1, 1.0),
        ("Scripted", "Permit", "Success"): (1, 4.0),
        ("Scripted", "PreBindPreFlight", "Skip"): (1, 8.0),
        ("Scripted", "PostBind", "Success"): (1, 32.0),
    }


def test_pre_bind_takes_until_the_last_plugin_is_done_and_each_of_its_steps_is_timed() -> None:
    """What it waits for is part of it, as with kube-scheduler, where the plugin itself waits."""
    core = binding_run(Clock(), steps=(PreBindWrites((claim_patch(),)), DONE))
    [*_, instruction] = core.decide(at=100.0).instructions
    assert isinstance(instruction, PatchObject)
    assert ("PreBind", "Success") not in binding_points(core)
    core.patched(instruction.number, at=107.5)

    assert binding_points(core)["PreBindPreFlight", "Success"] == (1, 8.0)
    assert binding_points(core)["PreBind", "Success"] == (1, 7.5)
    assert taken(core.state.measurements.plugin_seconds)["Scripted", "PreBind", "Success"] == (2, 32.0)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (
            {"reserved": rejected("full")},
            {("Reserve", "Unschedulable"): (1, 1.0), ("Unreserve", "Success"): (1, 2.0)},
        ),
        (
            {"raises": ("reserve",)},
            {("Reserve", "Error"): (1, 1.0), ("Unreserve", "Success"): (1, 2.0)},
        ),
        (
            {"permitted": PermitAnswer(rejected("never", code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE))},
            {
                ("Reserve", "Success"): (1, 1.0),
                ("Permit", "UnschedulableAndUnresolvable"): (1, 4.0),
                ("Unreserve", "Success"): (1, 2.0),
            },
        ),
        (
            {"permitted": PermitAnswer(Status(Code.WAIT), 60.0)},
            {("Reserve", "Success"): (1, 1.0), ("Permit", "Wait"): (1, 4.0), ("PreBindPreFlight", "Skip"): (1, 8.0)},
        ),
        (
            {"steps": (PreBindFailed(rejected("taken")),)},
            {
                ("Reserve", "Success"): (1, 1.0),
                ("Permit", "Success"): (1, 4.0),
                ("PreBindPreFlight", "Success"): (1, 8.0),
                ("PreBind", "Unschedulable"): (1, 0.0),
                ("Unreserve", "Success"): (1, 2.0),
            },
        ),
    ],
)
def test_a_point_of_a_binding_cycle_has_the_status_that_ended_it(
    answers: dict[str, Any], expected: dict[tuple[str, str], tuple[int, float]]
) -> None:
    core = decided(binding_run(Clock(), **answers), 1)

    assert binding_points(core) == expected


class Helping(PostFilterPlugin):
    name = "Helping"
    result: PostFilterResult | Exception = PostFilterResult(SUCCESS)

    def post_filter(self, pod: PodInfo, cycle: FailedCycle) -> PostFilterResult:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


@pytest.mark.parametrize(
    ("result", "label"),
    [
        (PostFilterResult(SUCCESS), "Success"),
        (PostFilterResult(rejected("no")), "Unschedulable"),
        (PostFilterResult(rejected("no", code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE)), "UnschedulableAndUnresolvable"),
        (PostFilterResult(Status(Code.ERROR, ("boom",))), "Error"),
        (RuntimeError("boom"), "Error"),
    ],
)
def test_post_filter_is_timed_each_time_and_its_plugin_in_one_of_ten(
    result: PostFilterResult | Exception, label: str
) -> None:
    clock = Clock()
    plugin, nowhere = Helping(), SignedFilter()
    plugin.result, nowhere.refuses = result, ("n0",)
    profile = replace(make_profile(nowhere), post_filter=(clock.slow(plugin, post_filter=0.5),))
    core = Core([profile], batching=FOREVER)
    core.state.measurements.stopwatch = clock
    core.nodes(make_node("n0"))
    core.pods(make_pod("p0"), make_pod("p1"))
    decided(core, 2)

    assert binding_points(core) == {("PostFilter", label): (2, 1.0)}
    assert taken(core.state.measurements.plugin_seconds)["Helping", "PostFilter", label] == (1, 0.5)
