"""The Filter half of an evaluation: for each row the first plugin that refuses it, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from scheduler.cache.node_table import Changes, NodeTable
from scheduler.framework.facet import Facet
from scheduler.framework.ops import BoolArray, IntArray
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Code, Status
from scheduler.profile.changed_rows import FEW_ROWS, Few, TouchedBy, few_or_many, merged, rows_for, union
from scheduler.profile.failure import PluginFailure
from scheduler.profile.filter_column import FilterColumn

FEASIBLE = -1
OUTSIDE = -2
"""Not a row that holds a node, or a node that PreFilter did not name."""

_NAME = int(Facet.NAME)
_MANY = 8
"""To look at all rows takes no longer than to look at one of so many."""

Verdicts = Mapping[int, Status]
"""Verdicts by row that stand in place of the evaluation's own, for one decision only."""


class Filtering:
    """Verdicts of all Filter plugins for one pod, brought up to date a row and a facet at a time."""

    def __init__(self, columns: list[FilterColumn], node_names: frozenset[str] | None, outside: Status) -> None:
        self.columns = columns
        self.node_names = node_names
        self.outside = outside
        self._first: IntArray = np.zeros(0, dtype=np.int64)
        self._first_version = -1
        self._inside: BoolArray | None = None
        """Rows that hold a node, and one that PreFilter named if it named any; None for all of them."""
        self.feasible: BoolArray = np.zeros(0, dtype=np.bool_)
        self.feasible_count = 0
        self.feasible_version = 0
        """Another number after each refresh that changed ``feasible``."""
        self._turned: list[int] | None = None
        """Rows that entered or left ``feasible`` in the last refresh, None when it did not look at them one by one."""
        self._turned_since = -1
        """``feasible_version`` before that."""
        self._is_old = False
        """Rows were evaluated before, so that PreFilter was not run just now."""
        self.is_void = False
        """PreFilter says something else now: the evaluation has to start anew."""
        self._can_fail = any(column.may_fail for column in columns)
        self.input_facets = 0
        """A change of these, of any row, can change the verdict on every row."""
        for column in columns:
            self.input_facets |= column.input_facets
        self.version = 0
        """Another number after each refresh that changed a verdict or a reason."""
        self.feasible_cells: Any = self.feasible.data
        self._position = -1
        self._changes: Few | Changes | None = None
        self._changed_between = (-1, -1)
        self._touched_by = TouchedBy(self.columns, lambda column: column.facets)
        self._informed_by = TouchedBy(self.columns, lambda column: column.input_facets)

    def observe(self) -> None:
        """Call the plugins as their observer wants it now."""
        for column in self.columns:
            column.observe()

    def refresh(self, table: NodeTable) -> None:
        """Run what changed since the last call. The first call, or one after too long a time or a failure, runs everything.

        Once ``is_void`` is set there is no answer.

        Raises:
            PluginFailure: a plugin failed.
        """
        position = table.position
        changes = few_or_many(table, self._position)
        self._changes, self._changed_between, self._position = changes, (self._position, position), position
        self._turned, self._turned_since = [], self.feasible_version
        try:
            self._bring_up_to_date(table, changes)
        except PluginFailure:
            self._position = -1  # nothing is to be built on what is left half done
            raise

    def _bring_up_to_date(self, table: NodeTable, changes: Few | Changes | None) -> None:
        if changes is None:
            for column in self.columns:
                if self._is_old and column.has_new_inputs():
                    self.is_void = column.renew(table, whole=True).is_void or self.is_void
                else:
                    column.evaluate(table, None)
            self._is_old = True
            if not self.is_void:
                self._conclude(table, None)
        elif isinstance(changes, Changes):
            self._resize(table.size)
            renewed, others = self._renew(table, int(np.bitwise_or.reduce(changes.facets)))
            if self.is_void:
                return
            for column in self.columns:
                rows = rows_for(changes, column.facets)
                if len(rows) and column not in renewed:
                    column.evaluate(table, rows)
            self._conclude(table, None if others is None else union(changes.rows, _ascending(others)))
        elif changes:
            self._refresh_few(table, changes)

    def _resize(self, size: int) -> None:
        if size > len(self.feasible):
            for column in self.columns:
                column.resize(size)
            self._keep(_grown(self.feasible, size))
            if self._inside is not None:
                self._inside = _grown(self._inside, size)

    def _keep(self, feasible: BoolArray) -> None:
        self.feasible = feasible
        self.feasible_cells = feasible.data

    def _refresh_few(self, table: NodeTable, few: Few) -> None:
        self._resize(table.size)
        seen = 0
        for _, facets in few:
            seen |= facets
        renewed: Sequence[FilterColumn] = ()
        others: set[int] | None = None
        if seen & self.input_facets:
            renewed, others = self._renew(table, seen)
            if self.is_void:
                return
            if others is None or len(others) > FEW_ROWS:
                self._conclude(table, None if others is None else _ascending(others))
            elif others:
                few = merged(few, others)
        version = self.version
        has_failed = False
        for row, facets in few:
            is_new = bool(facets & _NAME) or others is not None
            for column in self._touched_by[facets]:
                if column not in renewed and column.evaluate_row(table, row):
                    is_new = True
                    has_failed = has_failed or column.failure is not None
            if is_new:
                self.version = version + 1
                self._decide(table, row)
        if has_failed:
            self._conclude(table, np.array([row for row, _ in few], np.int64))

    def _renew(self, table: NodeTable, facets: int) -> tuple[list[FilterColumn], set[int] | None]:
        """Bring the columns up to date of which an input beyond the row has changed.

        Returns those of them that ran every row, and the rows that can have another answer now, None for all rows.

        Args:
            facets: all that changed, of any row.
        """
        whole: list[FilterColumn] = []
        changed: set[int] | None = set()
        for column in self._informed_by[facets]:
            if not column.has_new_inputs():
                continue
            renewal = column.renew(table)
            self.is_void = self.is_void or renewal.is_void
            if renewal.is_whole:
                whole.append(column)
            changed = None if changed is None or renewal.rows is None else changed.union(renewal.rows)
        return whole, changed

    def _decide(self, table: NodeTable, row: int) -> None:
        fits = self.is_inside(table, row)
        if self._inside is not None:
            self._inside[row] = fits
        elif not fits:
            self._inside = np.ones(len(self.feasible), np.bool_)
            self._inside[row] = False
        if fits:
            for column in self.columns:
                if column.cells[row]:
                    fits = False
                    if column.cells[row] & column.error_bits:
                        raise column.failure_of(column.cells[row])
                    break
        if fits != self.feasible_cells[row]:
            self.feasible_count += fits - self.feasible_cells[row]
            self.feasible_cells[row] = fits
            self.feasible_version += 1
            if self._turned is not None:
                self._turned.append(row)

    def changes_since(self, table: NodeTable, position: int) -> Few | Changes | None:
        """What changed in the table since that position; as a rule it is what the last refresh has looked up."""
        if self._changed_between == (position, table.position):
            return self._changes
        return few_or_many(table, position)

    def turned_since(self, feasible_version: int) -> list[int] | None:
        """The rows that entered or left ``feasible`` since it had that version; None when they are not known one by one."""
        return self._turned if self._turned_since == feasible_version else None

    def is_inside(self, table: NodeTable, row: int) -> bool:
        if not table.is_live(row):
            return False
        return self.node_names is None or table.name_of(row) in self.node_names

    def _conclude(self, table: NodeTable, rows: IntArray | None) -> None:
        self.version += 1
        self.feasible_version += 1
        self._turned = None
        self._resize(table.size)
        has_failed = bool([one for one in self.columns if one.failure is not None])
        if rows is not None and len(rows) * _MANY > table.size and not has_failed:
            rows = None
        self._inside = None
        if self.node_names is not None or table.node_count < table.size:
            self._inside = self._look_inside(table)
        if has_failed or self._can_fail:
            self._raise_what_was_reached(self._find_first(rows), rows)
        feasible = self._unrefused(table.size, rows)
        if rows is None:
            self._keep(feasible)
        else:
            self.feasible[rows] = feasible
        self.feasible_count = int(np.count_nonzero(self.feasible))
        if has_failed:
            # A failure that no node reached is no answer to build on: it may be reached next time, or be one no more.
            self._position = -1

    def _unrefused(self, size: int, rows: IntArray | None) -> BoolArray:
        """Which of these rows, or of all, are inside and refused by no column."""
        feasible: BoolArray | None = None
        for column in self.columns:
            if column.may_refuse:
                passes: BoolArray = (column.masks if rows is None else column.masks[rows]) == 0
                feasible = passes if feasible is None else np.logical_and(feasible, passes, out=passes)
        if feasible is None:
            feasible = np.ones(size if rows is None else len(rows), np.bool_)
        if self._inside is not None:
            feasible &= self._inside if rows is None else self._inside[rows]
        return feasible

    @property
    def first(self) -> IntArray:
        """Per row the index of the first refusing column, FEASIBLE, or OUTSIDE; looked up when a verdict is asked for."""
        if self._first_version != self.version:
            self._first, self._first_version = self._find_first(None), self.version
        return self._first

    def _find_first(self, rows: IntArray | None) -> IntArray:
        """``first`` of these rows, or of all."""
        first = np.full(len(self.feasible) if rows is None else len(rows), FEASIBLE, np.int64)
        for index in range(len(self.columns) - 1, -1, -1):
            if self.columns[index].may_refuse:
                masks = self.columns[index].masks
                first[(masks if rows is None else masks[rows]) != 0] = index
        if self._inside is not None:
            first[~(self._inside if rows is None else self._inside[rows])] = OUTSIDE
        return first

    def _raise_what_was_reached(self, first: IntArray, rows: IntArray | None) -> None:
        """A plugin's failure counts where no plugin before it refuses the node (kube-scheduler 1.37: RunFilterPlugins)."""
        for index, column in enumerate(self.columns):
            failure = None
            if column.failure is not None and np.any((first == FEASIBLE) | (first >= index)):
                failure = column.failure
            elif column.error_bits:
                masks = column.masks if rows is None else column.masks[rows]
                failed = np.flatnonzero((first == index) & ((masks & np.uint64(column.error_bits)) != 0))
                failure = column.failure_of(int(masks[failed[0]])) if len(failed) else None
            if failure is not None:
                raise failure

    def _look_inside(self, table: NodeTable) -> BoolArray:
        if self.node_names is None:
            return table.live.copy()
        inside = np.zeros(table.size, dtype=np.bool_)
        for name in sorted(self.node_names):
            row = table.row_of(name)
            if row is not None:
                inside[row] = True
        return inside

    def rows_refused_with(self, code: Code, live: BoolArray) -> IntArray:
        """The live rows that are refused for reasons of this code and of no other, ascending."""
        first = self.first
        found: BoolArray = np.zeros(len(first), np.bool_)
        for index, column in enumerate(self.columns):
            others = sum(1 << number for number, reason in enumerate(column.reasons) if reason.code is not code)
            found |= (first == index) & ((column.masks & np.uint64(others)) == 0)
        return np.flatnonzero(found & live)

    def try_row(self, table: NodeTable, row: int, pod: PodInfo, *, is_renumbered: bool) -> Status:
        """The verdict on one row as the table is now, whatever it was at the last refresh; nothing is kept of it.

        A plugin that PreFilter skipped says nothing here either (kube-scheduler 1.37: RunPreFilterExtensionAddPod).

        Args:
            pod: the one that the evaluation is for now.
            is_renumbered: ids were given anew since PreFilter ran.

        Raises:
            PluginFailure: a plugin failed.
        """
        if not self.is_inside(table, row):
            return self.outside
        for column in self.columns:
            status = column.try_row(table, row, pod, anew=is_renumbered or bool(column.plugin.inputs))
            if status.code is not Code.SUCCESS:
                return status
        return SUCCESS

    def status(self, row: int) -> Status:
        """The verdict on a live row."""
        index = int(self.first[row])
        if index == FEASIBLE:
            return SUCCESS
        if index == OUTSIDE:
            return self.outside
        column = self.columns[index]
        return column.status_of(int(column.masks[row]))

    def reason_counts(self, table: NodeTable, instead: Verdicts) -> dict[str, int]:
        """How many nodes gave each reason; a node with several reasons counts in each of them."""
        first = self.first
        if instead:
            first = first.copy()
            first[list(instead)] = FEASIBLE
        counts: dict[str, int] = {}
        for index, column in enumerate(self.columns):
            masks = column.masks[first == index]
            for number, reason in enumerate(column.reasons):
                count = int(np.count_nonzero(masks & np.uint64(1 << number)))
                if count:
                    counts[reason.text] = counts.get(reason.text, 0) + count
        absent = int(np.count_nonzero((first == OUTSIDE) & table.live))
        for text in self.outside.reasons if absent else ():
            counts[text] = counts.get(text, 0) + absent
        for status in instead.values():
            for text in status.reasons:
                counts[text] = counts.get(text, 0) + 1
        return counts

    def differs(self, other: Filtering, live: BoolArray) -> bool:
        """Whether another evaluation of the same pod and nodes refuses any of the nodes for other reasons."""
        if [column.plugin.name for column in self.columns] != [column.plugin.name for column in other.columns]:
            return True
        if not np.array_equal(self.first[live], other.first[live]):
            return True
        return any(
            not np.array_equal(mine.masks[self.first == index], others.masks[self.first == index])
            for index, (mine, others) in enumerate(zip(self.columns, other.columns, strict=True))
        )

    def rejectors(self, instead: Verdicts) -> Iterator[str]:
        """Plugins that refused at least one node."""
        first = self.first
        if instead:
            first = first.copy()
            first[list(instead)] = FEASIBLE
        for index, column in enumerate(self.columns):
            if np.any(first == index):
                yield column.plugin.name
        yield from (status.plugin for status in instead.values() if status.plugin)

    def pending(self, instead: Verdicts) -> set[str]:
        """Plugins that refused at least one node with the status Pending."""
        found = {status.plugin for status in instead.values() if status.code is Code.PENDING}
        for index, column in enumerate(self.columns):
            # No plugin of kube-scheduler's default profile has such a reason.
            if column.pending_bits:
                refused = self.first == index
                refused[list(instead)] = False
                if np.any(column.masks[refused] & np.uint64(column.pending_bits)):
                    found.add(column.plugin.name)
        return found


def _grown(flags: BoolArray, size: int) -> BoolArray:
    return np.concatenate((flags, np.zeros(size - len(flags), np.bool_)))


def _ascending(rows: set[int]) -> IntArray:
    return np.array(sorted(rows), np.int64)
