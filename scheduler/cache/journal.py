"""Which rows changed since when, and what of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scheduler.framework.ops import IntArray

_FEW = 16


class Changes(NamedTuple):
    """Changed rows, ascending, each once, and the facets of each that changed, as the bits of Facet; both shape (k,)."""

    rows: IntArray
    facets: IntArray


def _frozen(array: IntArray) -> IntArray:
    array.flags.writeable = False
    return array


_NOTHING = Changes(_frozen(np.zeros(0, np.int64)), _frozen(np.zeros(0, np.int64)))


class Journal:
    """The last ``capacity`` changes, one entry (row, facets) each. ``position`` counts all that there ever were."""

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"the journal's capacity is {capacity}: it has to hold at least one change")
        self.position = 0
        self._capacity = capacity
        self._rows = np.zeros(capacity, np.int64)
        self._facets = np.zeros(capacity, np.int64)
        self._row_cells = self._rows.data
        self._facet_cells = self._facets.data

    def record(self, row: int, facets: int) -> None:
        slot = self.position % self._capacity
        self._row_cells[slot] = row
        self._facet_cells[slot] = facets
        self.position += 1

    def recent(self, position: int, most: int) -> list[tuple[int, int]] | None:
        """What changed after ``position`` as (row, facets), rows as in Changes, when that takes no more than ``most`` entries.

        None when it takes more, or is not known any more. Made of Python ints: it is asked for with each reused decision,
        and mostly finds one entry.

        Raises:
            ValueError: the position lies ahead of the journal.
        """
        count = self.position - position
        if count == 0:
            return []
        if count > most or count > self._capacity:
            return None
        slot = position % self._capacity
        if count == 1:
            return [(self._row_cells[slot], self._facet_cells[slot])]
        if count < 0:
            raise ValueError(f"position {position} lies ahead of the journal's {self.position}")
        merged: dict[int, int] = {}
        for entry in range(position, position + count):
            slot = entry % self._capacity
            row = self._row_cells[slot]
            merged[row] = merged.get(row, 0) | self._facet_cells[slot]
        return sorted(merged.items())

    def changes_since(self, position: int, size: int) -> Changes | None:
        """What changed after ``position``; None when that is not known any more.

        Args:
            position: what ``position`` was when the caller last looked.
            size: number of rows; every entry's row is below it.

        Raises:
            ValueError: the position lies ahead of the journal.
        """
        # Up to 16 entries merge in 2 to 6 us as a dict and in 7 to 15 us in NumPy; 16,384 in 0.2 ms in NumPy and 6 ms as a dict.
        few = self.recent(position, _FEW)
        if few is not None:
            if not few:
                return _NOTHING
            return Changes(np.array([row for row, _ in few], np.int64), np.array([what for _, what in few], np.int64))
        if self.position - position > self._capacity:
            return None
        start, end = position % self._capacity, self.position % self._capacity
        if start < end:
            rows, facets = self._rows[start:end], self._facets[start:end]
        else:
            rows = np.concatenate((self._rows[start:], self._rows[:end]))
            facets = np.concatenate((self._facets[start:], self._facets[:end]))
        merged = np.zeros(size, np.int64)
        np.bitwise_or.at(merged, rows, facets)
        changed = np.flatnonzero(merged)
        return Changes(changed, merged[changed])
