"""Labels of nodes as columns of interned values, one column a label key that plugins ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from scheduler.api.selectors import parse_int64
from scheduler.cache.columns import InternedColumn
from scheduler.framework.ops import BoolArray, IntArray

Labels = Mapping[str, str]


class LabelColumn(InternedColumn[str | None]):
    """The values of one key; None, with id 0, where a node has no such label. Also the LabelIds of column views."""

    __slots__ = ("_integers", "_is_integer", "_numbers", "_valid", "for_row", "used")

    def __init__(self, capacity: int) -> None:
        super().__init__(None, capacity)
        self.used = 0
        """The table's position when a plugin last asked for the column."""
        self.for_row = RowLabelIds(self)
        self._numbers: list[int] = []
        self._valid: list[bool] = []
        self._integers: IntArray = np.zeros(0, np.int64)
        self._is_integer: BoolArray = np.zeros(0, np.bool_)

    def integers(self) -> tuple[IntArray, BoolArray]:
        """Arrays by id: the value as int64, and whether it is one in base 10 at all."""
        self.integer_lists()
        if len(self._integers) < len(self._numbers):
            self._integers = np.array(self._numbers, np.int64)
            self._is_integer = np.array(self._valid, np.bool_)
        return self._integers, self._is_integer

    def integer_lists(self) -> tuple[list[int], list[bool]]:
        """As ``integers``, as lists."""
        for value in self.items[len(self._numbers) :]:
            number = None if value is None else parse_int64(value)
            self._numbers.append(number or 0)
            self._valid.append(number is not None)
        return self._numbers, self._valid

    def compact(self) -> None:
        super().compact()
        self._numbers, self._valid = [], []
        self._integers, self._is_integer = self._integers[:0], self._is_integer[:0]


class RowLabelIds:
    """The LabelIds of row views, whose tables are lists."""

    __slots__ = ("_column",)

    def __init__(self, column: LabelColumn) -> None:
        self._column = column

    @property
    def items(self) -> list[str | None]:
        return self._column.items

    def id_of(self, value: str) -> int:
        return self._column.id_of(value)

    def integers(self) -> tuple[list[int], list[bool]]:
        return self._column.integer_lists()


class LabelColumns:
    """Columns by label key: made when a plugin first asks, kept up to date, dropped when too many are unused.

    Args:
        limit: how many columns outlive the next change of the table. Pods can name as many keys as they like.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._columns: dict[str, LabelColumn] = {}
        self.is_crowded = False
        """Whether there are more than outlive the next change."""

    def column(self, key: str, capacity: int, labels_by_row: Callable[[], Iterator[Labels]]) -> LabelColumn:
        """The column of a key, made of every row's labels when there is none yet (3 ms for 5,000 nodes)."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = LabelColumn(capacity)
            column.fill(labels.get(key) for labels in labels_by_row())
            self.is_crowded = len(self._columns) > self._limit
        return column

    def update(self, row: int, labels: Labels) -> None:
        for key, column in self._columns.items():
            column.set(row, labels.get(key))

    def grow(self, capacity: int) -> None:
        for column in self._columns.values():
            column.column.grow(capacity)

    def tidy(self) -> bool:
        """Compact wasteful columns, and drop the half that went unused longest when there are too many.

        Only between evaluations: within one, ids must not move. Returns whether ids that someone may keep have changed.
        """
        changed = False
        if self.is_crowded:
            # Half of them at once: a stream of pods that each name a key of their own must not renumber at each pod.
            by_use = sorted(self._columns, key=lambda key: self._columns[key].used)
            for key in by_use[: len(by_use) - self._limit // 2]:
                del self._columns[key]
            self.is_crowded = False
            changed = True
        for column in self._columns.values():
            if column.is_wasteful:
                column.compact()
                changed = True
        return changed

    def items(self) -> Iterator[tuple[str, LabelColumn]]:
        return iter(self._columns.items())
