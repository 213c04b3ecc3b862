"""Figures of parked pods: medians, what is allowed, the file, and the page."""

from pathlib import Path

import pytest

from bench import parking
from bench.__main__ import main, parser
from bench.parked_memory import ParkedMemory, _pods, _told
from bench.parking import Parking, QueueFigures, QueueRound, memory_rows, rows, verdict, write
from bench.report import read_results, render
from tests.support.resources import Object
from tests.unit.bench.test_figures import MACHINE

MEMORY = [
    ParkedMemory(
        contestant="reprise", pods=1000, before_bytes=100_000_000, after_bytes=124_000_000, parked_seconds=5.0
    ),
    ParkedMemory(contestant="default", pods=1000, before_bytes=70_000_000, after_bytes=120_000_000, parked_seconds=9.0),
]


def figures(ms: float, hints: int = 100) -> QueueFigures:
    return QueueFigures(
        pods=50_000,
        shapes=100,
        nodes=100,
        hints_an_event=hints,
        woken=500,
        first_ms_p50=ms,
        first_ms_p99=2 * ms,
        all_ms_p50=10 * ms,
        bytes_a_pod=1900,
    )


def parked(*rounds: QueueFigures) -> Parking:
    return Parking(
        command="python -m bench queue",
        recorded_on="2026-01-01",
        machine=MACHINE,
        rounds=[QueueRound(number=n, figures=one, others_cores=0.1) for n, one in enumerate(rounds, 1)],
        memory=MEMORY,
    )


def test_a_row_has_medians_and_the_most_hints_of_all() -> None:
    result = parked(figures(30.0), figures(10.0, hints=109), figures(20.0))

    assert rows(result) == [["50,000", "100", "109", "500", "20.0", "40.0", "200.0", "1,900"]]


def test_memory_of_a_pod_is_what_came_by_pods() -> None:
    assert memory_rows(parked(figures(1.0))) == [
        ["reprise", "1,000", "100", "124", "24.0", "5"],
        ["default", "1,000", "70", "120", "50.0", "9"],
    ]


@pytest.mark.parametrize(("ms", "word"), [(99.9, "met"), (100.0, "not met")])
def test_what_is_found_stands_beside_what_should_be(ms: float, word: str) -> None:
    told = verdict(parked(figures(ms)))

    assert told.startswith("An event asked at most 100 hints, of 200 allowed.")
    assert told.endswith(f"{ms:.1f} ms, target < 100 ms: {word}.")


def test_a_result_comes_back_from_its_file_and_is_on_the_page(tmp_path: Path) -> None:
    result = parked(figures(20.0))
    write(result, tmp_path)

    assert read_results(tmp_path) == [result]
    page = render([result])
    assert "| reprise | 1,000 | 100 | 124 | 24.0 | 5 |" in page
    assert "`python -m bench queue` on 2026-01-01, one round: c, 2 cores" in page


@pytest.mark.parametrize(("hints", "code"), [(200, 0), (201, 1)])
def test_more_hints_than_shapes_account_for_are_an_error(
    monkeypatch: pytest.MonkeyPatch, hints: int, code: int
) -> None:
    monkeypatch.setattr(parking, "lines_of", lambda _arguments, _line: ([figures(1.0, hints=hints)], 0.0))

    assert main(["queue", "--rounds=1", "--memory-pods=0"]) == code


@pytest.mark.long
def test_what_the_command_prints_is_what_is_kept(tmp_path: Path) -> None:
    assert main(["queue", "--pods=200", "--rounds=1", "--memory-pods=0", f"--results={tmp_path}"]) == 0
    (result,) = read_results(tmp_path)

    assert isinstance(result, Parking)
    assert (result.rounds[0].figures.pods, result.memory) == (200, [])


def test_pods_on_the_real_api_server_wait_for_what_the_others_wait_for() -> None:
    pods = list(_pods(200, "reprise"))
    asked = [dict(pod["spec"]["containers"][0]["resources"]["requests"]) for pod in pods]

    assert pods[0]["spec"]["nodeSelector"] == {"example.com/shape-0000": "yes"}
    assert [sorted(amounts) for amounts in asked[:4]] == [["cpu", "memory"]] * 2 + [
        ["cpu", "example.com/shape-0001", "memory"]
    ] * 2
    assert sorted(asked[198]) == ["cpu", "example.com/shape-0099", "memory"]
    assert "nodeSelector" not in pods[2]["spec"]


def test_a_pod_is_parked_when_it_was_told_that_it_fits_nowhere() -> None:
    told = {"type": "PodScheduled", "status": "False"}
    bound = {"type": "PodScheduled", "status": "True"}
    pods: list[Object] = [{"status": {"conditions": [told]}}, {"status": {"conditions": [bound]}}, {"status": {}}]

    assert _told(pods) == 1


def test_memory_can_be_left_out() -> None:
    assert parser().parse_args(["queue", "--memory-pods=0"]).memory_pods == 0
