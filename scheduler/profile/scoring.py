"""The Score half of an evaluation: raw scores, normalised over the feasible rows, weighted and summed up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from scheduler.cache.node_table import Changes, NodeTable
from scheduler.framework.ops import BoolArray, IntArray
from scheduler.framework.plugin import MAX_NODE_SCORE
from scheduler.profile.changed_rows import FEW_ROWS, Few, TouchedBy, merged
from scheduler.profile.filtering import Filtering
from scheduler.profile.score_column import ScoreColumn

TIE_KEY_BITS = 31
_LEFT = 1 << 62
"""Beside the facets that changed: the row is feasible no more."""
BELOW_ALL = np.iinfo(np.int64).min
"""Stands for a row that is not feasible; a total can be negative, as weights can."""
_HIGHEST = 1 << 62
"""What extenders can bring a total up or down to."""


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
        self._normalizing = tuple(column for column in self.columns if column.normalizer is not None)
        self._is_sound = True
        """No row, feasible or not, is known to have a final score outside 0..100."""
        self._reads_feasible = any(column.reads_feasible for column in self.columns)
        self._touched_by = TouchedBy(self.columns, lambda column: column.facets)
        self._left_by = TouchedBy(self.columns, lambda column: column.facets | (_LEFT if column.normalizer else 0))
        self._informed_by = TouchedBy(self.columns, lambda column: column.input_facets)
        self._is_old = False
        """Rows were scored before, so that PreScore was not run just now."""
        self._position = -1
        self._feasible_version = -1
        self._keep(np.zeros(0, np.bool_), *(np.zeros(0, np.int64) for _ in range(3)))

    def _keep(self, was: BoolArray, totals: IntArray, ranks: IntArray, keyed: IntArray) -> None:
        self._was = was
        """The feasible rows as of the last refresh."""
        self.totals = totals
        self._ranks = ranks
        """Per row ``total * 2**31 + tie key``, whether it is feasible or not."""
        self.keyed = keyed
        """The same, BELOW_ALL where it is not feasible: its maximum is the choice."""
        self._was_cells: Any = was.data
        self._total_cells, self._rank_cells, self._keyed_cells = totals.data, ranks.data, keyed.data

    def observe(self) -> None:
        """Call the plugins as their observer wants it now."""
        for column in self.columns:
            column.observe()

    def refresh(self, table: NodeTable, filtering: Filtering) -> None:
        """Bring raw scores, normalisation and totals up to date with the table and the feasible rows.

        Raises:
            PluginFailure: a plugin failed.
        """
        changes = filtering.changes_since(table, self._position)
        moved = self._feasible_version != filtering.feasible_version
        if not moved and changes is not None and not isinstance(changes, Changes) and not changes:
            return
        self._position = table.position
        turned = filtering.turned_since(self._feasible_version)
        self._feasible_version = filtering.feasible_version
        self._resize(table.size)
        is_crowd = False
        if moved and changes is not None and filtering.input_facets:
            # A node that nothing happened to can enter or leave as well.
            if turned is None:
                others = self._was != filtering.feasible
                count = int(np.count_nonzero(others))
                turned = np.flatnonzero(others).tolist() if count <= FEW_ROWS else None
            if turned is not None and not isinstance(changes, Changes):
                changes = merged(changes, turned)
            else:
                is_crowd = turned is None or bool(turned)
        if changes is None:
            if self._is_old:
                for column in self.columns:
                    column.run_pre_score(table, filtering.feasible)
            self._is_old = True
            for column in self.columns:
                column.score_all(table, filtering.feasible)
            self._finish_all(table, filtering.feasible)
        elif isinstance(changes, Changes):
            self._refresh_rows(table, filtering.feasible, changes, moved, is_crowd=is_crowd)
        else:
            self._refresh_few(table, filtering, changes, moved, is_crowd=is_crowd)

    def _refresh_rows(
        self, table: NodeTable, feasible: BoolArray, changes: Changes, moved: bool, *, is_crowd: bool
    ) -> None:
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
            if is_crowd:
                self._take_feasible(table, feasible)

    def _refresh_few(self, table: NodeTable, filtering: Filtering, few: Few, moved: bool, *, is_crowd: bool) -> None:
        seen = 0
        for _, facets in few:
            seen |= facets
        renewed: Sequence[ScoreColumn] = ()
        if seen & self._input_facets or (moved and self._reads_feasible):
            renewed = self._renew(table, filtering.feasible, seen, moved)
        touched: list[tuple[int, bool, tuple[ScoreColumn, ...]]] = []
        due: Sequence[ScoreColumn] = ()
        for row, facets in few:
            was, now = self._was_cells[row], filtering.feasible_cells[row]
            columns = self._touched_by[facets]
            if was != now:
                # What a row that enters holds is anything; of one that leaves it only matters what is normalised over.
                columns = self.columns if now else self._left_by[facets | _LEFT]
            for column in columns:
                if column not in renewed and column.score_row(table, row, facets, was, now):
                    due = (*due, column)
            touched.append((row, now, columns))
        whole = list(renewed)
        if is_crowd:
            for column in self._normalizing:
                column.shift_extrema()
            due = self._normalizing
        for column in due:
            if column.settle(filtering.feasible) and column not in whole:
                whole.append(column)
        self._finish_few(table, touched, whole)
        if whole:
            self._finish_columns(table, filtering.feasible, whole)
        elif is_crowd:
            self._take_feasible(table, filtering.feasible)

    def _renew(self, table: NodeTable, feasible: BoolArray, facets: int, moved: bool) -> list[ScoreColumn]:
        """Score every row of the columns of which an input beyond the row has changed.

        Returns those of them that can have other scores now: not those that had and have none.

        Args:
            facets: all that changed, of any row.
            moved: the feasible rows are others.
        """
        renewed = [
            one
            for one in (self.columns if moved else self._informed_by[facets])
            if (moved and one.reads_feasible) or (facets & one.input_facets and one.has_new_inputs())
        ]
        scored = []
        for column in renewed:
            was_skipped = column.skipped
            column.run_pre_score(table, feasible)
            if not (was_skipped and column.skipped):
                scored.append(column)
        for column in renewed:
            if column in scored:
                column.score_all(table, feasible)
            else:
                column.note_inputs()
        return scored

    def _resize(self, size: int) -> None:
        if len(self.totals) != size:
            for column in self.columns:
                column.resize(size)
            was = np.zeros(size, dtype=np.bool_)
            was[: len(self._was)] = self._was[:size]
            grown = [np.full(size, fill, np.int64) for fill in (0, BELOW_ALL, BELOW_ALL)]
            for old, new in zip((self.totals, self._ranks, self.keyed), grown, strict=True):
                new[: len(old)] = old[:size]
            self._keep(was, *grown)

    def _finish_all(self, table: NodeTable, feasible: BoolArray) -> None:
        self._was[:] = feasible
        self._is_sound = True
        counting = [column for column in self.columns if not column.is_zero]
        for column in self.columns:
            if column.is_zero:
                column.weighted[:] = 0
        finals = [column.normalized(table, None) for column in counting]
        self.totals[:] = 0
        for column, final in zip(counting, finals, strict=True):
            self._is_sound = column.check(final, feasible) and self._is_sound
            np.multiply(final, column.weight, out=column.weighted)
            self.totals += column.weighted
        self._rank(table, feasible)

    def _take_feasible(self, table: NodeTable, feasible: BoolArray) -> None:
        """Many rows entered or left, and have the scores that they had."""
        if not self._is_sound:
            self._finish_all(table, feasible)  # a score that was nobody's may be that of a feasible row now
            return
        self._was[:] = feasible
        mask_ranks(self._ranks, feasible, out=self.keyed)

    def _rank(self, table: NodeTable, feasible: BoolArray) -> None:
        np.left_shift(self.totals, TIE_KEY_BITS, out=self._ranks)
        self._ranks += table.tie_keys
        mask_ranks(self._ranks, feasible, out=self.keyed)

    def _finish_columns(self, table: NodeTable, feasible: BoolArray, columns: Sequence[ScoreColumn]) -> None:
        """Every row of these columns has other final scores; the others have theirs already."""
        if not self._is_sound:
            self._finish_all(table, feasible)
            return
        finals = [column.normalized(table, None) for column in columns]
        for column, final in zip(columns, finals, strict=True):
            self._is_sound = column.check(final, feasible) and self._is_sound
            weighted = final if column.weight == 1 else final * column.weight
            self.totals += weighted
            self.totals -= column.weighted
            column.weighted[:] = weighted
        self._was[:] = feasible
        self._rank(table, feasible)

    def _finish_rows(self, table: NodeTable, feasible: BoolArray, rows: IntArray) -> None:
        fits = feasible[rows]
        self._was[rows] = fits
        finals = [column.normalized(table, rows) for column in self.columns]
        totals = np.zeros(len(rows), dtype=np.int64)
        for column, final in zip(self.columns, finals, strict=True):
            self._is_sound = column.check(final, fits) and self._is_sound
            column.weighted[rows] = final * column.weight
            totals += column.weighted[rows]
        self.totals[rows] = totals
        ranks = self._ranks[rows] = (totals << TIE_KEY_BITS) + table.tie_keys[rows]
        self.keyed[rows] = np.where(fits, ranks, BELOW_ALL)

    def _finish_few(
        self,
        table: NodeTable,
        touched: list[tuple[int, bool, tuple[ScoreColumn, ...]]],
        without: Sequence[ScoreColumn],
    ) -> None:
        for row, fits, columns in touched:
            self._was_cells[row] = fits
            total = self._total_cells[row]
            for column in columns:
                if column in without:
                    continue
                final = column.raw_cells[row] if column.normalizer is None else column.normalized_row(table, row)
                if not 0 <= final <= MAX_NODE_SCORE:
                    self._is_sound = False
                    if fits:
                        raise column.out_of_range(final)
                    final = 0  # it may not fit in 64 bits, and counts for nobody until it is worked out again
                weighted = final * column.weight
                total += weighted - column.weighted_cells[row]
                column.weighted_cells[row] = weighted
            self._total_cells[row] = total
            rank = self._rank_cells[row] = (total << TIE_KEY_BITS) + table.tie_key(row)
            self._keyed_cells[row] = rank if fits else BELOW_ALL

    def best_over(self, table: NodeTable, feasible: BoolArray) -> int:
        """The choice if these, at least one, were the feasible rows."""
        ranks = (self.totals_over(table, feasible) << TIE_KEY_BITS) + table.tie_keys
        mask_ranks(ranks, feasible, out=ranks)
        return int(ranks.argmax())

    def best_with(self, table: NodeTable, feasible: BoolArray, extra: Mapping[int, int]) -> int:
        """As ``best_over``, with something added to the totals of some rows, which may be more than their rank has room for."""
        totals = self.totals_over(table, feasible)
        for row, score in extra.items():
            totals[row] = max(-_HIGHEST, min(int(totals[row]) + score, _HIGHEST))
        best = feasible & (totals == totals[feasible].max())
        ranks = table.tie_keys.copy()
        mask_ranks(ranks, best, out=ranks)
        return int(ranks.argmax())

    def totals_over(self, table: NodeTable, feasible: BoolArray) -> IntArray:
        """The totals of all rows if these were the feasible ones; nothing is kept of it."""
        totals = np.zeros(len(feasible), dtype=np.int64)
        for column in self.columns:
            final = column.normalized_over(table, feasible)
            column.check(final, feasible)
            totals += final * column.weight
        return totals


def mask_ranks(ranks: IntArray, feasible: BoolArray, out: IntArray) -> None:
    """Ranks of the feasible rows, BELOW_ALL elsewhere. Two thirds of the time of np.where."""
    out[:] = ranks
    np.putmask(out, ~feasible, BELOW_ALL)
