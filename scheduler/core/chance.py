"""Chance that is the same in every process: a keyed hash of a counter."""

from __future__ import annotations

import math
from hashlib import blake2b


class Chance:
    """A sequence of numbers that the seed alone decides, so that a story replays."""

    def __init__(self, seed: int) -> None:
        self._key = seed.to_bytes(16, "big", signed=True)
        self._count = 0

    def draw(self) -> float:
        """The next number, uniform in [0, 1)."""
        self._count += 1
        digest = blake2b(self._count.to_bytes(8, "big"), key=self._key, digest_size=4).digest()
        return int.from_bytes(digest, "big") / 2**32


def until_next(fraction: float, draw: float) -> float:
    """How many to let pass before the next one that is picked, when each is picked with the probability ``fraction``.

    A whole number, infinite for 0. Drawn once for each that is picked, where a draw for each that passes would take longer
    than all else that is done with most of them.

    Args:
        fraction: in [0, 1].
        draw: uniform in [0, 1).
    """
    if fraction >= 1:
        return 0.0
    if fraction <= 0:
        return math.inf
    return math.modf(math.log1p(-draw) / math.log1p(-fraction))[1]
