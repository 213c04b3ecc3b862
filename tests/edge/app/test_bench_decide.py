"""``reprise bench decide``: a line a case, and what it says of what it cannot measure."""

from __future__ import annotations

import json

import pytest

from scheduler.app.cli import HIGHEST_COUNT, main

# A shape of which others wait is kept from its first pod on, so one pod of each finds nothing to reuse.
HIT_RATIOS = {
    "same shape": 0.99,
    "A B A B": 0.98,
    "one pod a node by host port": 0.95,
    "nodes that fill up": 0.975,
    "a node event every 100 pods": 0.99,
    "an unschedulable shape between schedulable ones": 0.98,
    "hostname anti-affinity": 0.95,
    "zone spread": 0.99,
    # A pod with claims is evaluated for itself.
    "node volume limits": 0.0,
    "WaitForFirstConsumer claims": 0.0,
}


def test_each_case_is_a_line_with_the_same_shape_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Of 100 pods; 20 of them where each needs a node of its own, and 40 where two fill one."""
    assert main(["bench", "decide", "--nodes=20", "--pods=100", "--output=json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert [line["case"] for line in lines] == list(HIT_RATIOS)
    assert {line["case"]: line["hit_ratio"] for line in lines} == HIT_RATIOS
    for line in lines:
        assert list(line) == ["nodes", "case", "cold_us_p50", "warm_us_p50", "warm_us_p99", "hit_ratio"]
        assert line["nodes"] == 20
        assert line["cold_us_p50"] > 0
        assert 0 < line["warm_us_p50"] <= line["warm_us_p99"]


def test_one_pod_on_one_node_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "decide", "--nodes=1", "--pods=1"]) == 0

    assert "same shape" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--nodes", "--pods"])
@pytest.mark.parametrize("count", ["-1", "-3", "0", "abc", "1.5", "nan", "1e3", "+5", ""])
def test_what_is_no_number_of_anything_is_refused(option: str, count: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "decide", option, count])
    told = capsys.readouterr()

    assert (ended.value.code, told.out) == (2, "")
    *usage, error = told.err.splitlines()
    assert usage[0].startswith("usage: reprise bench decide ")
    assert error == f"reprise bench decide: error: argument {option}: expected a whole number above 0, got {count!r}"


@pytest.mark.parametrize("option", ["--nodes", "--pods"])
@pytest.mark.parametrize("count", [str(HIGHEST_COUNT + 1), "9" * 20, "9" * 5000], ids=["1 more", "20 digits", "5,000"])
def test_more_than_a_machine_holds_is_refused(option: str, count: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "decide", option, count])

    assert ended.value.code == 2
    assert f"argument {option}: at most {HIGHEST_COUNT} are possible, got " in capsys.readouterr().err
