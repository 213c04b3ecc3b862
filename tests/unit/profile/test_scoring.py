"""Raw scores, normalisation, weights and totals. Expected: kube-scheduler 1.37, RunScorePlugins."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from scheduler.cache.cache import Cache
from scheduler.framework.columns import same_score
from scheduler.framework.facet import Input
from scheduler.framework.ops import Ints
from scheduler.framework.plugin import CycleState, Plugin, ScorePlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.view import NodeView
from scheduler.plugins.node_unschedulable import NodeUnschedulable
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.failure import PluginFailure
from tests.support.builders import make_node, make_pod
from tests.support.scripted_plugins import Crowding, Filter, Normalized, Score, make_profile, named

NODES = ("n0", "n1", "n2")


def cluster() -> Cache:
    cache = Cache(seed=1)
    for name in NODES:
        cache.apply_node(make_node(name))
    return cache


def scored(*plugins: Plugin, weights: Mapping[str, int] | None = None, cache: Cache | None = None) -> Evaluation:
    profile = make_profile(*plugins, weights=dict(weights or {}))
    evaluation = Evaluation(profile, PodInfo(make_pod()), (cache or cluster()).table)
    evaluation.refresh()
    evaluation.refresh_scores()
    return evaluation


def steps(name: str, *scores: int, **attributes: object) -> Normalized:
    plugin: Normalized = named(Normalized, name, by_name=dict(zip(NODES, scores, strict=True)), **attributes)
    return plugin


def test_raw_is_before_and_weighted_after_normalisation_and_weight() -> None:
    evaluation = scored(steps("A", 10, 20, 60), named(Score, "B", by_name={"n1": 7}), weights={"A": 3, "B": 2})

    assert [evaluation.scores(row) for row in range(3)] == [
        {"A": (10, 0), "B": (0, 0)},
        {"A": (20, 30), "B": (7, 14)},
        {"A": (60, 150), "B": (0, 0)},
    ]
    assert [evaluation.total(row) for row in range(3)] == [0, 44, 150]


def test_extrema_are_those_of_nodes_that_fit() -> None:
    refuses = named(Filter, "Refuses", refuses=("n0",))
    evaluation = scored(refuses, steps("A", -500, 20, 60))

    assert [evaluation.scores(row)["A"] for row in (1, 2)] == [(20, 0), (60, 40)]


def test_without_score_plugins_all_totals_are_zero() -> None:
    evaluation = scored()

    assert [evaluation.total(row) for row in range(3)] == [0, 0, 0]
    assert evaluation.scores(0) == {}


@pytest.mark.parametrize("wrong", [-1, 101, 2**40])
def test_a_score_outside_of_0_to_100_fails_the_cycle(wrong: int) -> None:
    text = (
        f'applying score defaultWeights on Score plugins: plugin "A" returns an invalid score {wrong}, '
        "it should in the range of [0, 100] after normalizing"
    )
    with pytest.raises(PluginFailure) as failure:
        scored(named(Score, "A", by_name={"n1": wrong}))

    assert (str(failure.value), failure.value.plugin) == (text, "A")


@pytest.mark.parametrize("right", [0, 100])
def test_both_ends_of_the_range_are_in_it(right: int) -> None:
    assert scored(named(Score, "A", by_name=dict.fromkeys(NODES, right))).total(1) == right


def test_a_wrong_score_of_a_node_that_does_not_fit_is_of_no_interest() -> None:
    evaluation = scored(named(Filter, "Refuses", refuses=("n1",)), named(Score, "A", by_name={"n1": 101}))

    assert [evaluation.total(row) for row in (0, 2)] == [0, 0]


def test_a_wrong_score_of_a_node_that_begins_to_fit_fails_the_cycle() -> None:
    cache = cluster()
    cache.apply_node(make_node("n1", unschedulable=True))
    evaluation = scored(NodeUnschedulable(), named(Score, "A", by_name={"n1": 101}), cache=cache)
    cache.apply_node(make_node("n1"))
    evaluation.refresh()

    with pytest.raises(PluginFailure, match="invalid score 101"):
        evaluation.refresh_scores()


def test_a_failing_score_fails_the_cycle() -> None:
    with pytest.raises(PluginFailure) as failure:
        scored(named(Score, "A", error=RuntimeError("boom")))

    assert str(failure.value) == 'running Score plugins: plugin "A" failed with: boom'
    assert failure.value.plugin == "A"


def test_a_failing_normalisation_fails_the_cycle() -> None:
    def final(raw: Ints, low: int, high: int) -> Ints:
        raise RuntimeError("boom")

    with pytest.raises(PluginFailure) as failure:
        scored(steps("A", 1, 2, 3, final=staticmethod(final)))

    assert str(failure.value) == 'running Normalize on Score plugins: plugin "A" failed with: boom'
    assert failure.value.plugin == "A"


def test_all_score_before_any_is_normalised_and_all_are_normalised_before_any_is_weighed() -> None:
    """So of several failures it is the one of the earliest stage that is told."""

    def fails(raw: Ints, low: int, high: int) -> Ints:
        raise RuntimeError("late")

    invalid = named(Score, "Invalid", by_name={"n1": 101})
    unnormal = steps("Unnormal", 1, 2, 3, final=staticmethod(fails))
    with pytest.raises(PluginFailure, match=r'^running Normalize on Score plugins: plugin "Unnormal"'):
        scored(invalid, unnormal)
    with pytest.raises(PluginFailure, match=r'^running Score plugins: plugin "Broken"'):
        scored(invalid, unnormal, named(Score, "Broken", error=RuntimeError("boom")))


def test_after_a_failure_everything_is_scored_again() -> None:
    """An extremum that had moved before the failure must not be taken for one that stayed."""
    cache = cluster()
    trouble = named(Score, "Trouble", by_name={})
    crowding = Crowding()
    evaluation = scored(crowding, trouble, cache=cache)
    cache.apply_pod(PodInfo(make_pod("a", node_name="n0")))
    type(trouble).error = RuntimeError("boom")
    cache.apply_node(make_node("n3"))
    evaluation.refresh()
    with pytest.raises(PluginFailure, match="boom"):
        evaluation.refresh_scores()
    type(trouble).error = None
    evaluation.refresh_scores()

    assert [evaluation.scores(row)["Crowding"] for row in range(4)] == [(5, 1), (4, 0), (4, 0), (4, 0)]


def test_only_plugins_that_read_what_changed_score_again() -> None:
    asked: list[tuple[str, int]] = []

    class Counting(Crowding):
        def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
            asked.append((self.name, len(nodes)))
            return super().score(state, pod, nodes)

    class ByName(Score):
        name = "ByName"

        def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
            asked.append((self.name, len(nodes)))
            return super().score(state, pod, nodes)

    cache = cluster()
    evaluation = scored(Counting(), ByName(), cache=cache)
    assert asked == [("Crowding", 3), ("ByName", 3)]

    asked.clear()
    cache.apply_pod(PodInfo(make_pod("a", node_name="n1")))
    evaluation.refresh()
    evaluation.refresh_scores()
    assert asked == [("Crowding", 1)]

    asked.clear()
    evaluation.refresh_scores()
    assert asked == []

    cache.apply_node(make_node("n3"))
    evaluation.refresh()
    evaluation.refresh_scores()
    assert asked == [("Crowding", 4), ("ByName", 1)]


class Generous(ScorePlugin):
    """The same score for every node, whatever it is like."""

    name = "Generous"

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        return same_score(nodes, 40)


@pytest.mark.parametrize("count", [1, 20])
def test_a_plugin_that_reads_nothing_scores_new_nodes_too(count: int) -> None:
    cache = cluster()
    evaluation = scored(Generous(), cache=cache)
    for number in range(count):
        cache.apply_node(make_node(f"new{number}"))
    evaluation.refresh()
    evaluation.refresh_scores()

    assert [evaluation.total(row) for row in range(3 + count)] == [40] * (3 + count)


@pytest.mark.parametrize("count", [1, 20])
def test_scores_that_were_all_zero_count_once_one_is_not(count: int) -> None:
    cache = cluster()
    late = named(Score, "Late", by_name={"new0": 9})
    evaluation = scored(late, Crowding(), cache=cache)
    for number in range(count):
        cache.apply_node(make_node(f"new{number}"))
    evaluation.refresh()
    evaluation.refresh_scores()

    assert [evaluation.total(row) for row in range(3 + count)] == [0, 0, 0, 9, *[0] * (count - 1)]


class OfThree(ScorePlugin):
    """40 for every node while there are three of them, else 0."""

    name = "OfThree"
    inputs = frozenset({Input.NODE_COUNT})

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        return same_score(nodes, 40 * (nodes.total_nodes == len(NODES)))

    def score_token(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> tuple[int, ...]:
        return (nodes.total_nodes,)


def test_scores_that_become_all_zero_count_no_more() -> None:
    cache = cluster()
    evaluation = scored(OfThree(), cache=cache)
    assert [evaluation.total(row) for row in range(3)] == [40] * 3
    cache.apply_node(make_node("n3"))
    evaluation.refresh()
    evaluation.refresh_scores()

    assert [evaluation.total(row) for row in range(4)] == [0] * 4
    assert evaluation.scores(0) == {"OfThree": (0, 0)}
