"""Which rows are in which domain of a topology label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from scheduler.framework.ops import IdArray, IntArray

FEW = 8
SHARE = 8
"""More rows than one of so many, and than FEW, are not told apart: to look at all of them takes no longer."""


class DomainRows:
    """The rows with each value of a label, for as long as no node comes, goes or is labelled otherwise.

    Attributes:
        ids: shape (rows,), interned id of each row's value, 0 without the label.
        size: number of ids.
        rows_with: shape (size,), number of rows with each.
    """

    __slots__ = ("_a_row", "ids", "rows_with", "size")

    def __init__(self, ids: IdArray) -> None:
        self.ids: npt.NDArray[np.intp] = ids.astype(np.intp)  # what it is gathered by takes less time than by int32
        self.rows_with: IntArray = np.bincount(self.ids, minlength=1)
        self.size = len(self.rows_with)
        self._a_row = np.zeros(self.size, np.intp)
        self._a_row[self.ids] = np.arange(len(ids))

    def among(self, domains: Iterable[int]) -> Sequence[int] | None:
        """The rows of these domains, each of them given once; None when these are many."""
        rows: list[int] = []
        most = max(FEW, len(self.ids) // SHARE)
        for domain in domains:
            count = int(self.rows_with[domain])
            if len(rows) + count > most:
                return None
            if count == 1:
                rows.append(int(self._a_row[domain]))
            else:
                rows += np.flatnonzero(self.ids == domain).tolist()
        return rows
