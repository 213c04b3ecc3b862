"""For each node the first plugin that refuses it, and which failures count. Expected: kube-scheduler 1.37, RunFilterPlugins."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler.cache.cache import Cache
from scheduler.framework import ops
from scheduler.framework.facet import Facet
from scheduler.framework.ops import Masks
from scheduler.framework.plugin import CycleState, FilterPlugin, Plugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Code, Reason, Status
from scheduler.framework.view import NodeView
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.failure import PluginFailure
from tests.support.builders import make_node, make_pod
from tests.support.scripted_plugins import Filter, make_profile, named

UU = Code.UNSCHEDULABLE_AND_UNRESOLVABLE


class TwoReasons(FilterPlugin):
    """Each label that is there is a reason."""

    name = "TwoReasons"
    facets = Facet.LABELS

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return (Reason("soft", Code.UNSCHEDULABLE), Reason("hard", UU), Reason("soft", UU))

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        mask = ops.bit(nodes.label("a") != 0, 0)
        mask = ops.merge(mask, ops.bit(nodes.label("b") != 0, 1))
        return ops.merge(mask, ops.bit(nodes.label("c") != 0, 2))


def evaluated(cache: Cache, *plugins: Plugin) -> Evaluation:
    evaluation = Evaluation(make_profile(*plugins), PodInfo(make_pod()), cache.table)
    evaluation.refresh()
    return evaluation


def cluster(*labels: str) -> Cache:
    """Nodes n0, n1, … with these letters as labels."""
    cache = Cache(seed=1)
    for number, letters in enumerate(labels):
        cache.apply_node(make_node(f"n{number}", labels=dict.fromkeys(letters, "")))
    return cache


def test_a_node_has_all_reasons_of_the_first_plugin_that_refuses_it() -> None:
    evaluation = evaluated(cluster("", "a", "b", "ab", "c"), TwoReasons(), named(Filter, "Later", refuses=("n0", "n1")))

    assert [evaluation.status(row) for row in range(5)] == [
        Status(Code.UNSCHEDULABLE, ("refused",), "Later"),
        Status(Code.UNSCHEDULABLE, ("soft",), "TwoReasons"),
        Status(UU, ("hard",), "TwoReasons"),
        Status(UU, ("soft", "hard"), "TwoReasons"),
        Status(UU, ("soft",), "TwoReasons"),
    ]
    assert evaluation.failure_message() == "0/5 nodes are available: 1 refused, 2 hard, 3 soft."
    assert evaluation.rejectors() == ("Later", "TwoReasons")


def test_a_plugin_that_only_refuses_nodes_refused_before_is_no_rejector() -> None:
    evaluation = evaluated(cluster("a"), TwoReasons(), named(Filter, "Later", refuses=("n0",)))

    assert evaluation.rejectors() == ("TwoReasons",)


def test_a_failing_filter_fails_the_cycle() -> None:
    with pytest.raises(PluginFailure, match=r'^running "Broken" filter plugin: boom$') as failure:
        evaluated(cluster(""), named(Filter, "Broken", error=RuntimeError("boom")))

    assert failure.value.plugin == "Broken"


def test_a_failing_filter_that_no_node_reaches_does_not_count() -> None:
    broken = named(Filter, "Broken", error=RuntimeError("boom"))
    evaluation = evaluated(cluster("a", "a"), TwoReasons(), broken)

    assert evaluation.failure_message() == "0/2 nodes are available: 2 soft."


def test_a_failing_filter_counts_once_a_node_reaches_it() -> None:
    cache = cluster("a", "a")
    evaluation = evaluated(cache, TwoReasons(), named(Filter, "Broken", error=RuntimeError("boom")))
    cache.apply_node(make_node("n1"))

    with pytest.raises(PluginFailure, match="boom"):
        evaluation.refresh()
    # And again: nothing that was left half done is taken for an answer.
    with pytest.raises(PluginFailure, match="boom"):
        evaluation.refresh()
    cache.apply_node(make_node("n1", labels={"a": ""}))
    evaluation.refresh()
    assert evaluation.failure_message() == "0/2 nodes are available: 2 soft."


def test_of_two_failing_filters_the_first_one_is_told() -> None:
    first, second = (named(Filter, name, error=RuntimeError(name)) for name in ("First", "Second"))
    with pytest.raises(PluginFailure, match=r'^running "First" filter plugin: First$'):
        evaluated(cluster(""), first, second)


class BrokenOn(FilterPlugin):
    """Fails on nodes with label b, and refuses those with label a."""

    name = "BrokenOn"
    facets = Facet.LABELS

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return (Reason("refused by label", Code.UNSCHEDULABLE), Reason("boom", Code.ERROR))

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        return ops.merge(ops.bit(nodes.label("a") != 0, 0), ops.bit(nodes.label("b") != 0, 1))


def test_a_failure_on_one_node_fails_the_cycle() -> None:
    with pytest.raises(PluginFailure, match=r'^running "BrokenOn" filter plugin: boom$') as failure:
        evaluated(cluster("", "ab"), BrokenOn())

    assert failure.value.plugin == "BrokenOn"


def test_a_failure_on_a_node_that_is_refused_before_does_not_count() -> None:
    evaluation = evaluated(cluster("", "b", "a"), named(Filter, "Earlier", refuses=("n1",)), BrokenOn())

    assert evaluation.failure_message() == "0/3 nodes are available: 1 refused, 1 refused by label."
    assert evaluation.feasible_count == 1


def test_a_failure_on_one_node_counts_once_the_node_is_reached() -> None:
    cache = cluster("", "c")
    evaluation = evaluated(cache, named(Filter, "Earlier", refuses=("n3",)), BrokenOn())
    cache.apply_node(make_node("n1", labels={"b": ""}))

    for _ in range(2):  # nothing that was left half done is taken for an answer
        with pytest.raises(PluginFailure, match="boom"):
            evaluation.refresh()
    cache.apply_node(make_node("n1", labels={"a": ""}))
    evaluation.refresh()
    assert evaluation.feasible_count == 1


def test_a_failure_on_a_node_that_is_tried_fails_the_cycle() -> None:
    cache = cluster("", "c")
    evaluation = evaluated(cache, BrokenOn())
    cache.apply_node(make_node("n1", labels={"b": ""}))

    with pytest.raises(PluginFailure, match=r'^running "BrokenOn" filter plugin: boom$'):
        evaluation.try_row(1)
    assert evaluation.try_row(0) == SUCCESS


def test_a_filter_that_cannot_even_name_its_reasons_fails_the_cycle() -> None:
    class Mute(Filter):
        name = "Mute"

        def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
            raise ValueError("too many")

    with pytest.raises(PluginFailure, match=r'^running "Mute" filter plugin: too many$') as failure:
        evaluated(cluster(""), Mute())

    assert failure.value.plugin == "Mute"


def test_only_plugins_that_read_what_changed_are_asked_again() -> None:
    asked: list[tuple[str, int]] = []

    class Counting(Filter):
        def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
            asked.append((self.name, len(nodes)))
            return super().filter(state, pod, nodes)

    by_name = named(Counting, "ByName", facets=Facet.NAME)
    by_label = named(Counting, "ByLabel", facets=Facet.NAME | Facet.LABELS)
    cache = cluster("", "", "")
    evaluation = evaluated(cache, by_name, by_label)
    assert asked == [("ByName", 3), ("ByLabel", 3)]

    asked.clear()
    evaluation.refresh()
    assert asked == []

    cache.apply_node(make_node("n1", labels={"x": "y"}))
    evaluation.refresh()
    assert asked == [("ByLabel", 1)]


def test_a_status_is_success_where_nothing_refuses() -> None:
    evaluation = evaluated(cluster("", "a"), TwoReasons())

    assert evaluation.status(0) == SUCCESS
    assert evaluation.feasible_rows() == [0]


class Indifferent(FilterPlugin):
    """Refuses every node, whatever it is like."""

    name = "Indifferent"

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return (Reason("never", UU),)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        return 1 if nodes.is_row else np.ones(len(nodes), np.uint64)


@pytest.mark.parametrize("count", [1, 20])
def test_a_plugin_that_reads_nothing_is_asked_about_new_nodes_too(count: int) -> None:
    """About few as rows, about many as columns."""
    cache = cluster("")
    evaluation = evaluated(cache, Indifferent())
    for number in range(count):
        cache.apply_node(make_node(f"new{number}"))
    evaluation.refresh()

    assert evaluation.feasible_count == 0
    assert evaluation.failure_message() == f"0/{count + 1} nodes are available: {count + 1} never."


def test_a_failure_that_no_node_reached_is_not_held_against_a_plugin_that_works_again() -> None:
    moody = named(Filter, "Moody", error=RuntimeError("boom"), facets=Facet.NAME | Facet.LABELS)
    cache = cluster("a")
    evaluation = evaluated(cache, TwoReasons(), moody)
    type(moody).error = None
    cache.apply_node(make_node("n0"))
    evaluation.refresh()

    assert evaluation.feasible_rows() == [0]
