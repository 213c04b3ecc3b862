"""PreFilter, selection and the texts of a failed pod. Expected: kube-scheduler 1.37, RunPreFilterPlugins, schedulePod, FitError."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from scheduler.cache.cache import Cache
from scheduler.framework.plugin import Plugin, PreFilterResult
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SKIP, SUCCESS, Code, Reason, Status
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.failure import PluginFailure
from tests.support.builders import make_node, make_pod
from tests.support.scripted_plugins import (
    Filter,
    PreFilter,
    PreScore,
    Score,
    make_profile,
    named,
    named_nodes,
    rejected,
)

UU = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
NODES = ("n1", "n2", "n3")


def evaluate(*plugins: Plugin, nodes: Iterable[str] = NODES) -> Evaluation:
    cache = Cache(seed=1)
    for name in nodes:
        cache.apply_node(make_node(name))
    evaluation = Evaluation(make_profile(*plugins), PodInfo(make_pod()), cache.table)
    evaluation.refresh()
    return evaluation


def pre_filter(name: str, result: PreFilterResult | Status | Exception) -> PreFilter:
    if isinstance(result, Status):
        result = PreFilterResult(result)
    plugin: PreFilter = named(PreFilter, name, result=result)
    return plugin


def statuses(evaluation: Evaluation) -> list[Status]:
    return [evaluation.status(row) for row in range(len(NODES))]


def test_without_plugins_every_node_fits() -> None:
    evaluation = evaluate()

    assert statuses(evaluation) == [SUCCESS] * 3
    assert evaluation.feasible_rows() == [0, 1, 2]
    assert evaluation.rejectors() == ()


def test_a_rejecting_prefilter_speaks_for_all_nodes() -> None:
    evaluation = evaluate(pre_filter("A", rejected("first", "second")))

    assert evaluation.prefilter == Status(Code.UNSCHEDULABLE, ("first", "second"), "A")
    assert statuses(evaluation) == [evaluation.prefilter] * 3
    assert evaluation.failure_message() == "0/3 nodes are available: first, second."
    assert (evaluation.feasible_count, evaluation.feasible_rows(), evaluation.select()) == (0, [], None)
    assert evaluation.rejectors() == ("A",)


def test_of_several_prefilters_that_reject_the_last_one_speaks() -> None:
    evaluation = evaluate(pre_filter("A", rejected("a")), pre_filter("B", rejected("b")))

    assert evaluation.prefilter == Status(Code.UNSCHEDULABLE, ("b",), "B")
    assert evaluation.rejectors() == ("B",)


def test_a_prefilter_that_nothing_can_help_speaks_at_once() -> None:
    later = pre_filter("C", RuntimeError("never asked"))
    evaluation = evaluate(pre_filter("A", rejected("a")), pre_filter("B", rejected("b", code=UU)), later)

    assert evaluation.prefilter == Status(UU, ("b",), "B")
    assert evaluation.rejectors() == ("B",)


def test_plugins_that_narrowed_the_nodes_are_rejectors_of_a_rejected_pod_too() -> None:
    evaluation = evaluate(pre_filter("Z", named_nodes(["n1"])), pre_filter("B", rejected("b")))

    assert evaluation.prefilter == Status(Code.UNSCHEDULABLE, ("b",), "B")
    assert evaluation.rejectors() == ("B", "Z")


def test_nodes_outside_are_refused_without_a_plugin() -> None:
    evaluation = evaluate(pre_filter("A", named_nodes(["n2", "absent"])))

    outside = Status(UU, ("node(s) didn't satisfy plugin(s) [A]",))
    assert statuses(evaluation) == [outside, SUCCESS, outside]
    assert evaluation.feasible_rows() == [1]


def test_a_failed_pod_with_named_nodes_tells_both_kinds_of_refusal() -> None:
    evaluation = evaluate(
        pre_filter("Z", named_nodes(["n1", "n2"])),
        pre_filter("A", named_nodes(["n2", "n3"])),
        named(Filter, "M", refuses=("n2",)),
    )

    assert evaluation.failure_message() == (
        "0/3 nodes are available: 1 refused, 2 node(s) didn't satisfy plugin(s) [A Z]."
    )
    assert evaluation.rejectors() == ("A", "M", "Z")


def test_named_nodes_that_do_not_exist_leave_none() -> None:
    evaluation = evaluate(pre_filter("A", named_nodes(["absent"])))

    assert evaluation.failure_message() == "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [A]."
    assert evaluation.rejectors() == ("A",)


def test_one_plugin_that_names_no_node_is_named() -> None:
    evaluation = evaluate(pre_filter("A", named_nodes([])))

    assert evaluation.prefilter == Status(UU, ("node(s) didn't satisfy plugin A",))
    assert evaluation.rejectors() == ("A",)


def test_plugins_that_name_no_node_together_are_named_and_end_prefilter() -> None:
    evaluation = evaluate(
        pre_filter("Z", named_nodes(["n1"])),
        pre_filter("B", rejected("remembered, and now of no interest")),
        pre_filter("A", named_nodes(["n2"])),
        pre_filter("C", RuntimeError("never asked")),
    )

    assert evaluation.prefilter == Status(UU, ("node(s) didn't satisfy plugin(s) [A Z] simultaneously",))
    assert evaluation.rejectors() == ("A", "Z")
    assert evaluation.failure_message() == (
        "0/3 nodes are available: node(s) didn't satisfy plugin(s) [A Z] simultaneously."
    )


def test_a_plugin_that_skips_does_not_filter_or_narrow() -> None:
    class Both(PreFilter, Filter):
        pass

    evaluation = evaluate(named(Both, "Both", refuses=NODES, result=PreFilterResult(SKIP, frozenset(["n1"]))))

    assert evaluation.feasible_count == 3


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (RuntimeError("boom"), "boom"),
        (Status(Code.ERROR, ("one", "two")), "one, two"),
        (Status(Code.PENDING, ("later",)), "later"),
        (Status(Code.WAIT, ("later",)), "later"),
    ],
)
def test_a_prefilter_that_fails_fails_the_cycle(result: Status | Exception, text: str) -> None:
    with pytest.raises(PluginFailure, match=f'^running PreFilter plugin "A": {text}$') as failure:
        evaluate(pre_filter("A", result))

    assert failure.value.plugin == "A"


def test_counts_sort_as_text() -> None:
    refuses = named(Filter, "A", refuses=("n2", "n3"), reason=Reason("a", Code.UNSCHEDULABLE))
    others = [f"m{number}" for number in range(10)]
    more = named(Filter, "B", refuses=others, reason=Reason("b", Code.UNSCHEDULABLE))
    evaluation = evaluate(refuses, more, named(Filter, "C", refuses=("n1",)), nodes=(*NODES, *others))

    assert evaluation.failure_message() == "0/13 nodes are available: 1 refused, 10 b, 2 a."


def test_equal_reasons_of_different_plugins_are_one_count() -> None:
    evaluation = evaluate(named(Filter, "A", refuses=("n1",)), named(Filter, "B", refuses=("n1", "n2", "n3")))

    assert evaluation.failure_message() == "0/3 nodes are available: 3 refused."
    assert evaluation.rejectors() == ("A", "B")


def test_without_any_reason_only_the_head_is_left() -> None:
    evaluation = evaluate(pre_filter("A", named_nodes(["n1"])), nodes=())

    assert evaluation.failure_message() == "0/0 nodes are available:"


def test_a_single_node_is_chosen_unscored() -> None:
    evaluation = evaluate(named(Score, "Broken", error=RuntimeError("boom")), nodes=["n1"])

    assert evaluation.select() == 0
    assert not evaluation.scored


def test_the_only_node_of_several_that_fits_is_chosen() -> None:
    assert evaluate(named(Filter, "A", refuses=("n1", "n3"))).select() == 1


def test_two_nodes_are_scored() -> None:
    evaluation = evaluate(named(Score, "Likes", by_name={"n2": 5}), nodes=["n1", "n2"])

    assert evaluation.select() == 1
    assert evaluation.scored
    assert (evaluation.scores(1)["Likes"], evaluation.total(1)) == ((5, 5), 5)


def test_a_plugin_that_skips_prescore_does_not_score() -> None:
    class Both(PreScore, Score):
        pass

    both = named(Both, "Both", status=SKIP, error=RuntimeError("never asked"))
    evaluation = evaluate(both, named(Score, "Other", by_name={"n3": 7}))
    evaluation.refresh_scores()

    assert evaluation.scores(2) == {"Other": (7, 7)}


@pytest.mark.parametrize(
    ("status", "text"), [(RuntimeError("boom"), "boom"), (Status(Code.UNSCHEDULABLE, ("one", "two")), "one, two")]
)
def test_a_prescore_that_fails_fails_the_cycle(status: Status | Exception, text: str) -> None:
    evaluation = evaluate(named(PreScore, "A", status=status))

    with pytest.raises(PluginFailure, match=f'^running PreScore plugin "A": {text}$') as failure:
        evaluation.select()
    assert failure.value.plugin == "A"
    assert not evaluation.scored
