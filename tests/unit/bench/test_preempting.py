"""Figures of decisions that preempt: medians over rounds, rows, the file, and the page."""

from pathlib import Path

import pytest

from bench.__main__ import main
from bench.preempting import PreemptFigures, Preempting, PreemptRound, rows, write
from bench.report import read_results, render
from tests.unit.bench.test_figures import MACHINE


def figures(case: str, nodes: int, ms: float) -> PreemptFigures:
    return PreemptFigures(
        case=case, nodes=nodes, pods_a_node=10, candidates=100, victims=5, ms_p50=ms, ms_p99=2 * ms, cpu_ms_p50=ms / 2
    )


def preempted(*rounds: list[PreemptFigures]) -> Preempting:
    return Preempting(
        pods=50,
        command="python -m bench preempt",
        recorded_on="2026-01-01",
        machine=MACHINE,
        rounds=[PreemptRound(number=n, cases=cases, others_cores=0.1) for n, cases in enumerate(rounds, 1)],
    )


def test_a_row_has_the_medians_of_its_rounds_and_cases_stay_in_their_order() -> None:
    result = preempted(
        *([figures("z", 5000, ms), figures("a", 5000, 1.0), figures("z", 1000, 2.0)] for ms in (3.0, 1.0, 9.0))
    )

    assert rows(result) == [
        ["z", "1,000", "10", "100", "5", "2.0", "4.0", "1.0"],
        ["z", "5,000", "10", "100", "5", "3.0", "6.0", "1.5"],
        ["a", "5,000", "10", "100", "5", "1.0", "2.0", "0.5"],
    ]


def test_a_result_comes_back_from_its_file_and_is_on_the_page(tmp_path: Path) -> None:
    result = preempted([figures("a", 1000, 7.0)])
    write(result, tmp_path)

    assert read_results(tmp_path) == [result]
    page = render([result])
    assert "| a | 1,000 | 10 | 100 | 5 | 7.0 | 14.0 | 3.5 |" in page
    assert "`python -m bench preempt` on 2026-01-01, one round: c, 2 cores" in page


@pytest.mark.long
def test_what_the_command_prints_is_what_is_kept(tmp_path: Path) -> None:
    assert main(["preempt", "--nodes=2,3", "--pods=1", "--rounds=1", f"--results={tmp_path}"]) == 0
    (result,) = read_results(tmp_path)

    assert isinstance(result, Preempting)
    assert [one.cases[0].nodes for one in result.rounds] == [2, 3]
    assert result.command == "python -m bench preempt --nodes 2,3 --pods 1 --rounds 1"
