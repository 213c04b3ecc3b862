"""What a story about the batch cache came upon, and what it must come upon so that its comparison means something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from scheduler.batch.key import Key
from scheduler.batch.outcomes import Attempt, Flush
from scheduler.core.batching import Decision
from scheduler.core.scheduler import Scheduler
from scheduler.framework.facet import Facet
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.profile import Profile
from scheduler.queue.queued_pod import QueuedPod

FLUSHES = (Flush.EXPIRED, Flush.NODE_EVENT, Flush.CLUSTER_EVENT, Flush.EVICTED, Flush.CONFIG_CHANGED)
"""Those that a sound scheduler comes to; the others have tests of their own, or no cause yet."""
FACETS = ("NAME", "RESOURCES", "PORTS", "VOLUMES", "PODS", "LABELS", "TAINTS", "UNSCHEDULABLE", "IMAGES", "FEATURES")
AFFINITY = "InterPodAffinity"
SPREAD = "PodTopologySpread"
WANTED = (
    *(f"flushed: {flush.value}" for flush in FLUSHES),
    *(f"refreshed: {facet}" for facet in FACETS),
    *(f"attempt: {attempt.value}" for attempt in Attempt),
    *(f"nodes: {number}" for number in (1, 2, 20)),
    "bypassed: pod_nominated",
    "feasible: 1 to more",
    "feasible: more to 1",
    "feasible: some to none",
    "feasible: none to some",
    "an extremum moved",
    "an extremum was lost",
    "number of nodes or image holders changed",
    "more rows changed than are followed one by one",
    "bind failed",
    "terminating",
    "told apart by labels that terms of others look at",
    "refused by pod affinity",
    "refused by pod affinity for nominated pods",
    "scored by pod affinity",
    "pod affinity became or stopped being skipped",
    "refused by spread constraints",
    "scored by spread constraints",
    "scored by default spread constraints",
)
"""What a story must come upon, so that the comparison means something."""


def missing(reached: Counter[str], least: int) -> dict[str, int]:
    """What was not come upon often enough."""
    found = {name: reached[name] for name in WANTED if reached[name] < least and not name.startswith("nodes:")}
    found |= {name: reached[name] for name in WANTED if name.startswith("nodes:") and not reached[name]}
    if 2 * reached["from an entry"] < reached["decisions"]:
        found["from an entry"] = reached["from an entry"]
    if 10 * reached["steps with nominated pods"] < reached["steps"]:
        found["steps with nominated pods"] = reached["steps with nominated pods"]
    return found


class Watched:
    """Stands before a Batching and looks at every decision: at what was refreshed for it, and what it rests on."""

    def __init__(
        self,
        scheduler: Scheduler,
        reached: Counter[str],
        compare: Callable[[QueuedPod, Callable[[], Decision]], Decision],
    ) -> None:
        self._compare = compare
        self._batching = scheduler.state.batching
        self._table = scheduler.state.cache.table
        self._reached = reached
        self._decide = self._batching.decide
        self._batching.decide = self.decide  # type: ignore[method-assign]

    def decide(self, queued: QueuedPod, profile: Profile, now: float, *, counts: bool = True) -> Decision:
        key = self._batching._key(queued, profile)
        entries = {entry.key: entry for entry in self._batching.entries}
        entry = entries.get(key) if isinstance(key, Key) else None
        before = None if entry is None else _state_of(entry.evaluation)
        changes = None if before is None else self._table.changes_since(before["position"])
        self._reached["told apart by labels that terms of others look at"] += isinstance(key, Key) and any(key.cluster)
        decision = self._compare(queued, lambda: self._decide(queued, profile, now, counts=counts))
        if before is not None and entry is not None and decision.evaluation is entry.evaluation:
            self._note(before, _state_of(entry.evaluation))
            if changes is not None:
                self._reached["more rows changed than are followed one by one"] += len(changes.rows) > 8
                for facets in changes.facets.tolist():
                    for facet in FACETS:
                        self._reached[f"refreshed: {facet}"] += bool(facets & Facet[facet])
        return decision

    def _note(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        self._reached["pod affinity became or stopped being skipped"] += before["skipped"] != after["skipped"]
        was, now = before["feasible"], after["feasible"]
        self._reached["feasible: 1 to more"] += was == 1 and now > 1
        self._reached["feasible: more to 1"] += was > 1 and now == 1
        self._reached["feasible: some to none"] += was > 0 and now == 0
        self._reached["feasible: none to some"] += was == 0 and now > 0
        both = list(zip(before["columns"], after["columns"], strict=False))
        self._reached["an extremum moved"] += any(one[0] != other[0] for one, other in both)
        self._reached["an extremum was lost"] += any(
            one[0][0] < other[0][0] or one[0][1] > other[0][1] for one, other in both
        )
        self._reached["number of nodes or image holders changed"] += any(one[1] != other[1] for one, other in both)


def _state_of(evaluation: Evaluation) -> dict[str, Any]:
    scoring = evaluation._scoring
    columns = [] if scoring is None else [(column._extrema.values, column._token) for column in scoring.columns]
    skipped = [column.skipped for column in evaluation._filtering.columns if column.plugin.name == AFFINITY]
    position = evaluation._filtering._position
    return {"position": position, "feasible": evaluation.feasible_count, "columns": columns, "skipped": skipped}
