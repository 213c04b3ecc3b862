"""What PostFilter plugins see of the cycle of a pod that fits nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property

from scheduler.core.state import State
from scheduler.framework.disruption import Budget
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.post_filter import NodePods, NodeTrial, Order, Room
from scheduler.framework.status import Code
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.filtering import Verdicts
from scheduler.profile.making_room import make_room
from scheduler.profile.trial import row_trial
from scheduler.profile.trial_filters import TrialFilters


class UnfitCycle:
    """The FailedCycle of one pod.

    Args:
        evaluation: what the failure was read from. It may be behind the table afterwards, never wrong.
        instead: refusals because of nominated pods, by row.
    """

    def __init__(self, state: State, pod: PodInfo, evaluation: Evaluation, instead: Verdicts, now: float) -> None:
        table = state.cache.table
        self.now = now
        self.node_count = table.node_count
        self._state = state
        self._evaluation = evaluation
        # Taken down before anything is tried.
        self._resolvable = evaluation.resolvable_rows(instead)
        self._nominated_code: Code | None = None
        nominated = pod.pod.status.nominated_node_name
        row = table.row_of(nominated) if nominated else None
        if row is not None:
            status = instead[row] if row in instead else evaluation.status(row)
            self._nominated_code = status.code
        self._ahead = state.queue.nominator.ahead_of(pod)

    def chance(self) -> float:
        return self._state.chance()

    @property
    def resolvable_count(self) -> int:
        return len(self._resolvable)

    def resolvable_nodes(self, first: int = 0) -> Iterator[str]:
        name_of, rows = self._state.cache.table.name_of, self._resolvable
        yield from (name_of(row) for row in rows[first:].tolist())
        yield from (name_of(row) for row in rows[:first].tolist())

    def nominated_node_code(self) -> Code | None:
        return self._nominated_code

    def has_pods_below(self, priority: int) -> bool:
        return self._state.cache.has_pods_below(priority)

    def pods_below(self, node_name: str, priority: int) -> Sequence[PodInfo]:
        return self._state.cache.pods_below(node_name, priority)

    def budgets(self) -> Mapping[str, Sequence[Budget]]:
        return self._state.budgets.by_namespace()

    def trial(self, node_name: str) -> AbstractContextManager[NodeTrial]:
        return row_trial(self._filters, self._state.cache, node_name, self._ahead.get(node_name, ()))

    def make_room(self, nodes: Sequence[NodePods], order: Order) -> Iterator[Room]:
        return make_room(self._filters, self._state.cache, nodes, self._ahead, order)

    @cached_property
    def _filters(self) -> TrialFilters:
        return self._evaluation.trial_filters()
