"""Chance that replays."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import pytest

from scheduler.core.chance import Chance, until_next


def draws(seed: int, count: int = 1000) -> list[float]:
    chance = Chance(seed)
    return [chance.draw() for _ in range(count)]


def test_the_seed_alone_decides() -> None:
    assert draws(7) == draws(7)
    assert draws(7) != draws(8)


def test_it_is_the_same_in_another_process_with_another_hash_seed() -> None:
    code = "from scheduler.core.chance import Chance; c = Chance(7); print([c.draw() for _ in range(5)])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == str(draws(7, 5))


def test_numbers_lie_from_0_up_to_1_and_all_over_it() -> None:
    """Of 1,000 even ones each tenth has about 100; less than 60 or more than 140 come once in 10,000 seeds."""
    found = draws(7)
    tenths = [int(number * 10) for number in found]

    assert all(0 <= number < 1 for number in found)
    assert all(60 < tenths.count(tenth) < 140 for tenth in range(10))


def test_a_seed_can_be_as_large_as_those_that_are_drawn_and_negative() -> None:
    assert len({draws(seed, 1)[0] for seed in (0, 1, -1, 2**126, -(2**126))}) == 5


EVEN = [(number + 0.5) / 2**16 for number in range(2**16)]
"""Draws that lie evenly."""


@pytest.mark.parametrize("draw", [0.0, 0.5, 1 - 2**-32])
def test_of_the_whole_share_none_passes_and_of_no_share_all_do(draw: float) -> None:
    assert until_next(1.0, draw) == 0
    assert until_next(0.0, draw) == math.inf


def test_each_is_picked_with_the_same_probability_whatever_passed_before_it() -> None:
    """A quarter at once, of the others a quarter after one, and so on."""
    passed = [until_next(0.25, draw) for draw in EVEN]

    assert [passed.count(number) for number in range(4)] == [
        2**16 // 4,
        2**16 // 4 * 3 // 4,
        2**16 // 4 * 9 // 16,
        2**16 // 4 * 27 // 64,
    ]


@pytest.mark.parametrize("fraction", [0.9, 0.5, 0.1, 0.01, 0.001])
def test_the_share_that_is_picked_is_the_fraction(fraction: float) -> None:
    """One of each that pass, and itself: the mean of a geometric distribution is 1 / fraction."""
    mean = sum(until_next(fraction, draw) + 1 for draw in EVEN) / len(EVEN)

    assert 1 / mean == pytest.approx(fraction, rel=1e-3)


@pytest.mark.parametrize("draw", [0.0, 0.5, 1 - 2**-32])
def test_the_smallest_share_there_is_can_be_drawn_for(draw: float) -> None:
    assert until_next(5e-324, draw) >= 0
