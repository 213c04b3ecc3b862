"""Which pods of a node would have to go (kube-scheduler 1.37: SelectVictimsOnNode)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from scheduler.api.objects import Pod
from scheduler.framework.disruption import Budget
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.pod_kind import PodKind
from scheduler.framework.post_filter import Candidate
from scheduler.framework.status import Code, Status

NO_VICTIMS = "No preemption victims found for incoming pod"
_WRITTEN_LENGTH = len("2026-01-01T00:00:00Z")
DISRUPTION_TARGET = "DisruptionTarget"
PREEMPTED_BY_SCHEDULER = "PreemptionByScheduler"


def started_at(pod: Pod, now: float) -> float:
    """Seconds since the epoch; a pod that has not started yet is as young as can be."""
    written = pod.status.start_time
    if written is None:
        return now
    try:
        return datetime.fromisoformat(written).timestamp()
    except ValueError:
        return now


def by_importance(pods: Iterable[PodInfo], now: float) -> list[PodInfo]:
    """The most important first: higher priority, then longer at work; equals stay in their order."""
    ranked = list(pods)
    priorities = [-(pod.pod.spec.priority or 0) for pod in ranked]
    keys: list[Any] = list(zip(priorities, _comparable_starts(ranked, now), strict=True))
    return [ranked[place] for place in sorted(range(len(ranked)), key=keys.__getitem__)]


def _comparable_starts(pods: Sequence[PodInfo], now: float) -> Sequence[str] | Sequence[float]:
    """Something of each pod that is the less the earlier it started."""
    written = [pod.pod.status.start_time or "" for pod in pods]
    # As the API server writes them all: texts that are in the order of the times, and there can be very many of them.
    if all(len(text) == _WRITTEN_LENGTH and text[-1] == "Z" for text in written):
        return written
    return [started_at(pod.pod, now) for pod in pods]


def is_terminating_victim(pod: Pod) -> bool:
    """Whether the pod is going because a scheduler has preempted it."""
    if pod.metadata.deletion_timestamp is None:
        return False
    for condition in pod.status.conditions or ():
        if condition.type == DISRUPTION_TARGET:
            return condition.status == "True" and condition.reason == PREEMPTED_BY_SCHEDULER
    return False


_Covering: TypeAlias = dict[PodKind, tuple[int, ...]]
"""Places of the budgets that are about pods of a kind, among those of its namespace; worked out once a kind."""


def split_by_budgets(
    pods: Iterable[PodInfo], budgets: Mapping[str, Sequence[Budget]], covering: _Covering | None = None
) -> tuple[list[PodInfo], list[PodInfo]]:
    """Pods, the most important first, whose loss would break a budget, and the others.

    A pod is charged to every budget that covers it, up to the first that has nothing left.

    Args:
        budgets: by namespace.
        covering: what is known of these budgets, and will be.
    """
    known: _Covering = {} if covering is None else covering
    left: dict[str, list[int]] = {}
    violating: list[PodInfo] = []
    others: list[PodInfo] = []
    for pod in pods:
        kind = pod.kind
        of_namespace = budgets.get(kind.namespace, ())
        places = known.get(kind)
        if places is None:
            covers = (number for number, budget in enumerate(of_namespace) if budget.covers(pod.pod))
            places = known[kind] = tuple(covers)
        breaks = False
        if places:
            remaining = left.setdefault(kind.namespace, [budget.allowed for budget in of_namespace])
            for place in places:
                if of_namespace[place].has_counted(pod.pod):
                    continue
                remaining[place] -= 1
                if remaining[place] < 0:
                    breaks = True
                    break
        (violating if breaks else others).append(pod)
    return violating, others


class Reprieve:
    """Who is spared first where pods have to go from a node: those whose loss would break a budget, and the more important ones
    before the others.

    Args:
        budgets: by namespace.
    """

    def __init__(self, budgets: Mapping[str, Sequence[Budget]], now: float) -> None:
        self._budgets = budgets
        self._now = now
        self._covering: _Covering = {}
        self._violating: set[str] = set()

    def order(self, pods: Sequence[PodInfo]) -> list[PodInfo]:
        """All pods of a node that may go, in the order in which they are spared."""
        ranked = by_importance(pods, self._now)
        if not self._budgets:
            return ranked
        violating, others = split_by_budgets(ranked, self._budgets, self._covering)
        self._violating.update(pod.uid for pod in violating)
        return [*violating, *others]

    def candidate(self, node_name: str, lost: tuple[PodInfo, ...]) -> Candidate | Status:
        """The node with those of the pods that could not be spared, in the same order."""
        if not lost:
            return Status(Code.ERROR, (f'expected at least one victim pod on node "{node_name}"',))
        violations = sum(pod.uid in self._violating for pod in lost) if self._violating else 0
        if violations and violations < len(lost):
            lost = tuple(by_importance(lost, self._now))
        return Candidate(node_name, lost, violations)
