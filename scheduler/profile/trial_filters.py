"""What the Filter plugins say of nodes whose pods are moved for a while (kube-scheduler 1.37: RunPreFilterExtensionRemovePod, AddPod)."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler.cache.node_table import NodeTable
from scheduler.cache.summed_view import SUMMED, Shift
from scheduler.cache.views import summed_view_of
from scheduler.framework.ops import IntArray, MaskArray
from scheduler.framework.plugin import CycleState
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Code, Status
from scheduler.profile.changed_rows import TouchedBy
from scheduler.profile.filter_column import FilterColumn
from scheduler.profile.filtering import Filtering


class TrialColumn:
    """One plugin's verdicts, with a notebook of its own where the plugin looks beyond the row: the evaluation's stays as it is.

    What PreFilter noted in it is brought up to date when something of that has changed.

    Args:
        anew: nothing that the evaluation noted holds any more, and PreFilter runs for each verdict.
    """

    def __init__(self, column: FilterColumn, pod: PodInfo, table: NodeTable, *, anew: bool) -> None:
        self.hears = column.facets | column.input_facets
        """A change of these can change a verdict."""
        # PreFilter runs over all nodes and may look at each, and nobody tells it of other sums.
        self._beyond_sums = self.hears if anew else self.hears & ~SUMMED | column.input_facets
        self._column = column
        self._pod = pod
        self._table = table
        self._anew = anew
        self._state: CycleState | None = {} if anew or column.plugin.inputs else None
        self._token: tuple[int, ...] | None = None
        self._instead: Status | None = None

    def is_of_sums(self, moved: int) -> bool:
        """Whether pods that change these facets of a node change no more for the plugin than what they add up to there."""
        return not moved & self._beyond_sums

    def status(self, row: int) -> Status:
        """The verdict on one row as the table is now; raises as ``FilterColumn.verdict`` does."""
        instead = self._prepare()
        return self._column.verdict(self._state, self._pod, row) if instead is None else instead

    def masks(self, rows: IntArray, shift: Shift) -> MaskArray | Status:
        """The masks of these rows with other sums, or the verdict that all of them have; raises as ``status`` does."""
        instead = self._prepare()
        if instead is not None:
            return instead
        nodes = summed_view_of(type(self._column.plugin))(self._table, rows, shift)
        return self._column.masks_over(self._state, self._pod, nodes)

    def told(self, mask: int) -> Status:
        """What one of ``masks`` says that is not 0; raises if it is that the plugin failed."""
        return self._column.told(self._state, self._pod, mask)

    def _prepare(self) -> Status | None:
        """Bring the notebook up to date; the verdict on every row where Filter is not to be asked."""
        state = self._state
        if state is None:
            return None
        if self._token is None or self._token != self._column.token_with(state, self._pod):
            if self._token is None:
                state = self._state = {}
            self._instead = self._column.pre_filter(state, self._pod, self._table)
            self._token = None if self._anew else self._column.token_with(state, self._pod)
        return self._instead


class TrialFilters:
    """All plugins that have something to say about one pod: those that PreFilter skipped have nothing to say here either.

    Args:
        pod: the one that the evaluation is for now.
        anew: see TrialColumn.
    """

    def __init__(self, filtering: Filtering, pod: PodInfo, table: NodeTable, *, anew: bool) -> None:
        self._filtering = filtering
        self._pod = pod
        self._table = table
        self._start(anew=anew)

    def _start(self, *, anew: bool) -> None:
        self._epoch = self._table.epoch
        columns = [
            TrialColumn(each, self._pod, self._table, anew=anew) for each in self._filtering.columns if not each.skipped
        ]
        self._hearing = TouchedBy(columns, lambda column: column.hears)
        self._columns = tuple(columns)

    def outside(self, row: int) -> Status | None:
        """The verdict on a row that PreFilter did not name, whatever its pods; None for the others."""
        return None if self._filtering.is_inside(self._table, row) else self._filtering.outside

    def asked(self, moved: int | None = None) -> Sequence[TrialColumn]:
        """The plugins that a change of these facets can concern; all of them for None."""
        if self._epoch != self._table.epoch:
            # Ids were given anew, so nothing that was noted by id holds any more.
            self._start(anew=True)
        return self._columns if moved is None else self._hearing[moved]

    def are_of_sums(self, moved: int) -> bool:
        """Whether ``TrialColumn.is_of_sums`` holds for every plugin."""
        return all(column.is_of_sums(moved) for column in self.asked(moved))

    def status(self, row: int, moved: int | None = None) -> Status:
        """The verdict on one live row as the table is now.

        Args:
            moved: all that changed since this last was a success, as facets: the other plugins need not be asked again.

        Raises:
            PluginFailure: a plugin failed.
        """
        outside = self.outside(row)
        if outside is not None:
            return outside
        for column in self.asked(moved):
            status = column.status(row)
            if status.code is not Code.SUCCESS:
                return status
        return SUCCESS
