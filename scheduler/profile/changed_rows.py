"""Which rows changed since somebody last looked, few or many, and which plugins that concerns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from scheduler.cache.node_table import Changes, NodeTable
from scheduler.framework.facet import ALL_FACETS, Facet, Input
from scheduler.framework.ops import IntArray
from scheduler.framework.plugin import Plugin

Few: TypeAlias = list[tuple[int, int]]
"""Changed rows with their facets, few enough to follow one by one."""

FEW_ROWS = 8
"""Up to so many changed rows are brought up to date one by one, on Python ints: cheaper than arrays of that length."""


ColumnT = TypeVar("ColumnT")


class TouchedBy(dict[int, tuple[ColumnT, ...]]):
    """The columns that a change of some facets concerns, by these facets; worked out when first asked for.

    Args:
        reads: the facets whose change concerns a column.
    """

    def __init__(self, columns: Sequence[ColumnT], reads: Callable[[ColumnT], int]) -> None:
        super().__init__()
        self._columns = columns
        self._reads = reads

    def __missing__(self, facets: int) -> tuple[ColumnT, ...]:
        touched = self[facets] = tuple(column for column in self._columns if facets & self._reads(column))
        return touched


def facets_of(plugin: Plugin) -> int:
    """What the plugin reads of a row. Another node in the row is news to each of them, also to one that reads nothing."""
    return int(plugin.facets | Facet.NAME)


def input_facets_of(inputs: Iterable[Input]) -> int:
    """The facets of which a change, of any row, can change one of the inputs beyond the row."""
    facets = 0
    for each in inputs:
        facets |= int(each.facet)
    return facets


def merged(few: Few, rows: Iterable[int]) -> Few:
    """The changed rows and others besides, of which nothing changed itself; ascending."""
    of_row = dict(few)
    others = [(row, 0) for row in rows if row not in of_row]
    return sorted((*few, *others)) if others else few


def union(a: IntArray, b: IntArray) -> IntArray:
    """The rows that are in either, ascending; both are ascending. A tenth of the time of np.union1d."""
    if not len(a) or not len(b):
        return a if len(a) else b
    found = np.zeros(max(int(a[-1]), int(b[-1])) + 1, np.bool_)
    found[a] = True
    found[b] = True
    return np.flatnonzero(found)


def rows_for(changes: Changes, facets: int) -> IntArray:
    """The changed rows of which a plugin that reads these facets could notice the change."""
    if facets & int(ALL_FACETS) == int(ALL_FACETS):
        return changes.rows
    rows: IntArray = changes.rows[(changes.facets & facets) != 0]
    return rows


def few_or_many(table: NodeTable, position: int) -> Few | Changes | None:
    """What changed since a position in the journal; None when that is not known, or the position is negative."""
    if position < 0:
        return None
    few = table.recent(position, FEW_ROWS)
    if few is not None:
        return few
    # Many changes can be of few rows.
    changes = table.changes_since(position)
    if changes is None or len(changes.rows) > FEW_ROWS:
        return changes
    return list(zip(changes.rows.tolist(), changes.facets.tolist(), strict=True))
