"""A decision of the batch cache beside that of a new evaluation of the plain objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from scheduler.api.objects import Pod
from scheduler.batch.outcomes import Attempt
from scheduler.core.batching import Decision
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Code, Status
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.profile import Profile
from scheduler.queue.queued_pod import QueuedPod
from tests.support.batch_reached import AFFINITY, SPREAD
from tests.support.core_run import default_profiles
from tests.support.fake_cluster import Follower

PROFILES = default_profiles()


def answer_of(
    pod: PodInfo, evaluation: Evaluation, row: int | None, instead: dict[int, Status], *, is_scored: bool
) -> dict[str, Any]:
    """Everything that a decision rests on, by node name."""
    table = evaluation._table
    names = {table.name_of(number): number for number, live in enumerate(table.live.tolist()) if live}
    found: dict[str, Any] = {
        "node": None if row is None else table.name_of(row),
        "verdicts": {name: evaluation.status(number) for name, number in names.items()},
        "feasible": sorted(table.name_of(number) for number in evaluation.feasible_rows()),
        "refused for others": {table.name_of(number): status for number, status in instead.items()},
        "message": evaluation.failure_message(instead),
        "rejectors": evaluation.rejectors(instead),
    }
    if is_scored:
        found["scores"] = {name: evaluation.scores(names[name]) for name in found["feasible"]}
        found["totals"] = {name: evaluation.total(names[name]) for name in found["feasible"]}
    return found


class Comparison:
    """Of the decisions of one scheduler."""

    def __init__(self, follower: Follower, reached: Counter[str]) -> None:
        self._follower = follower
        self._reached = reached
        self.profile: Profile = PROFILES["reprise"]
        """Under which decisions are made now."""

    def compare(self, queued: QueuedPod, decide: Callable[[], Decision]) -> Decision:
        """A decision is that of a new evaluation, for the pod as the API showed it, on all that is known at this moment."""
        cache = self._follower.cache_made_anew()
        plain = PodInfo(queued.pod.pod)
        fresh = Evaluation(self.profile, plain, cache.table)
        fresh.refresh()
        instead = self._refused(plain, fresh)
        chosen = fresh.select(instead)
        nominated = cache.table.row_of(plain.pod.status.nominated_node_name)
        if nominated is not None and nominated not in instead and fresh.status(nominated).code is Code.SUCCESS:
            chosen = nominated
        is_scored = nominated is None and fresh.feasible_count - len(instead) > 1
        expected = answer_of(plain, fresh, chosen, instead, is_scored=is_scored)

        decision = decide()
        self._reached["decisions"] += 1
        self._reached["refused by pod affinity"] += any(one.plugin == AFFINITY for one in expected["verdicts"].values())
        self._reached["scored by pod affinity"] += any(AFFINITY in one for one in expected.get("scores", {}).values())
        refused = any(one.plugin == SPREAD for one in expected["verdicts"].values())
        scored = any(SPREAD in one for one in expected.get("scores", {}).values())
        self._reached["refused by spread constraints"] += refused
        self._reached["scored by spread constraints"] += scored
        by_default = scored and not plain.pod.spec.topology_spread_constraints
        self._reached["scored by default spread constraints"] += by_default
        self._reached["from an entry"] += decision.batch in (
            Attempt.HINT_USED,
            Attempt.HINT_NOT_USED,
            Attempt.FIT_ERROR,
        )
        # Nodes that do not fit anyhow may be among the refusals or not.
        mine = {row: status for row, status in decision.instead.items() if _fits(decision.evaluation, row)}
        found = answer_of(queued.pod, decision.evaluation, decision.row, mine, is_scored=is_scored)
        assert found == expected, f"{plain.key}, {decision.batch}"
        return decision

    def _refused(self, pod: PodInfo, fresh: Evaluation) -> dict[int, Status]:
        """Rows that fit and do not take the pod beside those nominated there; each from all nodes, with these on that one."""
        ahead: dict[str, list[Pod]] = {}
        for other in self._follower.ahead_of(pod.pod):
            ahead.setdefault(other.status.nominated_node_name, []).append(other)
        refused: dict[int, Status] = {}
        for row in fresh.feasible_rows():
            name = fresh._table.name_of(row)
            if name in ahead:
                status = self._beside(pod, name, ahead[name], fresh)
                if status.code is not Code.SUCCESS:
                    refused[row] = status
                    self._reached["refused by pod affinity for nominated pods"] += status.plugin == AFFINITY
        return refused

    def _beside(self, pod: PodInfo, name: str, nominated: list[Pod], fresh: Evaluation) -> Status:
        """The verdict on one node with these pods on it; what PreFilter skipped without them stays skipped."""
        cache = self._follower.cache_made_anew()
        for other in nominated:
            cache.assume(PodInfo(other), name)
        beside = Evaluation(self.profile, pod, cache.table)
        beside.refresh()
        row = cache.table.rows[name]
        for column in beside._filtering.columns:
            if column.plugin.name not in fresh._skipped and column.masks[row]:
                return column.status_of(int(column.masks[row]))
        return SUCCESS


def _fits(evaluation: Evaluation, row: int) -> bool:
    return evaluation.status(row).code is Code.SUCCESS
