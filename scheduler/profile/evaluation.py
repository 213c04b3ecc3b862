"""Evaluation: one pod's verdicts and scores on every node, kept up to date.

A cold decision is a refresh of all rows, a later one a refresh of the rows that changed. Scheduling, explaining and the
FailedScheduling text read the same arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from scheduler.cache.node_table import NodeTable
from scheduler.framework.ops import IntArray
from scheduler.framework.plugin import CycleState, NamespaceReader, PreFilterResult
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Code, Status
from scheduler.profile.changed_rows import input_facets_of
from scheduler.profile.failure import PluginFailure, Stage
from scheduler.profile.filter_column import FilterColumn, pre_filtered
from scheduler.profile.filtering import Filtering, Verdicts
from scheduler.profile.observing import NOBODY, Observer
from scheduler.profile.profile import Profile
from scheduler.profile.score_column import ScoreColumn, is_skipped
from scheduler.profile.scoring import Scoring
from scheduler.profile.trial_filters import TrialFilters

_FEWEST = 2
"""An evaluation of fewer nodes is as cheap made anew, and there can be one for each node."""

NOTHING_INSTEAD: Verdicts = MappingProxyType({})


class PluginScore(NamedTuple):
    raw: int
    weighted: int


class Evaluation:
    """Verdicts and scores of one profile for one pod over a node table.

    Attributes:
        prefilter: SUCCESS, or why no node can be feasible whatever it is like.
        prefilter_rejectors: the plugins behind that, or behind a restriction to named nodes.

    Raises:
        PluginFailure: from the constructor, ``refresh`` and ``refresh_scores``, when a plugin fails.
    """

    def __init__(self, profile: Profile, pod: PodInfo, table: NodeTable, observer: Observer = NOBODY) -> None:
        self._observer = observer
        self._profile = profile
        self._pod = pod
        self._table = table
        self._may_open = any(plugin.inputs for plugin in profile.pre_filter)
        self._start()

    def _start(self) -> None:
        self._epoch = -1
        self.prefilter: Status = SUCCESS
        self.prefilter_rejectors: tuple[str, ...] = ()
        self._states: dict[str, CycleState] = {plugin.name: {} for plugin in self._profile.deciding_plugins()}
        self._scoring: Scoring | None = None
        self._told: tuple[tuple[int, int], str, tuple[str, ...]] | None = None
        """What was last said of a failure, and of which version of the verdicts and number of nodes."""
        self._resolvable: tuple[tuple[int, int], IntArray] | None = None
        """The same of the rows that fewer pods may help."""
        result: PreFilterResult = self._observer.point(Stage.PRE_FILTER, self._pre_filter)()
        self.prefilter, node_names = result.status, result.node_names
        self._is_open = self.prefilter.code is Code.SUCCESS
        if not self._is_open:
            self._take_filtering(Filtering([], frozenset(), self.prefilter))
            self._closed_at = self._table.position
            self._epoch = self._table.epoch
            return
        outside = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
        if node_names is not None:
            listed = " ".join(sorted(self.prefilter_rejectors))
            outside = outside._replace(reasons=(f"node(s) didn't satisfy plugin(s) [{listed}]",))
        self._take_filtering(Filtering(self._columns(), node_names, outside))
        self._epoch = self._table.epoch

    def _columns(self) -> list[FilterColumn]:
        pre_filters = {plugin.name: plugin for plugin in self._profile.pre_filter}
        return [
            FilterColumn(
                plugin,
                self._states[plugin.name],
                self._pod,
                self._table,
                pre_filters.get(plugin.name),
                skipped=plugin.name in self._skipped,
                observer=self._observer,
            )
            for plugin in self._profile.filter
            # One that looks beyond the row can have something to say later, if what it looks at can change by then.
            if plugin.name not in self._skipped
            or input_facets_of(plugin.filter_inputs(self._states[plugin.name], self._pod))
        ]

    def observe(self) -> None:
        """Call the plugins as the observer wants it now."""
        self._filtering.observe()
        self._take_filtering(self._filtering)
        if self._scoring is not None:
            self._scoring.observe()
            self._take_scoring(self._scoring)

    def _take_filtering(self, filtering: Filtering) -> None:
        self._filtering = filtering
        self._refresh_filtering = self._observer.point(Stage.FILTER, filtering.refresh)

    def _take_scoring(self, scoring: Scoring) -> None:
        self._scoring = scoring
        self._refresh_scoring = self._observer.point(Stage.SCORE, scoring.refresh)

    def _pre_filter(self) -> PreFilterResult:
        """Run PreFilter; the names that it leaves, or None for all nodes (kube-scheduler 1.37: RunPreFilterPlugins)."""
        self._skipped: set[str] = set()
        names: frozenset[str] | None = None
        restricting: list[str] = []
        rejected: Status | None = None
        for plugin in self._profile.pre_filter:
            try:
                result = pre_filtered(plugin, self._states[plugin.name], self._pod, self._table, self._observer)
            except Exception as error:
                raise _failed("PreFilter", plugin.name, str(error), Stage.PRE_FILTER) from error
            status = result.status._replace(plugin=plugin.name)
            if status.code is Code.SKIP:
                self._skipped.add(plugin.name)
            elif status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return self._reject(status, (plugin.name,))
            elif status.code is Code.UNSCHEDULABLE:
                # Preemption may help, unless a later plugin says that it cannot.
                rejected = status
            elif status.code is not Code.SUCCESS:
                raise _failed("PreFilter", plugin.name, status.message, Stage.PRE_FILTER)
            elif result.node_names is not None:
                restricting.append(plugin.name)
                names = result.node_names if names is None else names & result.node_names
                if not names:
                    return self._reject(_no_common_node(restricting), tuple(restricting))
        if rejected is not None:
            return self._reject(rejected, (*restricting, rejected.plugin))
        self.prefilter_rejectors = tuple(restricting)
        return PreFilterResult(SUCCESS, names)

    def _reject(self, status: Status, rejectors: tuple[str, ...]) -> PreFilterResult:
        self.prefilter_rejectors = rejectors
        return PreFilterResult(status)

    def take(self, pod: PodInfo) -> None:
        """Go on with another pod of the same key.

        What other objects make of a pod is asked again when the evaluation has to start anew: for a pod that was decided on
        long ago, they can say something else by then.
        """
        self._pod = pod

    def refresh(self) -> None:
        """Bring every verdict up to date with the table."""
        if self._epoch != self._table.epoch:
            # Interned ids were renumbered, so tables of verdicts by id mean other values now.
            self._start()
        elif not self._is_open and self._closed_at != self._table.position and self._may_open:
            self._start()
        if self._is_open:
            self._refresh_filtering(self._table)
            if self._filtering.is_void:
                self._start()
                self.refresh()

    @property
    def feasible_count(self) -> int:
        """Number of nodes that the pod fits on, as of the last refresh."""
        return self._filtering.feasible_count

    def fitting_count(self, instead: Verdicts) -> int:
        """Number of nodes that are left to choose from where ``instead`` refuses some (kube-scheduler 1.37: FeasibleNodes)."""
        count = self._filtering.feasible_count
        if not count or not instead:
            return count
        return count - sum(bool(self._filtering.feasible[row]) for row in instead)

    def refresh_scores(self) -> None:
        """Bring the scores of the feasible rows up to date; call ``refresh`` first."""
        try:
            if self._scoring is None:
                self._take_scoring(Scoring(self._observer.point(Stage.PRE_SCORE, self._pre_score)()))
            self._refresh_scoring(self._table, self._filtering)
        except PluginFailure:
            self._scoring = None  # nothing is to be built on what is left half done
            raise

    def _pre_score(self) -> list[ScoreColumn]:
        pre_scores = {plugin.name: plugin for plugin in self._profile.pre_score}
        feasible = self._filtering.feasible
        skipped = {
            name
            for name, plugin in pre_scores.items()
            if is_skipped(plugin, self._states[name], self._pod, self._table, feasible, observer=self._observer)
        }
        return [
            ScoreColumn(
                scored.plugin,
                scored.weight,
                self._states[scored.plugin.name],
                self._pod,
                self._table,
                pre_scores.get(scored.plugin.name),
                skipped=scored.plugin.name in skipped,
                observer=self._observer,
            )
            for scored in self._profile.score
            # One that looks beyond the row can have something to say later.
            if scored.plugin.name not in skipped
            or scored.plugin.score_inputs(self._states[scored.plugin.name], self._pod)
        ]

    def state_of(self, plugin_name: str) -> CycleState:
        """A copy of what a plugin has noted for this evaluation; empty when it took no part in it."""
        return dict(self._states.get(plugin_name, {}))

    @property
    def scored(self) -> bool:
        """Whether there are scores, as of the last ``refresh_scores``."""
        return self._scoring is not None

    def select(self, instead: Verdicts = NOTHING_INSTEAD) -> int | None:
        """The row to bind to: the highest total, ties by the nodes' keys; None when nothing is feasible.

        A single feasible node is chosen without scoring (kube-scheduler 1.37: schedulePod).

        Args:
            instead: refusals of feasible rows that hold for this decision only; the evaluation stays as it is.
        """
        feasible_count = self._filtering.feasible_count
        if not feasible_count:
            return None
        if instead:
            refused = [row for row in instead if self._filtering.feasible[row]]
            if refused:
                return self._select_without(refused)
        if feasible_count == 1:
            return int(self._filtering.feasible.argmax())
        self.refresh_scores()
        assert self._scoring is not None
        return int(self._scoring.keyed.argmax())

    def select_with(self, extra: Mapping[int, int], instead: Verdicts = NOTHING_INSTEAD) -> int | None:
        """As ``select``, with ``extra`` added to the totals of some rows: of any size, for a sum cannot overflow."""
        candidates = np.array(self._filtering.feasible)
        candidates[list(instead)] = False
        if np.count_nonzero(candidates) <= 1:
            return int(candidates.argmax()) if candidates.any() else None
        self.refresh_scores()
        assert self._scoring is not None
        return self._scoring.best_with(self._table, candidates, extra)

    def _select_without(self, refused: list[int]) -> int | None:
        """The choice among fewer rows, with what that does to every normalised score."""
        feasible = self._filtering.feasible.copy()
        feasible[refused] = False
        count = int(np.count_nonzero(feasible))
        if count <= 1:
            return int(feasible.argmax()) if count else None
        self.refresh_scores()
        assert self._scoring is not None
        return self._scoring.best_over(self._table, feasible)

    @property
    def is_restricted(self) -> bool:
        """Whether PreFilter left only nodes that it named."""
        return self.prefilter.code is Code.SUCCESS and self._filtering.node_names is not None

    def reads_namespace(self, name: str) -> bool:
        """Whether the namespace of this name can have a say in the evaluation."""
        return any(
            plugin.reads_namespace(self._pod, self._table.columns(plugin), name)
            for plugin in self._profile.deciding_plugins()
            if isinstance(plugin, NamespaceReader)
        )

    def is_worth_keeping(self) -> bool:
        """Whether the next pod of the shape gains from it: one that PreFilter sends to a single node, or none, does not."""
        return self._table.node_count < _FEWEST or self._has_several_nodes()

    def _has_several_nodes(self) -> bool:
        if self.prefilter.code is not Code.SUCCESS:
            return False
        names = self._filtering.node_names
        return names is None or sum(self._table.row_of(name) is not None for name in names) >= _FEWEST

    def difference(self, other: Evaluation, row: int | None, other_row: int | None) -> str:
        """What an evaluation of the same pod and table, with its choice, has other than this one; "" if nothing."""
        if (self.prefilter.code, self.prefilter.reasons) != (other.prefilter.code, other.prefilter.reasons):
            return "PreFilter"
        if self.prefilter.code is not Code.SUCCESS:
            return ""
        mine, others = self._filtering.feasible, other._filtering.feasible
        if not np.array_equal(mine, others):
            return "feasible nodes"
        if row != other_row:
            return "chosen node"
        if row is None and self._filtering.differs(other._filtering, self._table.live):
            return "reasons"
        if self._scoring is None or other._scoring is None or self.feasible_count == 1:
            return ""
        same = np.array_equal(self._scoring.totals[mine], other._scoring.totals[mine])
        return "" if same else "totals"

    def feasible_rows(self) -> list[int]:
        return [int(row) for row in np.flatnonzero(self._filtering.feasible)] if self.feasible_count else []

    def status(self, row: int) -> Status:
        """The verdict on one live row, as of the last refresh."""
        return self.prefilter if self.prefilter.code is not Code.SUCCESS else self._filtering.status(row)

    def resolvable_rows(self, instead: Verdicts = NOTHING_INSTEAD) -> IntArray:
        """Live rows that may hold the pod when others are gone, ascending: refused with UNSCHEDULABLE and nothing worse.

        As of the last refresh (kube-scheduler 1.37: NodesForStatusCode).
        """
        live = self._table.live
        if self.prefilter.code is Code.UNSCHEDULABLE:
            return np.flatnonzero(live)
        if self.prefilter.code is not Code.SUCCESS:
            return np.zeros(0, np.int64)
        version = (self._filtering.version, self._table.node_count)
        if self._resolvable is None or self._resolvable[0] != version:
            self._resolvable = (version, self._filtering.rows_refused_with(Code.UNSCHEDULABLE, live))
        rows = self._resolvable[1]
        if not instead:
            return rows
        also = [row for row, status in instead.items() if status.code is Code.UNSCHEDULABLE]
        return np.union1d(np.setdiff1d(rows, list(instead)), np.array(also, np.int64))

    def try_row(self, row: int) -> Status:
        """The verdict on one live row as the table is now; the evaluation stays as of its last refresh."""
        if self.prefilter.code is Code.UNSCHEDULABLE:
            return self.trial_filters().status(row)
        if not self._is_open:
            return self.prefilter
        return self._filtering.try_row(self._table, row, self._pod, is_renumbered=self._epoch != self._table.epoch)

    def trial_filters(self) -> TrialFilters:
        """The plugins, to be asked about nodes whose pods are moved for a while.

        Where PreFilter refused the pod for now, whether it still does is asked each time. A plugin that wanted to be skipped is
        skipped.
        """
        if self.prefilter.code is Code.UNSCHEDULABLE:
            filtering = Filtering(self._columns(), None, Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE))
            return TrialFilters(filtering, self._pod, self._table, anew=True)
        return TrialFilters(self._filtering, self._pod, self._table, anew=self._epoch != self._table.epoch)

    def scores(self, row: int) -> dict[str, PluginScore]:
        """Scores of a feasible row by plugin, as of the last ``refresh_scores``; a plugin that skipped is absent."""
        assert self._scoring is not None
        return {
            column.plugin.name: PluginScore(int(column.raw[row]), int(column.weighted[row]))
            for column in self._scoring.columns
            if not column.skipped
        }

    def total(self, row: int) -> int:
        """Weighted sum of a feasible row's scores."""
        assert self._scoring is not None
        return int(self._scoring.totals[row])

    def rejectors(self, instead: Verdicts = NOTHING_INSTEAD) -> tuple[str, ...]:
        """The plugins that a change has to convince before the pod can be placed, sorted."""
        if self.prefilter.code is not Code.SUCCESS:
            return tuple(sorted(self.prefilter_rejectors))
        return self._rejectors(instead) if instead else self._tell()[1]

    def pending_rejectors(self, instead: Verdicts = NOTHING_INSTEAD) -> tuple[str, ...]:
        """Those of the rejectors whose status was Pending, sorted."""
        if self.prefilter.code is not Code.SUCCESS:
            return (self.prefilter.plugin,) if self.prefilter.code is Code.PENDING else ()
        return tuple(sorted(self._filtering.pending(instead)))

    def failure_message(self, instead: Verdicts = NOTHING_INSTEAD) -> str:
        """Why the pod fits nowhere, in kube-scheduler's words (1.37: FitError)."""
        if self.prefilter.code is not Code.SUCCESS:
            return f"0/{self._table.node_count} nodes are available: {self.prefilter.message}."
        return self._failure_message(instead) if instead else self._tell()[0]

    def _tell(self) -> tuple[str, tuple[str, ...]]:
        """Message and rejectors, worked out again when a verdict has changed: many pods of a shape may hear the same."""
        version = (self._filtering.version, self._table.node_count)
        if self._told is None or self._told[0] != version:
            self._told = (version, self._failure_message(NOTHING_INSTEAD), self._rejectors(NOTHING_INSTEAD))
        return self._told[1:]

    def _rejectors(self, instead: Verdicts) -> tuple[str, ...]:
        return tuple(sorted({*self.prefilter_rejectors, *self._filtering.rejectors(instead)}))

    def _failure_message(self, instead: Verdicts) -> str:
        head = f"0/{self._table.node_count} nodes are available:"
        counts = self._filtering.reason_counts(self._table, instead)
        listed = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
        return f"{head} {listed}." if listed else head


def _failed(point: str, plugin: str, message: str, stage: Stage) -> PluginFailure:
    return PluginFailure(f'running {point} plugin "{plugin}": {message}', plugin, stage)


def _no_common_node(restricting: list[str]) -> Status:
    """No node is left by all PreFilter plugins that name nodes."""
    listed = " ".join(sorted(restricting))
    text = (
        f"node(s) didn't satisfy plugin {listed}"
        if len(restricting) == 1
        else f"node(s) didn't satisfy plugin(s) [{listed}] simultaneously"
    )
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,))
