"""FilterColumn: what one Filter plugin says of every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from scheduler.cache.node_table import NodeTable
from scheduler.cache.views import row_view_of
from scheduler.framework.facet import Input
from scheduler.framework.ops import IntArray, MaskArray
from scheduler.framework.plugin import CycleState, FilterPlugin, PreFilterPlugin, PreFilterResult
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Code, Reason, Status, check_status
from scheduler.framework.view import NodeView
from scheduler.profile.changed_rows import FEW_ROWS, facets_of, input_facets_of
from scheduler.profile.column_answers import column_of
from scheduler.profile.failure import PluginFailure, Stage
from scheduler.profile.observing import NOBODY, Method, Observer

_WITHOUT_VERSION = frozenset({Input.STORAGE})
"""Inputs that pods change by coming and going, and of which no version tells it."""


class Renewal(NamedTuple):
    """What came of running a plugin anew because something beyond the rows changed.

    Attributes:
        is_void: PreFilter says something else now, and the evaluation has to start anew.
        is_whole: every row was evaluated.
        rows: the rows that may have another answer now; None for all of them.
    """

    is_void: bool = False
    is_whole: bool = False
    rows: Sequence[int] | None = ()


class FilterColumn:
    """One plugin's masks over all rows, shape ``(size,)``."""

    def __init__(
        self,
        plugin: FilterPlugin,
        state: CycleState,
        pod: PodInfo,
        table: NodeTable,
        pre_filter: PreFilterPlugin | None = None,
        *,
        skipped: bool = False,
        observer: Observer = NOBODY,
    ) -> None:
        self.plugin = plugin
        self._observer = observer
        self._rows = observer.rows_of(plugin.name, Stage.FILTER)
        self._method = Method(observer, plugin.name, Stage.FILTER, plugin.filter)
        self.observe()
        self.facets = facets_of(plugin)
        self.skipped = skipped
        """PreFilter has nothing for Filter to look at: every node passes."""
        self._pre_filter = pre_filter
        self._token: tuple[int, ...] = ()
        self._new_token: tuple[int, ...] = ()
        # Made once: for one changed row that takes longer than many a rule.
        self._row = row_view_of(type(plugin))(table)
        self._inputs = table.columns(plugin)
        self._state = state
        self._pod = pod
        try:
            self._look_up_reasons()
            self.input_facets = input_facets_of(plugin.filter_inputs(state, pod))
            """A change of these, of any row, can be one of the inputs beyond the row."""
        except Exception as error:
            raise self._failed(error) from error
        self.masks: MaskArray = np.zeros(0, dtype=np.uint64)
        self.cells = self.masks.data
        self.may_refuse = False
        """Whether some row can have a mask that is not 0."""
        self.failure: PluginFailure | None = None

    def observe(self) -> None:
        """Call the plugin as the observer wants it now."""
        self._filter = self._method.now()

    def _look_up_reasons(self) -> None:
        self.reasons: tuple[Reason, ...] = self.plugin.reasons(self._state, self._pod)
        self.error_bits = _bits(self.reasons, Code.ERROR)
        """Bits of the masks that stand for a failure on that row."""
        self.pending_bits = _bits(self.reasons, Code.PENDING)

    @property
    def may_fail(self) -> bool:
        """Whether some mask can stand for a failure; without its PreFilter, only Filter finds out."""
        return bool(self.error_bits) or (self._pre_filter is None and isinstance(self.plugin, PreFilterPlugin))

    def _failed(self, error: Exception) -> PluginFailure:
        text = f'running "{self.plugin.name}" filter plugin: {error}'
        return PluginFailure(text, self.plugin.name, Stage.FILTER)

    def evaluate(self, table: NodeTable, rows: IntArray | None, token: tuple[int, ...] | None = None) -> None:
        """Run the plugin on these rows, or on all. A failure is kept until all are run again: see ``Filtering``.

        Args:
            token: that of the inputs beyond the rows, where it is known.
        """
        if rows is None:
            self.failure = None
        try:
            if rows is None:
                self.resize(table.size)
                self._token = self._token_now() if token is None else token
                if self.skipped:
                    self.masks[:] = 0
                else:
                    self._rows.count += table.size
                    masks = self._filter(self._state, self._pod, table.columns(self.plugin))
                    self.masks[:] = column_of(masks, table.size)
                    if self._pre_filter is None:
                        # A configuration that disables PreFilter alone: Filter has found out what there is to say.
                        self._look_up_reasons()
                # Once it did it will again: to look takes longer than to count with it.
                self.may_refuse = self.may_refuse or bool(self.masks.any())
            elif self.skipped:
                self.masks[rows] = 0
            else:
                self._rows.count += len(rows)
                masks = self._filter(self._state, self._pod, table.columns(self.plugin, rows))
                self.masks[rows] = column_of(masks, len(rows))
                self.may_refuse = self.may_refuse or bool(np.any(masks))
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            self.failure = self._failed(error)
            self.failure.__cause__ = error

    def evaluate_row(self, table: NodeTable, row: int) -> bool:
        """Run the plugin on one row; whether its answer is another one now. A failure is kept as by ``evaluate``."""
        try:
            mask: Any = 0
            if not self.skipped:
                self._rows.count += 1
                mask = self._filter(self._state, self._pod, self._row.at(row))
            if mask == self.cells[row]:
                return False
            self.cells[row] = mask
            self.may_refuse = True
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            self.failure = self._failed(error)
            self.failure.__cause__ = error
        return True

    def try_row(self, table: NodeTable, row: int, pod: PodInfo, *, anew: bool) -> Status:
        """The plugin's verdict on one row as the table is now; nothing is kept of it.

        Args:
            pod: the one that the evaluation is for now.
            anew: what PreFilter noted is not of this state of the table, and is worked out again for this verdict.

        Raises:
            PluginFailure: it failed.
        """
        if self.skipped:
            return SUCCESS
        if not anew:
            return self.verdict(None, pod, row)
        state: CycleState = {}
        instead = self.pre_filter(state, pod, table)
        return self.verdict(state, pod, row) if instead is None else instead

    def pre_filter(self, state: CycleState, pod: PodInfo, table: NodeTable) -> Status | None:
        """Run PreFilter with a notebook of the caller's; the answer for every row where Filter is not to be asked.

        Raises:
            PluginFailure: it failed.
        """
        if self._pre_filter is None:
            return None
        status = self._pre_filtered(self._pre_filter, state, pod, table).status
        if status.code is Code.SKIP:
            return SUCCESS
        if status.code.is_rejected:
            return status._replace(plugin=self.plugin.name)
        if status.code is not Code.SUCCESS:
            raise self._pre_filter_failed(status.message)
        return None

    def verdict(self, state: CycleState | None, pod: PodInfo, row: int) -> Status:
        """Ask Filter about one row as the table is now, with a notebook of the caller's or that of the evaluation.

        Raises:
            PluginFailure: it failed.
        """
        self._rows.count += 1
        try:
            mask: Any = self.plugin.filter(self._state if state is None else state, pod, self._row.at(row))
            reasons = self.reasons if state is None else self.plugin.reasons(state, pod)
        except Exception as error:
            raise self._failed(error) from error
        return self._told(reasons, int(mask)) if mask else SUCCESS

    def masks_over(self, state: CycleState | None, pod: PodInfo, nodes: NodeView) -> MaskArray:
        """As ``verdict``, for all rows of a view."""
        masks = np.zeros(len(nodes), np.uint64)
        self._rows.count += len(nodes)
        try:
            masks[:] = self.plugin.filter(self._state if state is None else state, pod, nodes)
        except Exception as error:
            raise self._failed(error) from error
        return masks

    def told(self, state: CycleState | None, pod: PodInfo, mask: int) -> Status:
        """What a mask of ``masks_over`` says that is not 0.

        Raises:
            PluginFailure: that the plugin failed on the row.
        """
        return self._told(self.reasons if state is None else self.plugin.reasons(state, pod), mask)

    def _told(self, reasons: tuple[Reason, ...], mask: int) -> Status:
        if mask & _bits(reasons, Code.ERROR):
            raise self._failed_with(reasons, mask)
        return _status(self.plugin.name, reasons, mask)

    def token_with(self, state: CycleState, pod: PodInfo) -> tuple[int, ...] | None:
        """Versions of the inputs beyond the row as they are now; None where PreFilter has to run again whatever they are."""
        if self._pre_filter is None or not _WITHOUT_VERSION.isdisjoint(self.plugin.inputs):
            return None
        try:
            return self.plugin.filter_token(state, pod, self._inputs)
        except Exception as error:
            raise self._failed(error) from error

    def has_new_inputs(self) -> bool:
        """Whether an input beyond the row changed since all rows were evaluated."""
        try:
            self._new_token = self._token_now()
            return self._new_token != self._token
        except Exception as error:
            raise self._failed(error) from error

    def _token_now(self) -> tuple[int, ...]:
        return self.plugin.filter_token(self._state, self._pod, self._inputs) if self.input_facets else ()

    def renew(self, table: NodeTable, *, whole: bool = False) -> Renewal:
        """Run PreFilter anew, and then the rows of which the answer may be another one now; ``has_new_inputs`` said so.

        Args:
            whole: every row, as other things of it may have changed too.

        Raises:
            PluginFailure: PreFilter failed.
        """
        was_skipped = self.skipped
        if self._pre_filter is not None:
            result = self._pre_filtered(self._pre_filter, self._state, self._pod, table)
            if result.node_names is not None or result.status.code not in (Code.SUCCESS, Code.SKIP):
                return Renewal(is_void=True)
            self.skipped = result.status.code is Code.SKIP
        self.resize(table.size)
        if not whole and self.failure is None and was_skipped == self.skipped:
            rows = () if self.skipped else self.plugin.renewed_rows(self._state)
            if rows is not None:
                return self._renew_rows(table, rows)
        self.evaluate(table, None, self._new_token)
        return Renewal(is_whole=True, rows=None)

    def _renew_rows(self, table: NodeTable, rows: Sequence[int]) -> Renewal:
        self._token = self._new_token
        if len(rows) > FEW_ROWS:
            self.evaluate(table, np.array(rows, np.int64))
            changed = rows
        else:
            changed = [row for row in rows if self.evaluate_row(table, row)]
        return Renewal(rows=None if self.failure is not None else changed)

    def resize(self, size: int) -> None:
        """Make room for new rows; what they hold is worked out when they are evaluated."""
        if size != len(self.masks):
            grown = np.zeros(size, dtype=np.uint64)
            grown[: len(self.masks)] = self.masks[:size]
            self.masks = grown
            self.cells = grown.data

    def _pre_filtered(
        self, plugin: PreFilterPlugin, state: CycleState, pod: PodInfo, table: NodeTable
    ) -> PreFilterResult:
        try:
            return pre_filtered(plugin, state, pod, table, self._observer)
        except Exception as error:
            raise self._pre_filter_failed(str(error)) from error

    def _pre_filter_failed(self, message: str) -> PluginFailure:
        text = f'running PreFilter plugin "{self.plugin.name}": {message}'
        return PluginFailure(text, self.plugin.name, Stage.PRE_FILTER)

    def failure_of(self, mask: int) -> PluginFailure:
        """What a mask with a bit of ``error_bits`` says."""
        return self._failed_with(self.reasons, mask)

    def _failed_with(self, reasons: tuple[Reason, ...], mask: int) -> PluginFailure:
        failed = mask & _bits(reasons, Code.ERROR)
        text = next(reason.text for number, reason in enumerate(reasons) if failed >> number & 1)
        return PluginFailure(f'running "{self.plugin.name}" filter plugin: {text}', self.plugin.name, Stage.FILTER)

    def status_of(self, mask: int) -> Status:
        """What a non-zero mask says: all its reasons; unresolvable when any of them is."""
        return _status(self.plugin.name, self.reasons, mask)


def pre_filtered(
    plugin: PreFilterPlugin, state: CycleState, pod: PodInfo, table: NodeTable, observer: Observer
) -> PreFilterResult:
    """Run PreFilter of one plugin; as with kube-scheduler 1.37 one that wants to be skipped does not count.

    Raises:
        Exception: what the plugin raised.
    """
    pre_filter = observer.plugin(plugin.name, Stage.PRE_FILTER, plugin.pre_filter)
    result = pre_filter(state, pod, table.columns(plugin))
    check_status(result.status)
    if result.status.code is not Code.SKIP:
        observer.rows_of(plugin.name, Stage.PRE_FILTER).count += 1
    return result


def _bits(reasons: tuple[Reason, ...], code: Code) -> int:
    """The bits of the masks whose reason has the code."""
    return sum(1 << number for number, reason in enumerate(reasons) if reason.code is code)


def _status(plugin: str, reasons: tuple[Reason, ...], mask: int) -> Status:
    given = [reason for number, reason in enumerate(reasons) if mask >> number & 1]
    code = max((reason.code for reason in given), default=Code.UNSCHEDULABLE)
    details = tuple(reason.detail for reason in given if reason.detail)
    return Status(code, tuple(reason.text for reason in given), plugin, details)
