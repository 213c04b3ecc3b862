"""What the comparison with kube-scheduler calls the same. Runs are made by hand, so that it is known what must come out."""

from collections.abc import Sequence
from typing import Any

from tests.parity.comparison import Run, compare
from tests.parity.placement import Placed


def facts(
    message: str = "no room", *, is_now: str = "pending, there", events: Sequence[str] = ("told",)
) -> dict[str, Any]:
    return {
        "is": is_now,
        "conditions": {"PodScheduled": {"status": "False", "message": message}},
        "events": list(events),
    }


def run(*snapshots: dict[str, Any], placed: Sequence[Placed] = (), problem: str = "") -> Run:
    return Run(snapshots, placed, problem)


def at(node: str, *best: str, name: str = "web", wrong: str = "") -> Placed:
    return Placed(1, name, node, best, wrong)


def told(first: Run, second: Run, ours: Run) -> list[tuple[int, str]]:
    return [(each.step, each.what) for each in compare(first, second, ours).differences]


def test_three_equal_runs_are_the_same_and_every_fact_counts() -> None:
    verdict = compare(run({"web": facts()}), run({"web": facts()}), run({"web": facts()}))

    assert verdict.differences == []
    assert verdict.compared == 4


def test_another_message_is_a_difference_and_named_by_its_path() -> None:
    ours = run({"web": facts("no memory")})

    assert told(run({"web": facts()}), run({"web": facts()}), ours) == [
        (1, "web / conditions / PodScheduled / message")
    ]


def test_what_kube_scheduler_does_otherwise_the_second_time_is_not_compared() -> None:
    steady = {f"pod-{index}": facts() for index in range(3)}
    runs = [run({**steady, "web": facts(message)}) for message in "abc"]
    verdict = compare(runs[0], runs[1], runs[2])

    assert verdict.differences == []
    assert [line.partition(": ")[0] for line in verdict.unsteady] == ["step 1"]


def test_a_script_that_is_mostly_chance_is_a_difference() -> None:
    runs = [run({"web": facts(message, events=(message,))}) for message in "abc"]

    assert told(runs[0], runs[1], runs[2]) == [(1, "too much is left to chance")]


def test_an_event_too_many_is_a_difference() -> None:
    ours = run({"web": facts(events=("told", "told"))})

    assert told(run({"web": facts()}), run({"web": facts()}), ours) == [(1, "web / events")]


def test_a_pod_that_only_one_side_knows_is_a_difference() -> None:
    assert told(run({"web": facts()}), run({"web": facts()}), run({})) != []


def test_a_difference_that_stays_is_told_once() -> None:
    theirs = run({"web": facts()}, {"web": facts()})
    ours = run({"web": facts("x")}, {"web": facts("x")})

    assert told(theirs, theirs, ours) == [(1, "web / conditions / PodScheduled / message")]


def test_a_run_that_did_not_come_to_rest_is_a_difference() -> None:
    fine = run({"web": facts()})

    assert told(fine, fine, run(problem="step 1: not at rest")) == [(1, "reprise did not come to rest")]


def test_another_node_of_the_equally_good_ones_is_the_same() -> None:
    theirs = run(placed=[at("a", "a", "b")])

    assert told(theirs, theirs, run(placed=[at("b", "a", "b")])) == []


def test_another_set_of_equally_good_nodes_is_a_difference() -> None:
    theirs = run(placed=[at("a", "a", "b")])

    assert told(theirs, theirs, run(placed=[at("a", "a")])) == [(1, "web: equally good nodes")]


def test_once_equals_were_decided_otherwise_only_the_oracle_judges() -> None:
    theirs = run(placed=[at("a", "a", "b"), at("b", "b", name="next")])
    ours = run(placed=[at("b", "a", "b"), at("a", "a", name="next")])

    assert told(theirs, theirs, ours) == []


def test_a_node_that_the_oracle_does_not_have_among_the_best_is_a_difference() -> None:
    theirs = run(placed=[at("a", "a")])

    assert told(theirs, theirs, run(placed=[at("b", "a", wrong="b is not among ['a']")])) == [
        (1, "web: place of reprise, by the oracle"),
    ]


def test_where_no_oracle_is_asked_the_node_itself_counts() -> None:
    theirs = run(placed=[at("a")])

    assert told(theirs, theirs, run(placed=[at("b")])) == [(1, "web: equally good nodes")]
