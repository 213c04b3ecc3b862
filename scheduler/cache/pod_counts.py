"""How many pods of each node a selector matches: a column for each selector that somebody asks with.

Pods with the same namespace and labels are one kind, and a selector is looked at once a kind. What comes and goes is noted
and worked in when somebody asks, so that it costs next to nothing while nobody does.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

import numpy as np

from scheduler.cache.change_log import ChangeLog
from scheduler.cache.columns import Column
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.pod_kind import PodKind
from scheduler.framework.pod_match import PodMatch

COLUMNS = 256
"""How many columns are kept; the one that was asked for longest ago goes first."""

_MOST_NOTES = 4096


class CountColumn:
    """Number of matching pods a row. ``version``: a higher number after each change, never one that was there before."""

    __slots__ = ("column", "log", "match", "version")

    def __init__(self, match: PodMatch, capacity: int, version: int) -> None:
        self.match = match
        self.column = Column(np.int64, capacity)
        self.version = version
        self.log = ChangeLog(version)

    def add(self, row: int, change: int, version: int) -> None:
        self.column.cells[row] += change
        self.version = version
        self.log.note(version, row, change)


class _Kind:
    """Pods of one kind by row, and the columns that count them; None when that has to be looked up anew."""

    __slots__ = ("columns", "rows")

    def __init__(self) -> None:
        self.rows: dict[int, int] = {}
        self.columns: list[CountColumn] | None = None


class PodCounts:
    """Pods of every node by kind."""

    def __init__(self, capacity: int, columns: int = COLUMNS) -> None:
        self._capacity = capacity
        self._most_columns = columns
        self._columns: OrderedDict[PodMatch, CountColumn] = OrderedDict()
        self._kinds: dict[str, dict[PodKind, _Kind]] = {}
        self._notes: list[tuple[int, PodInfo, int]] = []
        self._last_version = 0

    def add(self, row: int, pod: PodInfo) -> None:
        self._note(row, pod, 1)

    def remove(self, row: int, pod: PodInfo) -> None:
        """Undo an ``add`` of a pod with the same namespace, labels and deletion."""
        self._note(row, pod, -1)

    def _note(self, row: int, pod: PodInfo, change: int) -> None:
        self._notes.append((row, pod, change))
        if len(self._notes) > _MOST_NOTES:
            self._work_in()

    def _work_in(self) -> None:
        for row, pod, change in self._notes:
            self._count(row, pod.kind, change)
        self._notes.clear()

    def _count(self, row: int, name: PodKind, change: int) -> None:
        kinds = self._kinds.setdefault(name.namespace, {})
        kind = kinds.get(name)
        if kind is None:
            kind = kinds[name] = _Kind()
        number = kind.rows.get(row, 0) + change
        if number:
            kind.rows[row] = number
        else:
            del kind.rows[row]
        if kind.columns is None:
            kind.columns = [column for column in self._columns.values() if _matches(column.match, name)]
        for column in kind.columns:
            column.add(row, change, self._next_version())
        if not kind.rows:
            del kinds[name]
            if not kinds:
                del self._kinds[name.namespace]

    def column(self, match: PodMatch) -> CountColumn:
        """The pods that match, by row, as of now."""
        if self._notes:
            self._work_in()
        known = self._columns.get(match)
        if known is not None:
            self._columns.move_to_end(match)
            return known
        column = self._columns[match] = CountColumn(match, self._capacity, self._next_version())
        for _, kind in self._matching(match):
            for row, number in kind.rows.items():
                column.column.cells[row] += number
            if kind.columns is not None:
                kind.columns.append(column)
        if len(self._columns) > self._most_columns:
            self._columns.popitem(last=False)
            for _, kind in self._all():
                kind.columns = None
        return column

    def _matching(self, match: PodMatch) -> Iterator[tuple[PodKind, _Kind]]:
        namespaces = match.namespaces
        if namespaces is None:
            candidates = self._all()
        else:
            candidates = (item for name in sorted(namespaces) for item in self._kinds.get(name, {}).items())
        return ((name, kind) for name, kind in candidates if _matches(match, name))

    def _all(self) -> Iterator[tuple[PodKind, _Kind]]:
        return (item for kinds in self._kinds.values() for item in kinds.items())

    def _next_version(self) -> int:
        self._last_version += 1
        return self._last_version

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        for column in self._columns.values():
            column.column.grow(capacity)

    def counts(self) -> dict[tuple[PodKind, int], int]:
        """Pods by kind and row."""
        self._work_in()
        return {(name, row): number for name, kind in self._all() for row, number in kind.rows.items()}

    def columns(self) -> list[CountColumn]:
        """Every column that is kept, as of now."""
        self._work_in()
        return list(self._columns.values())


def _matches(match: PodMatch, kind: PodKind) -> bool:
    return match.matches(kind.namespace, dict(kind.labels), is_terminating=kind.is_terminating)
