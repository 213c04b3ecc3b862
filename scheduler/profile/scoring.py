"""The Score half of an evaluation: raw scores, normalised over the feasible rows, weighted and summed up."""

from __future__ import annotations

import numpy as np

from scheduler.cache.node_table import Changes, NodeTable
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

    def refresh_raw(self, table: NodeTable, changes: Changes | None) -> bool:
        """Score what changed, or all when that is not known or an input beyond the row changed; whether it was all."""
        try:
            everything = table.columns(self.plugin)
            token = self.plugin.token(self._state, self._pod, everything)
            self._resize(table.size)
            if changes is None or token != self._token:
                self._token = token
                self.raw[:] = self.plugin.score(self._state, self._pod, everything)
                return True
            rows = rows_for(changes, int(self.plugin.facets))
            if len(rows) == 1:
                row = int(rows[0])
                self.raw[row] = self.plugin.score(self._state, self._pod, table.row(self.plugin, row))
            elif len(rows):
                self.raw[rows] = self.plugin.score(self._state, self._pod, table.columns(self.plugin, rows))
            return False
        except Exception as error:
            raise PluginFailure(
                f'running Score plugins: plugin "{self.plugin.name}" failed with: {error}', self.plugin.name
            ) from error

    def extrema_moved(self, feasible: BoolArray) -> bool:
        """Whether the lowest or highest raw score of the feasible rows is another than last time."""
        if not isinstance(self.plugin, NormalizePlugin):
            return False
        scores = self.raw[feasible]
        extrema = (int(scores.min()), int(scores.max())) if len(scores) else (0, 0)
        moved = extrema != self._extrema
        self._extrema = extrema
        return moved

    def normalized(self, rows: IntArray | None) -> IntArray:
        """The final scores of these rows, or of all."""
        raw = self.raw if rows is None else self.raw[rows]
        if not isinstance(self.plugin, NormalizePlugin):
            return raw
        try:
            return np.asarray(self.plugin.normalize(self._state, self._pod, raw, *self._extrema), dtype=np.int64)
        except Exception as error:
            raise PluginFailure(
                f'running Normalize on Score plugins: plugin "{self.plugin.name}" failed with: {error}',
                self.plugin.name,
            ) from error

    def weigh(self, scores: IntArray, feasible: BoolArray, rows: IntArray | None) -> None:
        """Weigh the final scores of these rows, or of all.

        Raises:
            PluginFailure: a feasible row's score lies outside 0..100.
        """
        counted = scores[feasible if rows is None else feasible[rows]]
        wrong = counted[(counted < 0) | (counted > MAX_NODE_SCORE)]
        if len(wrong):
            raise PluginFailure(
                f'applying score defaultWeights on Score plugins: plugin "{self.plugin.name}" returns an invalid score '
                f"{int(wrong[0])}, it should in the range of [0, {MAX_NODE_SCORE}] after normalizing",
                self.plugin.name,
            )
        if rows is None:
            self.weighted = scores * self.weight
        else:
            self.weighted[rows] = scores * self.weight

    def _resize(self, size: int) -> None:
        if size > len(self.raw):
            grow = np.zeros(size - len(self.raw), dtype=np.int64)
            self.raw = np.concatenate((self.raw, grow))
            self.weighted = np.concatenate((self.weighted, grow))


class Scoring:
    """Scores of all Score plugins that did not skip, and their sum.

    As in kube-scheduler 1.37 (RunScorePlugins) all plugins score before any is normalised, and all are normalised before
    any is weighed. After a failure a Scoring is of no use any more.
    """

    def __init__(self, columns: list[ScoreColumn]) -> None:
        self.columns = columns
        self.totals: IntArray = np.zeros(0, dtype=np.int64)
        self._position = -1

    def refresh(self, table: NodeTable, feasible: BoolArray) -> None:
        """Bring raw scores, normalisation and totals up to date with the table and the feasible rows.

        Raises:
            PluginFailure: a plugin failed.
        """
        changes = table.changes_since(self._position) if self._position >= 0 else None
        if changes is not None and not len(changes.rows):
            return
        self._position = table.position
        # A row that entered or left the feasible ones can move an extremum although no score changed.
        whole = [column.refresh_raw(table, changes) for column in self.columns]
        whole = [column.extrema_moved(feasible) or scored for column, scored in zip(self.columns, whole, strict=True)]
        rows = [None if changes is None or all_of_it else changes.rows for all_of_it in whole]
        finals = [column.normalized(some) for column, some in zip(self.columns, rows, strict=True)]
        for column, final, some in zip(self.columns, finals, rows, strict=True):
            column.weigh(final, feasible, some)
        self._add_up(table.size, None if changes is None or any(whole) else changes.rows)

    def _add_up(self, size: int, rows: IntArray | None) -> None:
        if rows is None or len(self.totals) != size:
            self.totals = np.zeros(size, dtype=np.int64)
            for column in self.columns:
                self.totals += column.weighted
        elif len(rows):
            total = np.zeros(len(rows), dtype=np.int64)
            for column in self.columns:
                total += column.weighted[rows]
            self.totals[rows] = total
