"""The Score half of an evaluation: raw scores, normalised over the feasible rows, weighted and summed up."""

from __future__ import annotations

from typing import Any

import numpy as np

from scheduler.cache.node_table import Changes, NodeTable
from scheduler.cache.views import row_view_of
from scheduler.framework.ops import BoolArray, IntArray
from scheduler.framework.plugin import MAX_NODE_SCORE, CycleState, NormalizePlugin, ScorePlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.profile.extrema import Extrema
from scheduler.profile.failure import PluginFailure, Stage
from scheduler.profile.filtering import FEW_ROWS, facets_of, rows_for

TIE_KEY_BITS = 31
BELOW_ALL = np.iinfo(np.int64).min
"""Stands for a row that is not feasible; a total can be negative, as weights can."""


Few = tuple[tuple[int, int], ...]
"""Changed rows with their facets, few enough to follow one by one."""


class ScoreColumn:
    """One plugin's raw and weighted scores over all rows, shape ``(size,)``. Rows that are not feasible hold anything."""

    def __init__(self, plugin: ScorePlugin, weight: int, state: CycleState, pod: PodInfo) -> None:
        self.plugin = plugin
        self.weight = weight
        self.facets = facets_of(plugin)
        self._row_view = row_view_of(type(plugin))
        self._has_token = type(plugin).token is not ScorePlugin.token
        self._normalizer = plugin if isinstance(plugin, NormalizePlugin) else None
        self._state = state
        self._pod = pod
        self._token: tuple[int, ...] = ()
        self._extrema = Extrema()
        self._keep(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def _keep(self, raw: IntArray, weighted: IntArray) -> None:
        self.raw, self.weighted = raw, weighted
        self._raw_cells, self.weighted_cells = raw.data, weighted.data

    def resize(self, size: int) -> None:
        """Make room for new rows; what they hold is worked out when they are scored."""
        if size != len(self.raw):
            grown = [np.zeros(size, dtype=np.int64) for _ in range(2)]
            grown[0][: len(self.raw)] = self.raw[:size]
            grown[1][: len(self.weighted)] = self.weighted[:size]
            self._keep(*grown)

    def score(self, table: NodeTable, changes: Changes | None, few: Few | None, was: BoolArray, now: BoolArray) -> bool:
        """Score what changed, or all when that is not known or an input beyond the row changed.

        Args:
            few: the changes as pairs, when there are few.
            was: the feasible rows when this was last called, shape as ``now``.
            now: the feasible rows.

        Returns:
            Whether every final score may be another: all were scored, or an extremum moved.
        """
        try:
            if self._normalizer is None:
                return self._score(table, changes, few, was, now)
            before = self._extrema.values
            whole = self._score(table, changes, few, was, now)
        except Exception as error:
            text = f'running Score plugins: plugin "{self.plugin.name}" failed with: {error}'
            raise PluginFailure(text, self.plugin.name, Stage.SCORE) from error
        if whole or self._extrema.is_lost:
            self._extrema.find(self.raw, now)
        return whole or self._extrema.values != before

    def _score(
        self, table: NodeTable, changes: Changes | None, few: Few | None, was: BoolArray, now: BoolArray
    ) -> bool:
        plugin, state, pod = self.plugin, self._state, self._pod
        token = plugin.token(state, pod, table.columns(plugin)) if self._has_token else ()
        if changes is None or token != self._token:
            self._token = token
            self.raw[:] = plugin.score(state, pod, table.columns(plugin))
            return True
        if few is None:
            rows = rows_for(changes, self.facets)
            if len(rows):
                self.raw[rows] = plugin.score(state, pod, table.columns(plugin, rows))
            if self._normalizer is not None:
                # So many rows can have moved an extremum in ways that are dearer to follow than to look for.
                self._extrema.find(self.raw, now)
            return False
        cells, extrema = self._raw_cells, self._extrema
        for row, facets in few:
            score: Any = cells[row]
            old = score
            if facets & self.facets:
                score = plugin.score(state, pod, self._row_view(table, row))
                cells[row] = score
            if self._normalizer is not None:
                left, entered = was[row], now[row]
                if left and entered and score == old:
                    continue
                if left:
                    extrema.leave(old)
                if entered:
                    extrema.enter(score)
        return False

    def normalized(self, rows: IntArray | None) -> IntArray:
        """The final scores of these rows, or of all."""
        return self._normalize(self.raw if rows is None else self.raw[rows], *self._extrema.values)

    def normalized_over(self, feasible: BoolArray) -> IntArray:
        """The final scores of all rows if these were the feasible ones; nothing is kept of it."""
        extrema = Extrema()
        if self._normalizer is not None:
            extrema.find(self.raw, feasible)
        return self._normalize(self.raw, *extrema.values)

    def normalized_row(self, row: int) -> int:
        """The final score of one row."""
        raw: int = self._raw_cells[row]
        if self._normalizer is None:
            return raw
        try:
            final = self._normalizer.normalize(self._state, self._pod, raw, *self._extrema.values)
        except Exception as error:
            raise self._normalize_failed(error) from error
        return int(final)

    def _normalize(self, raw: IntArray, low: int, high: int) -> IntArray:
        if self._normalizer is None:
            return raw
        try:
            return np.asarray(self._normalizer.normalize(self._state, self._pod, raw, low, high), dtype=np.int64)
        except Exception as error:
            raise self._normalize_failed(error) from error

    def _normalize_failed(self, error: Exception) -> PluginFailure:
        text = f'running Normalize on Score plugins: plugin "{self.plugin.name}" failed with: {error}'
        return PluginFailure(text, self.plugin.name, Stage.NORMALIZE)

    def check(self, scores: IntArray, feasible: BoolArray) -> None:
        """Raises: PluginFailure, when a final score of a feasible row lies outside 0..100."""
        # Mostly none does, of any row: to see that takes a fifth of the time.
        if not len(scores) or (scores.min() >= 0 and scores.max() <= MAX_NODE_SCORE):
            return
        scores = scores[feasible]
        wrong = scores[(scores < 0) | (scores > MAX_NODE_SCORE)]
        if len(wrong):
            raise self.out_of_range(int(wrong[0]))

    def out_of_range(self, score: int) -> PluginFailure:
        text = (
            f'applying score defaultWeights on Score plugins: plugin "{self.plugin.name}" returns an invalid score '
            f"{score}, it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
        )
        return PluginFailure(text, self.plugin.name, Stage.NORMALIZE)


class Scoring:
    """Scores of all Score plugins that did not skip, and their sum.

    As in kube-scheduler 1.37 (RunScorePlugins) all plugins score before any is normalised, and all are normalised before
    any is weighed. After a failure a Scoring is of no use any more.
    """

    def __init__(self, columns: list[ScoreColumn]) -> None:
        self.columns = columns
        self._was: BoolArray = np.zeros(0, dtype=np.bool_)
        self._position = -1
        self._keep(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def _keep(self, totals: IntArray, keyed: IntArray) -> None:
        self.totals = totals
        self.keyed = keyed
        """Per row ``total * 2**31 + tie key``, BELOW_ALL where it is not feasible: its maximum is the choice."""
        self._total_cells, self._keyed_cells = totals.data, keyed.data

    def refresh(self, table: NodeTable, feasible: BoolArray) -> None:
        """Bring raw scores, normalisation and totals up to date with the table and the feasible rows.

        Raises:
            PluginFailure: a plugin failed.
        """
        changes = table.changes_since(self._position) if self._position >= 0 else None
        if changes is not None and not len(changes.rows):
            return
        self._position = table.position
        self._resize(table.size)
        few: Few | None = None
        if changes is not None and len(changes.rows) <= FEW_ROWS:
            few = tuple(zip(changes.rows.tolist(), changes.facets.tolist(), strict=True))
        whole = changes is None
        for column in self.columns:
            whole = column.score(table, changes, few, self._was, feasible) or whole
        if changes is None or whole:
            self._finish_all(table, feasible)
        elif few is None:
            self._finish_rows(table, feasible, changes.rows)
        else:
            self._finish_few(table, feasible, few)

    def _resize(self, size: int) -> None:
        if len(self.totals) != size:
            for column in self.columns:
                column.resize(size)
            was = np.zeros(size, dtype=np.bool_)
            was[: len(self._was)] = self._was[:size]
            self._was = was
            grown = [np.zeros(size, dtype=np.int64), np.full(size, BELOW_ALL, dtype=np.int64)]
            grown[0][: len(self.totals)] = self.totals[:size]
            grown[1][: len(self.keyed)] = self.keyed[:size]
            self._keep(*grown)

    def _finish_all(self, table: NodeTable, feasible: BoolArray) -> None:
        self._was[:] = feasible
        finals = [column.normalized(None) for column in self.columns]
        self.totals[:] = 0
        for column, final in zip(self.columns, finals, strict=True):
            column.check(final, feasible)
            np.multiply(final, column.weight, out=column.weighted)
            self.totals += column.weighted
        self.keyed[:] = keyed_by(table, self.totals, feasible)

    def _finish_rows(self, table: NodeTable, feasible: BoolArray, rows: IntArray) -> None:
        fits = feasible[rows]
        self._was[rows] = fits
        finals = [column.normalized(rows) for column in self.columns]
        totals = np.zeros(len(rows), dtype=np.int64)
        for column, final in zip(self.columns, finals, strict=True):
            column.check(final, fits)
            column.weighted[rows] = final * column.weight
            totals += column.weighted[rows]
        self.totals[rows] = totals
        self.keyed[rows] = np.where(fits, (totals << TIE_KEY_BITS) + table.tie_keys[rows], BELOW_ALL)

    def _finish_few(self, table: NodeTable, feasible: BoolArray, few: Few) -> None:
        for row, _ in few:
            fits = bool(feasible[row])
            self._was[row] = fits
            total = 0
            for column in self.columns:
                final = column.normalized_row(row)
                if fits and not 0 <= final <= MAX_NODE_SCORE:
                    raise column.out_of_range(final)
                weighted = final * column.weight
                column.weighted_cells[row] = weighted
                total += weighted
            self._total_cells[row] = total
            self._keyed_cells[row] = (total << TIE_KEY_BITS) + table.tie_key(row) if fits else BELOW_ALL

    def totals_over(self, feasible: BoolArray) -> IntArray:
        """The totals of all rows if these were the feasible ones; nothing is kept of it."""
        totals = np.zeros(len(feasible), dtype=np.int64)
        for column in self.columns:
            final = column.normalized_over(feasible)
            column.check(final, feasible)
            totals += final * column.weight
        return totals


def keyed_by(table: NodeTable, totals: IntArray, feasible: BoolArray) -> IntArray:
    """``total * 2**31 + tie key`` of the feasible rows, BELOW_ALL elsewhere."""
    return np.where(feasible, (totals << TIE_KEY_BITS) + table.tie_keys, BELOW_ALL)
