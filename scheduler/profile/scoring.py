"""The Score half of an evaluation: raw scores, normalised over the feasible rows, weighted and summed up."""

from __future__ import annotations

import numpy as np

from scheduler.cache.node_table import NodeTable
from scheduler.framework.ops import BoolArray, IntArray
from scheduler.framework.plugin import MAX_NODE_SCORE, CycleState, NormalizePlugin, ScorePlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.profile.failure import PluginFailure
from scheduler.profile.filtering import rows_for


class ScoreColumn:
    """One plugin's raw and weighted scores over all rows, shape ``(size,)``. Rows that are not feasible hold anything."""

    def __init__(self, plugin: ScorePlugin, weight: int, state: CycleState, pod: PodInfo) -> None:
        self.plugin = plugin
        self.weight = weight
        self._state = state
        self._pod = pod
        self._token: tuple[int, ...] = ()
        self._extrema = (0, 0)
        self.raw: IntArray = np.zeros(0, dtype=np.int64)
        self.weighted: IntArray = np.zeros(0, dtype=np.int64)

    def refresh_raw(self, table: NodeTable, rows: IntArray | None) -> bool:
        """Score these rows, or all when None or when an input beyond the row changed; whether it was all."""
        try:
            everything = table.columns(self.plugin)
            token = self.plugin.token(self._state, self._pod, everything)
            if rows is None or token != self._token:
                self._token = token
                self.raw = np.zeros(table.size, dtype=np.int64)
                self.raw[:] = self.plugin.score(self._state, self._pod, everything)
                return True
            if len(rows) == 1:
                row = int(rows[0])
                self.raw[row] = self.plugin.score(self._state, self._pod, table.row(self.plugin, row))
            elif len(rows):
                self.raw[rows] = self.plugin.score(self._state, self._pod, table.columns(self.plugin, rows))
            return False
        except Exception as error:
            raise PluginFailure(f'plugin "{self.plugin.name}" failed with: {error}', self.plugin.name) from error

    def extrema_moved(self, feasible: BoolArray) -> bool:
        """Whether the lowest or highest raw score of the feasible rows is another than last time."""
        if not isinstance(self.plugin, NormalizePlugin):
            return False
        scores = self.raw[feasible]
        extrema = (int(scores.min()), int(scores.max())) if len(scores) else (0, 0)
        moved = extrema != self._extrema
        self._extrema = extrema
        return moved

    def weigh(self, feasible: BoolArray, rows: IntArray | None) -> None:
        """Normalise and weigh these rows, or all.

        Raises:
            PluginFailure: a feasible row's score lies outside 0..100.
        """
        raw = self.raw if rows is None else self.raw[rows]
        scores = raw
        if isinstance(self.plugin, NormalizePlugin):
            scores = np.asarray(self.plugin.normalize(self._state, self._pod, raw, *self._extrema), dtype=np.int64)
        counted = scores[feasible if rows is None else feasible[rows]]
        wrong = counted[(counted < 0) | (counted > MAX_NODE_SCORE)]
        if len(wrong):
            raise PluginFailure(
                f'plugin "{self.plugin.name}" returns an invalid score {int(wrong[0])}, '
                f"it should in the range of [0, {MAX_NODE_SCORE}] after normalizing",
                self.plugin.name,
            )
        if rows is None:
            self.weighted = scores * self.weight
        else:
            self.weighted[rows] = scores * self.weight

    def resize(self, size: int) -> None:
        if size > len(self.raw):
            grow = np.zeros(size - len(self.raw), dtype=np.int64)
            self.raw = np.concatenate((self.raw, grow))
            self.weighted = np.concatenate((self.weighted, grow))


class Scoring:
    """Scores of all Score plugins that did not skip, and their sum."""

    def __init__(self, columns: list[ScoreColumn]) -> None:
        self.columns = columns
        self.totals: IntArray = np.zeros(0, dtype=np.int64)
        self._position = -1

    def refresh(self, table: NodeTable, feasible: BoolArray) -> None:
        """Bring raw scores, normalisation and totals up to date with the table and the feasible rows."""
        changes = table.changes_since(self._position) if self._position >= 0 else None
        self._position = table.position
        if changes is None:
            self._refresh_all(table, feasible)
            return
        self.totals = np.concatenate((self.totals, np.zeros(table.size - len(self.totals), dtype=np.int64)))
        moved = False
        for column in self.columns:
            column.resize(table.size)
            whole = column.refresh_raw(table, rows_for(changes, int(column.plugin.facets)))
            # A row that entered or left the feasible ones can move an extremum although no score changed.
            whole = column.extrema_moved(feasible) or whole
            column.weigh(feasible, None if whole else changes.rows)
            moved = moved or whole
        if moved:
            self.totals = self._sum()
        elif len(changes.rows):
            self.totals[changes.rows] = sum(
                (column.weighted[changes.rows] for column in self.columns), np.zeros(len(changes.rows), dtype=np.int64)
            )

    def _refresh_all(self, table: NodeTable, feasible: BoolArray) -> None:
        for column in self.columns:
            column.refresh_raw(table, None)
            column.extrema_moved(feasible)
            column.weigh(feasible, None)
        self.totals = np.zeros(table.size, dtype=np.int64) if not self.columns else self._sum()

    def _sum(self) -> IntArray:
        total = self.columns[0].weighted.copy()
        for column in self.columns[1:]:
            total += column.weighted
        return total
