"""What a soak takes for growth and for something left behind."""

import dataclasses

import pytest

from bench.soak import Idle, Sample, grown, left_behind

MIB = 1 << 20
IDLE = Idle(tasks=20.0, files=24, threads=8, held={'scheduler_cache_size{type="pods"}': 0.0})


def samples(*mib: float, every: float = 2.0, threads: int = 8) -> list[Sample]:
    return [Sample(index * every, int(one * MIB), 30, threads) for index, one in enumerate(mib)]


def test_growth_while_it_warms_up_is_none() -> None:
    assert grown(samples(*range(50, 90), *([90.0] * 60))) == []


def test_growth_after_that_is_told() -> None:
    rising = [100 + index / 2 for index in range(100)]

    assert grown(samples(*rising)) == ["memory grew from 120.2 to 145.8 MiB"]


def test_a_little_more_is_no_growth() -> None:
    assert grown(samples(*([100.0] * 60), *([105.9] * 40))) == []


def test_a_run_that_was_too_short_tells_nothing() -> None:
    assert grown(samples(*([100.0] * 35))) == ["5 samples after the warm-up are too few to tell"]


def test_threads_that_become_more_are_told() -> None:
    early, late = samples(*([100.0] * 40)), samples(*([100.0] * 100), threads=10)

    assert grown([*early, *late[40:]]) == ["threads became more"]


@pytest.mark.parametrize(
    ("after", "problems"),
    [
        (IDLE, []),
        (dataclasses.replace(IDLE, files=80), []),  # connections that rest
        (dataclasses.replace(IDLE, files=89), ["89 open files, and 24 before"]),
        (dataclasses.replace(IDLE, tasks=21.0), ["21 tasks, and 20 before"]),
        (
            dataclasses.replace(IDLE, held={'scheduler_cache_size{type="pods"}': 3.0}),
            ['scheduler_cache_size{type="pods"} is 3 without any pod'],
        ),
    ],
)
def test_what_is_left_behind(after: Idle, problems: list[str]) -> None:
    assert left_behind(IDLE, after) == problems
