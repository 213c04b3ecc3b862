"""Chance that replays."""

from __future__ import annotations

import os
import subprocess
import sys

from scheduler.core.chance import Chance


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
