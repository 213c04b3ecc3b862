"""Chance that is the same in every process: a keyed hash of a counter."""

from __future__ import annotations

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
