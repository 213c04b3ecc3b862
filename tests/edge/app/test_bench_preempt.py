"""``reprise bench preempt``: what a decision costs that takes the place of others."""

from __future__ import annotations

import json

import pytest

from scheduler.app.bench_preempt import CASES, PreemptCase, measure
from scheduler.app.cli import main


def test_each_pod_takes_half_of_a_node_from_those_that_are_there() -> None:
    result = measure(PreemptCase(name="some", pods_a_node=6), nodes=12, pods=3)

    assert (result["victims"], result["candidates"]) == (3, 12)
    assert 0 < result["ms_p50"] <= result["ms_p99"]


def test_with_budgets_those_are_chosen_that_break_none() -> None:
    """Half of the apps have a budget with nothing left, and each node has pods of one kind alone."""
    result = measure(PreemptCase(name="some", pods_a_node=6, is_budgeted=True), nodes=20, pods=2)

    assert result["victims"] == 3


def test_figures_are_lines_of_json_or_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "preempt", "--nodes=2", "--pods=2", "--output=json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["case"], line["pods_a_node"], line["nodes"]) for line in lines] == [
        (case.name, case.pods_a_node, 2) for case in CASES
    ]

    assert main(["bench", "preempt", "--nodes=2", "--pods=2"]) == 0
    assert "VICTIMS" in capsys.readouterr().out
