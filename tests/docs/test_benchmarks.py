"""docs/benchmarks.md says what the results say, and the results say nothing about whose machine it was."""

import msgspec
import pytest

from bench.__main__ import DECIDE_NODES, PREEMPT_NODES
from bench.decisions import Decisions, medians
from bench.figures import Result, summarize
from bench.parking import Parking
from bench.preempting import Preempting
from bench.report import DOCUMENT, RESULTS, read_results, render
from scheduler.app.bench_cases import CASES
from scheduler.app.bench_preempt import CASES as PREEMPT_CASES
from tests.docs.checkout import text

COMPARED = [result for result in read_results() if isinstance(result, Result)]
PREEMPTED = [result for result in read_results() if isinstance(result, Preempting)]
PARKED = [result for result in read_results() if isinstance(result, Parking)]
DECIDED = [result for result in read_results() if isinstance(result, Decisions)]


def test_the_page_is_what_the_results_come_to() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == render(read_results()), "run `.venv/bin/python -m bench report`"


def test_there_is_a_result_of_every_contestant() -> None:
    assert COMPARED
    for result in COMPARED:
        assert {one.contestant for one in result.rounds} == {"reprise", "default", "tuned", "null"}


@pytest.mark.parametrize("result", COMPARED, ids=lambda result: f"{result.workload}-{result.nodes}")
def test_a_result_that_is_kept_broke_no_rule(result: Result) -> None:
    found = summarize(result)

    assert (found.bound_twice, found.overcommitted_nodes) == (0, 0)


def test_decisions_are_of_every_case_at_every_size_in_every_round() -> None:
    for result in DECIDED:
        assert {(one.nodes, one.case) for one in medians(result)} == {
            (nodes, case.name) for nodes in DECIDE_NODES for case in CASES
        }
        assert {len(one.cases) for one in result.rounds} == {len(CASES)}
        assert len(result.rounds) == result.round_count * len(DECIDE_NODES)


def test_preemptions_are_of_every_case_at_every_size_in_every_round() -> None:
    assert PREEMPTED
    for result in PREEMPTED:
        assert [(one.cases[0].nodes, len(one.cases)) for one in result.rounds] == [
            (nodes, len(PREEMPT_CASES)) for nodes in PREEMPT_NODES
        ] * result.round_count


def test_parked_pods_asked_no_more_hints_than_they_may_and_were_weighed_beside_kube_scheduler_s() -> None:
    assert PARKED
    for result in PARKED:
        assert (result.rounds[0].figures.pods, result.rounds[0].figures.shapes) == (50_000, 100)
        assert result.most_hints <= 200
        assert [one.contestant for one in result.memory] == ["reprise", "default"]


def test_a_result_names_no_place() -> None:
    for file in RESULTS.glob("*.json"):
        strings = list(strings_of(msgspec.json.decode(file.read_bytes())))
        assert strings
        assert [one for one in strings if "://" in one or one.startswith("/") or "@" in one.split(" ")[0]] == []


def strings_of(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [one for item in value.values() for one in strings_of(item)]
        case list():
            return [one for item in value for one in strings_of(item)]
    return []


def test_the_command_that_measures_is_a_target() -> None:
    assert "bench-compare" in text("Makefile")
