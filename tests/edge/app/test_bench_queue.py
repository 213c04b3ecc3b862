"""``reprise bench queue``: what an event costs when very many pods wait."""

from __future__ import annotations

import json

import pytest

from scheduler.app import bench_queue
from scheduler.app.bench_queue import measure
from scheduler.app.cli import main


def test_a_hint_is_asked_once_a_shape_and_plugin_however_many_pods_wait() -> None:
    """100 shapes, and events of a node with two changes; at most two plugins have rejected a pod."""
    few, many = measure(pods=400, shapes=100, nodes=20), measure(pods=4000, shapes=100, nodes=20)

    assert few["hints_an_event"] == many["hints_an_event"]
    assert 0 < many["hints_an_event"] <= 200


def test_an_event_that_helps_one_shape_wakes_no_other() -> None:
    result = measure(pods=60, shapes=6, nodes=6)

    assert result["woken"] == 10
    assert 0 < result["first_ms_p50"] <= result["first_ms_p99"]
    assert result["first_ms_p50"] <= result["all_ms_p50"]


def test_the_figures_are_a_line_of_json_or_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "queue", "--pods=20", "--shapes=4", "--nodes=2", "--output=json"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert (line["pods"], line["shapes"], line["nodes"]) == (20, 4, 2)

    assert main(["bench", "queue", "--pods=20", "--shapes=4", "--nodes=2"]) == 0
    told = capsys.readouterr().out
    assert "HINTS" in told
    assert "target < 100 ms: met" in told


@pytest.mark.parametrize(("most", "code"), [(0, 1), (2, 0)])
def test_more_hints_than_the_shapes_account_for_end_it_with_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], most: int, code: int
) -> None:
    monkeypatch.setattr(bench_queue, "MOST_HINTS_A_SHAPE", most)

    assert main(["bench", "queue", "--pods=20", "--shapes=4", "--nodes=2", "--output=json"]) == code
    assert ("4 shapes account for 0" in capsys.readouterr().err) is bool(code)


def test_more_shapes_than_pods_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "queue", "--pods=2", "--shapes=3"]) == 2
    assert capsys.readouterr().err == "bench queue: --shapes 3 is more than --pods 2: give more pods\n"
