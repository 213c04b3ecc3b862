"""The Score half of an evaluation: raw scores, normalised over the feasible rows, weighted and summed up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from scheduler.cache.node_table import Changes, NodeTable
from scheduler.cache.views import row_view_of
from scheduler.framework.facet import Input
from scheduler.framework.ops import BoolArray, IntArray
from scheduler.framework.plugin import MAX_NODE_SCORE, CycleState, NormalizePlugin, PreScorePlugin, ScorePlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code
from scheduler.framework.view import NodeView
from scheduler.profile.extrema import Extrema
from scheduler.profile.failure import PluginFailure, Stage
from scheduler.profile.filtering import (
    Few,
    Filtering,
    TouchedBy,
    facets_of,
    few_or_many,
    input_facets_of,
    rows_for,
    with_rows,
)

TIE_KEY_BITS = 31
BELOW_ALL = np.iinfo(np.int64).min
"""Stands for a row that is not feasible; a total can be negative, as weights can."""


class ScoreColumn:
    """One plugin's raw and weighted scores over all rows, shape ``(size,)``. Rows that are not feasible hold anything."""

    def __init__(
        self,
        plugin: ScorePlugin,
        weight: int,
        state: CycleState,
        pod: PodInfo,
        table: NodeTable,
        pre_score: PreScorePlugin | None = None,
        *,
        skipped: bool = False,
    ) -> None:
        self.plugin = plugin
        self.weight = weight
        self.facets = facets_of(plugin)
        self.input_facets = input_facets_of(plugin)
        """A change of these, of any row, can be one of the inputs beyond the row."""
        self.reads_feasible = Input.FEASIBLE in plugin.inputs
        self.skipped = skipped
        """PreScore has nothing for Score to look at: the plugin gives no scores."""
        self.normalizer = plugin if isinstance(plugin, NormalizePlugin) else None
        # Made once: for one changed row that takes longer than many a rule.
        self._row = row_view_of(type(plugin))(table)
        self._state = state
        self._pod = pod
        self._pre_score = pre_score
        self._token: tuple[int, ...] = ()
        self._extrema = Extrema()
        self._settled = self._extrema.values
        self._keep(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def _keep(self, raw: IntArray, weighted: IntArray) -> None:
        self.raw, self.weighted = raw, weighted
        self.raw_cells, self.weighted_cells = raw.data, weighted.data

    def resize(self, size: int) -> None:
        """Make room for new rows; what they hold is worked out when they are scored."""
        if size != len(self.raw):
            grown = [np.zeros(size, dtype=np.int64) for _ in range(2)]
            grown[0][: len(self.raw)] = self.raw[:size]
            grown[1][: len(self.weighted)] = self.weighted[:size]
            self._keep(*grown)

    def score_all(self, table: NodeTable, feasible: BoolArray) -> None:
        """Score every row, PreScore having run."""
        try:
            self._token = self._token_now(table, feasible)
            if self.skipped:
                self.raw[:] = 0
            else:
                self.raw[:] = self.plugin.score(self._state, self._pod, table.columns(self.plugin, feasible=feasible))
        except Exception as error:
            raise self._failed(error) from error
        self._extrema.lose()
        self.settle(feasible)

    def has_new_inputs(self, table: NodeTable, feasible: BoolArray) -> bool:
        """Whether an input beyond the row changed since all rows were scored; that of Input.FEASIBLE is not looked at."""
        try:
            return self._token_now(table, feasible) != self._token
        except Exception as error:
            raise self._failed(error) from error

    def _token_now(self, table: NodeTable, feasible: BoolArray) -> tuple[int, ...]:
        if not self.input_facets:
            return ()
        return self.plugin.score_token(self._state, self._pod, table.columns(self.plugin, feasible=feasible))

    def run_pre_score(self, table: NodeTable, feasible: BoolArray) -> None:
        """Ask PreScore, if the plugin takes part in it, whether there is something to score.

        Raises:
            PluginFailure: it failed.
        """
        if self._pre_score is not None:
            self.skipped = is_skipped(self._pre_score, self._state, self._pod, table, feasible)

    def score_rows(self, table: NodeTable, changes: Changes) -> None:
        """Score the changed rows; ``settle`` is due."""
        rows = rows_for(changes, self.facets)
        if len(rows) and not self.skipped:
            try:
                self.raw[rows] = self.plugin.score(self._state, self._pod, table.columns(self.plugin, rows))
            except Exception as error:
                raise self._failed(error) from error
        # So many rows can have moved an extremum in ways that are dearer to follow than to look for.
        self._extrema.lose()

    def score_row(self, table: NodeTable, row: int, facets: int, was: bool, now: bool) -> bool:
        """Score a changed row, and follow what that and its being feasible do to the extrema; whether ``settle`` is due."""
        score: Any = self.raw_cells[row]
        old = score
        if facets & self.facets and not self.skipped:
            try:
                score = self.plugin.score(self._state, self._pod, self._row.at(row))
                self.raw_cells[row] = score
            except Exception as error:
                raise self._failed(error) from error
        if self.normalizer is None or (was == now and score == old):
            return False
        if was:
            self._extrema.leave(old)
        if now:
            self._extrema.enter(score)
        return True

    def settle(self, now: BoolArray) -> bool:
        """Take the extrema as they are now; whether one moved, so that every final score may be another.

        Args:
            now: the feasible rows.
        """
        if self.normalizer is None:
            return False
        if self._extrema.is_lost:
            self._extrema.find(self.raw, now)
        before, self._settled = self._settled, self._extrema.values
        return self._settled != before

    def _failed(self, error: Exception) -> PluginFailure:
        text = f'running Score plugins: plugin "{self.plugin.name}" failed with: {error}'
        return PluginFailure(text, self.plugin.name, Stage.SCORE)

    def normalized(self, table: NodeTable, rows: IntArray | None) -> IntArray:
        """The final scores of these rows, or of all."""
        raw = self.raw if rows is None else self.raw[rows]
        if self.normalizer is None or self.skipped:
            return raw
        return self._normalize(table.columns(self.plugin, rows), raw, *self._extrema.values)

    def normalized_over(self, table: NodeTable, feasible: BoolArray) -> IntArray:
        """The final scores of all rows if these were the feasible ones; nothing is kept of it."""
        if self.normalizer is None or self.skipped:
            return self.raw
        extrema = Extrema()
        extrema.find(self.raw, feasible)
        return self._normalize(table.columns(self.plugin), self.raw, *extrema.values)

    def normalized_row(self, table: NodeTable, row: int) -> int:
        """The final score of one row, of a plugin that normalizes."""
        assert self.normalizer is not None
        raw: int = self.raw_cells[row]
        if self.skipped:
            return raw
        nodes = self._row.at(row)
        try:
            final = self.normalizer.normalize(self._state, self._pod, nodes, raw, *self._extrema.values)
        except Exception as error:
            raise self._normalize_failed(error) from error
        return int(final)

    def _normalize(self, nodes: NodeView, raw: IntArray, low: int, high: int) -> IntArray:
        assert self.normalizer is not None
        try:
            final = self.normalizer.normalize(self._state, self._pod, nodes, raw, low, high)
            return np.asarray(final, dtype=np.int64)
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


def is_skipped(plugin: PreScorePlugin, state: CycleState, pod: PodInfo, table: NodeTable, feasible: BoolArray) -> bool:
    """Run PreScore of one plugin; whether it leaves nothing to score (kube-scheduler 1.37: RunPreScorePlugins).

    Raises:
        PluginFailure: it failed.
    """
    try:
        status = plugin.pre_score(state, pod, table.columns(plugin, feasible=feasible))
    except Exception as error:
        raise _pre_score_failed(plugin, str(error)) from error
    if status.code not in (Code.SUCCESS, Code.SKIP):
        raise _pre_score_failed(plugin, status.message)
    return status.code is Code.SKIP


def _pre_score_failed(plugin: PreScorePlugin, message: str) -> PluginFailure:
    return PluginFailure(f'running PreScore plugin "{plugin.name}": {message}', plugin.name, Stage.PRE_SCORE)


class Scoring:
    """Scores of all Score plugins that did not skip, and their sum.

    As in kube-scheduler 1.37 (RunScorePlugins) all plugins score before any is normalised, and all are normalised before
    any is weighed. After a failure a Scoring is of no use any more.
    """

    def __init__(self, columns: Iterable[ScoreColumn]) -> None:
        self.columns = tuple(columns)
        self._input_facets = 0
        for column in self.columns:
            self._input_facets |= column.input_facets
        self._reads_feasible = any(column.reads_feasible for column in self.columns)
        self._touched_by = TouchedBy(self.columns)
        self._is_old = False
        """Rows were scored before, so that PreScore was not run just now."""
        self._position = -1
        self._feasible_version = -1
        self._keep(np.zeros(0, np.bool_), np.zeros(0, np.int64), np.zeros(0, np.int64))

    def _keep(self, was: BoolArray, totals: IntArray, keyed: IntArray) -> None:
        self._was = was
        """The feasible rows as of the last refresh."""
        self.totals = totals
        self.keyed = keyed
        """Per row ``total * 2**31 + tie key``, BELOW_ALL where it is not feasible: its maximum is the choice."""
        self._was_cells: Any = was.data
        self._total_cells, self._keyed_cells = totals.data, keyed.data

    def refresh(self, table: NodeTable, filtering: Filtering) -> None:
        """Bring raw scores, normalisation and totals up to date with the table and the feasible rows.

        Raises:
            PluginFailure: a plugin failed.
        """
        changes = few_or_many(table, self._position)
        moved = self._feasible_version != filtering.feasible_version
        if not moved and changes is not None and not isinstance(changes, Changes) and not changes:
            return
        self._position = table.position
        self._feasible_version = filtering.feasible_version
        self._resize(table.size)
        if moved and changes is not None and filtering.input_facets:
            # A node that nothing happened to can enter or leave as well.
            changes = with_rows(changes, np.flatnonzero(self._was != filtering.feasible))
        if changes is None:
            if self._is_old:
                for column in self.columns:
                    column.run_pre_score(table, filtering.feasible)
            self._is_old = True
            for column in self.columns:
                column.score_all(table, filtering.feasible)
            self._finish_all(table, filtering.feasible)
        elif isinstance(changes, Changes):
            self._refresh_rows(table, filtering.feasible, changes, moved)
        else:
            self._refresh_few(table, filtering, changes, moved)

    def _refresh_rows(self, table: NodeTable, feasible: BoolArray, changes: Changes, moved: bool) -> None:
        renewed = self._renew(table, feasible, int(np.bitwise_or.reduce(changes.facets)), moved)
        whole = bool(renewed)
        for column in self.columns:
            if column not in renewed:
                column.score_rows(table, changes)
                whole = column.settle(feasible) or whole
        if whole:
            self._finish_all(table, feasible)
        else:
            self._finish_rows(table, feasible, changes.rows)

    def _refresh_few(self, table: NodeTable, filtering: Filtering, few: Few, moved: bool) -> None:
        seen = 0
        for _, facets in few:
            seen |= facets
        renewed: Sequence[ScoreColumn] = ()
        if seen & self._input_facets or (moved and self._reads_feasible):
            renewed = self._renew(table, filtering.feasible, seen, moved)
        touched: list[tuple[int, bool, tuple[ScoreColumn, ...]]] = []
        is_due = False
        for row, facets in few:
            was, now = self._was_cells[row], filtering.feasible_cells[row]
            columns = self._touched_by[facets] if was == now else self.columns
            for column in columns:
                if column not in renewed:
                    is_due = column.score_row(table, row, facets, was, now) or is_due
            touched.append((row, now, columns))
        whole = bool(renewed)
        if is_due:
            for column in self.columns:
                whole = column.settle(filtering.feasible) or whole
        if whole:
            self._finish_all(table, filtering.feasible)
        else:
            self._finish_few(table, touched)

    def _renew(self, table: NodeTable, feasible: BoolArray, facets: int, moved: bool) -> list[ScoreColumn]:
        """Score every row of the columns of which an input beyond the row has changed, and say which they are.

        Args:
            facets: all that changed, of any row.
            moved: the feasible rows are others.
        """
        renewed = [
            one
            for one in self.columns
            if (moved and one.reads_feasible) or (facets & one.input_facets and one.has_new_inputs(table, feasible))
        ]
        for column in renewed:
            column.run_pre_score(table, feasible)
        for column in renewed:
            column.score_all(table, feasible)
        return renewed

    def _resize(self, size: int) -> None:
        if len(self.totals) != size:
            for column in self.columns:
                column.resize(size)
            was = np.zeros(size, dtype=np.bool_)
            was[: len(self._was)] = self._was[:size]
            grown = [np.zeros(size, dtype=np.int64), np.full(size, BELOW_ALL, dtype=np.int64)]
            grown[0][: len(self.totals)] = self.totals[:size]
            grown[1][: len(self.keyed)] = self.keyed[:size]
            self._keep(was, *grown)

    def _finish_all(self, table: NodeTable, feasible: BoolArray) -> None:
        self._was[:] = feasible
        finals = [column.normalized(table, None) for column in self.columns]
        self.totals[:] = 0
        for column, final in zip(self.columns, finals, strict=True):
            column.check(final, feasible)
            np.multiply(final, column.weight, out=column.weighted)
            self.totals += column.weighted
        self.keyed[:] = keyed_by(table, self.totals, feasible)

    def _finish_rows(self, table: NodeTable, feasible: BoolArray, rows: IntArray) -> None:
        fits = feasible[rows]
        self._was[rows] = fits
        finals = [column.normalized(table, rows) for column in self.columns]
        totals = np.zeros(len(rows), dtype=np.int64)
        for column, final in zip(self.columns, finals, strict=True):
            column.check(final, fits)
            column.weighted[rows] = final * column.weight
            totals += column.weighted[rows]
        self.totals[rows] = totals
        self.keyed[rows] = np.where(fits, (totals << TIE_KEY_BITS) + table.tie_keys[rows], BELOW_ALL)

    def _finish_few(self, table: NodeTable, touched: list[tuple[int, bool, tuple[ScoreColumn, ...]]]) -> None:
        for row, fits, columns in touched:
            self._was_cells[row] = fits
            total = self._total_cells[row]
            for column in columns:
                final = column.raw_cells[row] if column.normalizer is None else column.normalized_row(table, row)
                if fits and not 0 <= final <= MAX_NODE_SCORE:
                    raise column.out_of_range(final)
                weighted = final * column.weight
                total += weighted - column.weighted_cells[row]
                column.weighted_cells[row] = weighted
            self._total_cells[row] = total
            self._keyed_cells[row] = (total << TIE_KEY_BITS) + table.tie_key(row) if fits else BELOW_ALL

    def totals_over(self, table: NodeTable, feasible: BoolArray) -> IntArray:
        """The totals of all rows if these were the feasible ones; nothing is kept of it."""
        totals = np.zeros(len(feasible), dtype=np.int64)
        for column in self.columns:
            final = column.normalized_over(table, feasible)
            column.check(final, feasible)
            totals += final * column.weight
        return totals


def keyed_by(table: NodeTable, totals: IntArray, feasible: BoolArray) -> IntArray:
    """``total * 2**31 + tie key`` of the feasible rows, BELOW_ALL elsewhere."""
    return np.where(feasible, (totals << TIE_KEY_BITS) + table.tie_keys, BELOW_ALL)
