"""Figures of decisions: medians over rounds, rows, the file, and the page."""

import sys
from pathlib import Path

import msgspec
import pytest

from bench.__main__ import main, parser
from bench.decide import measure, write
from bench.decisions import CaseFigures, DecideRound, Decisions, decide_rows, medians
from bench.figures import Result
from bench.own_command import CommandError
from bench.report import read_results, render
from tests.unit.bench.test_figures import MACHINE, make_result, make_round


def figures(case: str, nodes: int, warm: float) -> CaseFigures:
    return CaseFigures(
        nodes=nodes, case=case, cold_us_p50=1000 * warm, warm_us_p50=warm, warm_us_p99=2 * warm, hit_ratio=0.9995
    )


def decided(*rounds: list[CaseFigures], others_cores: float = 0.0) -> Decisions:
    return Decisions(
        pods=2000,
        command="python -m bench decide",
        recorded_on="2026-01-01",
        machine=MACHINE,
        rounds=[DecideRound(number=n, cases=cases, others_cores=others_cores) for n, cases in enumerate(rounds, 1)],
    )


def test_each_figure_of_a_case_and_size_is_the_median_of_its_rounds() -> None:
    result = decided(*([figures("a", 100, warm), figures("a", 5000, 2 * warm)] for warm in (3.0, 1.0, 20.0)))

    assert medians(result) == [figures("a", 100, 3.0), figures("a", 5000, 6.0)]


def test_cases_stay_in_their_order_and_sizes_grow_whatever_was_measured_first() -> None:
    result = decided(
        [figures("z", 5000, 1.0), figures("a", 5000, 2.0)], [figures("z", 100, 3.0), figures("a", 100, 4.0)]
    )

    assert [(one.case, one.nodes) for one in medians(result)] == [("z", 100), ("z", 5000), ("a", 100), ("a", 5000)]


def test_a_row_has_microseconds_and_the_share_of_hits() -> None:
    assert decide_rows(decided([figures("a", 15000, 1.25)])) == [["a", "15,000", "1,250", "1.2", "2", "0.9995"]]


def test_a_result_of_either_kind_comes_back_from_its_file(tmp_path: Path) -> None:
    result, compared = decided([figures("a", 100, 1.0)]), make_result(make_round("reprise"))
    write(result, tmp_path)
    (tmp_path / "compare.json").write_bytes(msgspec.json.encode(compared))

    assert read_results(tmp_path) == [result, compared]
    assert isinstance(read_results(tmp_path)[1], Result)


def test_the_page_shows_decisions_with_the_command_that_measured_them() -> None:
    page = render(
        [decided([figures("same shape", 5000, 30.0)], [figures("same shape", 5000, 32.0)], others_cores=0.25)]
    )

    assert "| same shape | 5,000 | 31,000 | 31.0 | 62 | 0.9995 |" in page
    assert "`python -m bench decide` on 2026-01-01, medians of 2 rounds: c, 2 cores, 1 GiB, s, Python 3, " in page
    assert "Others used up to 0.25 cores meanwhile." in page


@pytest.mark.long
def test_what_the_command_prints_is_what_is_kept(tmp_path: Path) -> None:
    assert main(["decide", "--nodes=3,5", "--pods=4", "--rounds=2", f"--results={tmp_path}"]) == 0
    (result,) = read_results(tmp_path)

    assert isinstance(result, Decisions)
    assert [(one.number, {case.nodes for case in one.cases}) for one in result.rounds] == [
        (1, {3}),
        (1, {5}),
        (2, {5}),
        (2, {3}),
    ]
    assert result.rounds[0].cases[0].case == "same shape"
    assert result.rounds[0].cases[0].hit_ratio == 0.75
    assert result.command == "python -m bench decide --nodes 3,5 --pods 4 --rounds 2"


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("raise SystemExit('no memory')", "ended with code 1\nno memory"),
        ("print('{}')", "printed something else: Object missing required field `nodes`"),
    ],
)
def test_a_command_that_fails_is_an_error_with_its_own_words(script: str, complaint: str) -> None:
    with pytest.raises(CommandError) as caught:
        measure(1, 3, 4, command=(sys.executable, "-c", script))

    assert str(caught.value).startswith(f"reprise bench decide --nodes=3 --pods=4 --output=json {complaint}")


def test_sizes_are_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["decide", "--nodes=100,many"])

    assert "argument --nodes: expected a whole number above 0, got 'many'" in capsys.readouterr().err
    assert parser().parse_args(["decide"]).nodes == [100, 5000, 15000]
