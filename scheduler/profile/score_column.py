"""ScoreColumn: what one Score plugin gives every row."""

from __future__ import annotations

from typing import Any

import numpy as np

from scheduler.cache.node_table import Changes, NodeTable
from scheduler.cache.views import row_view_of
from scheduler.framework.facet import Input
from scheduler.framework.ops import BoolArray, IntArray
from scheduler.framework.plugin import MAX_NODE_SCORE, CycleState, NormalizePlugin, PreScorePlugin, ScorePlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code, check_status
from scheduler.framework.view import NodeView
from scheduler.profile.changed_rows import facets_of, input_facets_of, rows_for
from scheduler.profile.column_answers import column_of
from scheduler.profile.extrema import Extrema
from scheduler.profile.failure import PluginFailure, Stage
from scheduler.profile.observing import NOBODY, Method, Observer


class ScoreColumn:
    """One plugin's raw and weighted scores over all rows, shape ``(size,)``. Rows that are not feasible hold anything."""

    def __init__(  # noqa: PLR0913 - what one plugin of an evaluation works on
        self,
        plugin: ScorePlugin,
        weight: int,
        state: CycleState,
        pod: PodInfo,
        table: NodeTable,
        pre_score: PreScorePlugin | None = None,
        *,
        skipped: bool = False,
        observer: Observer = NOBODY,
    ) -> None:
        self.plugin = plugin
        self._observer = observer
        self._rows = observer.rows_of(plugin.name, Stage.SCORE)
        self.weight = weight
        self.facets = facets_of(plugin)
        inputs = plugin.score_inputs(state, pod)
        self.input_facets = input_facets_of(inputs)
        """A change of these, of any row, can be one of the inputs beyond the row."""
        self.reads_feasible = Input.FEASIBLE in inputs
        self.skipped = skipped
        """PreScore has nothing for Score to look at: the plugin gives no scores."""
        self.normalizer = plugin if isinstance(plugin, NormalizePlugin) else None
        self._method = Method(observer, plugin.name, Stage.SCORE, plugin.score)
        if self.normalizer is not None:
            self._normalize_method = Method(observer, plugin.name, Stage.NORMALIZE, self.normalizer.normalize)
        self.observe()
        # Made once: for one changed row that takes longer than many a rule.
        self._row = row_view_of(type(plugin))(table)
        self._inputs = table.columns(plugin)
        self._state = state
        self._pod = pod
        self._pre_score = pre_score
        self._token: tuple[int, ...] = ()
        self._extrema = Extrema()
        self._settled = self._extrema.values
        self.is_zero = False
        """Every final score is 0: nothing of it is left to weigh and to sum up."""
        self._keep(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def observe(self) -> None:
        """Call the plugin as the observer wants it now."""
        self._score = self._method.now()
        if self.normalizer is not None:
            self._final = self._normalize_method.now()

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
            self._token = self._token_now()
            if self.skipped:
                self.raw[:] = 0
            else:
                self._rows.count += table.size
                nodes = table.columns(self.plugin, feasible=feasible)
                self.raw[:] = column_of(self._score(self._state, self._pod, nodes), table.size)
        except Exception as error:
            raise self._failed(error) from error
        self.is_zero = self.skipped or (self.normalizer is None and not self.raw.any())
        self._extrema.lose()
        self.settle(feasible)

    def note_inputs(self) -> None:
        """The scores stay what they are with the inputs beyond the row as they are now."""
        try:
            self._token = self._token_now()
        except Exception as error:
            raise self._failed(error) from error

    def has_new_inputs(self) -> bool:
        """Whether an input beyond the row changed since all rows were scored; that of Input.FEASIBLE is not looked at."""
        try:
            return self._token_now() != self._token
        except Exception as error:
            raise self._failed(error) from error

    def _token_now(self) -> tuple[int, ...]:
        return self.plugin.score_token(self._state, self._pod, self._inputs) if self.input_facets else ()

    def run_pre_score(self, table: NodeTable, feasible: BoolArray) -> None:
        """Ask PreScore, if the plugin takes part in it, whether there is something to score.

        Raises:
            PluginFailure: it failed.
        """
        if self._pre_score is not None:
            self.skipped = is_skipped(self._pre_score, self._state, self._pod, table, feasible, observer=self._observer)

    def score_rows(self, table: NodeTable, changes: Changes) -> None:
        """Score the changed rows; ``settle`` is due."""
        rows = rows_for(changes, self.facets)
        if len(rows) and not self.skipped:
            self._rows.count += len(rows)
            try:
                nodes = table.columns(self.plugin, rows)
                self.raw[rows] = column_of(self._score(self._state, self._pod, nodes), len(rows))
            except Exception as error:
                raise self._failed(error) from error
            self.is_zero = self.is_zero and not self.raw[rows].any()
        # So many rows can have moved an extremum in ways that are dearer to follow than to look for.
        self._extrema.lose()

    def score_row(self, table: NodeTable, row: int, facets: int, was: bool, now: bool) -> bool:
        """Score a changed row, and follow what that and its being feasible do to the extrema; whether ``settle`` is due."""
        score: Any = self.raw_cells[row]
        old = score
        if facets & self.facets and not self.skipped:
            self._rows.count += 1
            try:
                score = self._score(self._state, self._pod, self._row.at(row))
                self.raw_cells[row] = score
                if score != old:
                    self._extrema.differ()
                    self.is_zero = False
            except Exception as error:
                raise self._failed(error) from error
        if self.normalizer is None or self.skipped or (was == now and score == old):
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
        if self.normalizer is None or self.skipped:
            return False
        if self._extrema.is_lost:
            self._extrema.find(self.raw, now, is_counted=not self.input_facets)
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
        return self._normalize(self._state, table.columns(self.plugin, rows), raw, *self._extrema.values)

    def normalized_over(self, table: NodeTable, feasible: BoolArray) -> IntArray:
        """The final scores of all rows if these were the feasible ones; nothing is kept of it."""
        state, raw, skipped = self._state, self.raw, self.skipped
        if self.reads_feasible:
            state, raw, skipped = self._scored_over(table, feasible)
        if self.normalizer is None or skipped:
            return raw
        extrema = Extrema()
        extrema.find(raw, feasible, is_counted=False)
        return self._normalize(state, table.columns(self.plugin), raw, *extrema.values)

    def _scored_over(self, table: NodeTable, feasible: BoolArray) -> tuple[CycleState, IntArray, bool]:
        """Notebook and raw scores of all rows if these were the feasible ones, and whether PreScore skips them."""
        state = dict(self._state)
        if self._pre_score is not None and is_skipped(
            self._pre_score, state, self._pod, table, feasible, observer=self._observer
        ):
            return state, np.zeros(table.size, dtype=np.int64), True
        self._rows.count += table.size
        try:
            raw = self._score(state, self._pod, table.columns(self.plugin, feasible=feasible))
        except Exception as error:
            raise self._failed(error) from error
        return state, np.asarray(raw, dtype=np.int64), False

    def normalized_row(self, table: NodeTable, row: int) -> int:
        """The final score of one row, of a plugin that normalizes."""
        assert self.normalizer is not None
        raw: int = self.raw_cells[row]
        if self.skipped:
            return raw
        nodes = self._row.at(row)
        try:
            final = self._final(self._state, self._pod, nodes, raw, *self._extrema.values)
        except Exception as error:
            raise self._normalize_failed(error) from error
        return int(final)

    def _normalize(self, state: CycleState, nodes: NodeView, raw: IntArray, low: int, high: int) -> IntArray:
        assert self.normalizer is not None
        try:
            final = self._final(state, self._pod, nodes, raw, low, high)
            return np.asarray(final, dtype=np.int64)
        except Exception as error:
            raise self._normalize_failed(error) from error

    def _normalize_failed(self, error: Exception) -> PluginFailure:
        text = f'running Normalize on Score plugins: plugin "{self.plugin.name}" failed with: {error}'
        return PluginFailure(text, self.plugin.name, Stage.NORMALIZE)

    def shift_extrema(self) -> None:
        """Many rows entered or left: ``settle`` is due."""
        self._extrema.shift()

    def check(self, scores: IntArray, feasible: BoolArray) -> bool:
        """Whether all of these final scores lie in 0..100, those of rows that are not feasible as well.

        Raises:
            PluginFailure: that of a feasible row does not.
        """
        # Mostly none does, of any row: to see that takes a fifth of the time.
        if not len(scores) or (scores.min() >= 0 and scores.max() <= MAX_NODE_SCORE):
            return True
        scores = scores[feasible]
        wrong = scores[(scores < 0) | (scores > MAX_NODE_SCORE)]
        if len(wrong):
            raise self.out_of_range(int(wrong[0]))
        return False

    def out_of_range(self, score: int) -> PluginFailure:
        text = (
            f'applying score defaultWeights on Score plugins: plugin "{self.plugin.name}" returns an invalid score '
            f"{score}, it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
        )
        return PluginFailure(text, self.plugin.name, Stage.NORMALIZE)


def is_skipped(
    plugin: PreScorePlugin,
    state: CycleState,
    pod: PodInfo,
    table: NodeTable,
    feasible: BoolArray,
    *,
    observer: Observer = NOBODY,
) -> bool:
    """Run PreScore of one plugin; whether it leaves nothing to score (kube-scheduler 1.37: RunPreScorePlugins).

    Raises:
        PluginFailure: it failed.
    """
    pre_score = observer.plugin(plugin.name, Stage.PRE_SCORE, plugin.pre_score)
    try:
        status = pre_score(state, pod, table.columns(plugin, feasible=feasible))
        check_status(status)
    except Exception as error:
        raise _pre_score_failed(plugin, str(error)) from error
    if status.code is not Code.SKIP:
        observer.rows_of(plugin.name, Stage.PRE_SCORE).count += 1
    if status.code not in (Code.SUCCESS, Code.SKIP):
        raise _pre_score_failed(plugin, status.message)
    return status.code is Code.SKIP


def _pre_score_failed(plugin: PreScorePlugin, message: str) -> PluginFailure:
    return PluginFailure(f'running PreScore plugin "{plugin.name}": {message}', plugin.name, Stage.PRE_SCORE)
