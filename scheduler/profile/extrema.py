"""The lowest and highest raw score of the feasible rows, kept while rows change, enter and leave."""

from __future__ import annotations

import numpy as np

from scheduler.framework.ops import BoolArray, IntArray


class Extrema:
    """Both values with the number of rows that hold each: they are looked for anew only when the last of these goes."""

    def __init__(self) -> None:
        self.low = 0
        self.high = 0
        self._lowest = 0
        self._highest = 0
        self._is_even = False
        """All rows, feasible or not, have the same score: it does not matter which of them are feasible, nor how many."""

    @property
    def values(self) -> tuple[int, int]:
        return self.low, self.high

    def find(self, raw: IntArray, feasible: BoolArray, *, is_counted: bool = True) -> None:
        """Look at all rows. Without a feasible one both values are 0.

        Without ``is_counted`` the rows that hold a value count as one: for scores that mostly change all at once.
        """
        self._is_even = bool(len(raw) and raw.min() == raw.max() and feasible.any())
        if self._is_even:
            # Mostly so with what nobody uses; half of the time of the rest.
            self.low = self.high = int(raw[0])
            self._lowest = self._highest = int(np.count_nonzero(feasible))
            return
        scores = raw[feasible]
        if len(scores):
            self.low, self.high = int(scores.min()), int(scores.max())
            if not is_counted:
                self._lowest = self._highest = 1
                return
            self._lowest = int(np.count_nonzero(scores == self.low))
            self._highest = int(np.count_nonzero(scores == self.high))
        else:
            self.low = self.high = self._lowest = self._highest = 0

    def differ(self) -> None:
        """The score of a row is another one."""
        if self._is_even:
            self.lose()

    def leave(self, score: int) -> None:
        """A row with this score is feasible no more, or has another score now."""
        self._lowest -= score == self.low
        self._highest -= score == self.high

    def enter(self, score: int) -> None:
        """A row with this score is feasible now."""
        if score < self.low:
            self.low, self._lowest = score, 1
        elif score == self.low:
            self._lowest += 1
        if score > self.high:
            self.high, self._highest = score, 1
        elif score == self.high:
            self._highest += 1

    def lose(self) -> None:
        """So much changed that ``find`` is due."""
        self._is_even = False
        self._lowest = self._highest = 0

    def shift(self) -> None:
        """Many rows entered and left, each with the score that it has."""
        if not self._is_even:
            self.lose()

    @property
    def is_lost(self) -> bool:
        """Whether a value has no holder left, so that ``find`` is due."""
        return self._lowest <= 0 or self._highest <= 0
