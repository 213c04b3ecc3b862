"""Which pods of a node would have to go (kube-scheduler 1.37: SelectVictimsOnNode)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from scheduler.api.objects import Pod
from scheduler.framework.disruption import Budget
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.post_filter import Candidate, NodeTrial
from scheduler.framework.status import Code, Status

NO_VICTIMS = "No preemption victims found for incoming pod"
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
    return sorted(pods, key=lambda pod: (-pod.priority, started_at(pod.pod, now)))


def is_terminating_victim(pod: Pod) -> bool:
    """Whether the pod is going because a scheduler has preempted it."""
    if pod.metadata.deletion_timestamp is None:
        return False
    for condition in pod.status.conditions or ():
        if condition.type == DISRUPTION_TARGET:
            return condition.status == "True" and condition.reason == PREEMPTED_BY_SCHEDULER
    return False


def split_by_budgets(
    pods: Iterable[PodInfo], budgets: Mapping[str, Sequence[Budget]]
) -> tuple[list[PodInfo], list[PodInfo]]:
    """Pods, the most important first, whose loss would break a budget, and the others.

    A pod is charged to every budget that covers it, up to the first that has nothing left.

    Args:
        budgets: by namespace.
    """
    left: dict[str, list[int]] = {}
    violating: list[PodInfo] = []
    others: list[PodInfo] = []
    for pod in pods:
        namespace = pod.pod.metadata.namespace
        of_namespace = budgets.get(namespace, ())
        remaining = left.setdefault(namespace, [budget.allowed for budget in of_namespace])
        breaks = False
        for index, budget in enumerate(of_namespace):
            if budget.charges(pod.pod):
                remaining[index] -= 1
                if remaining[index] < 0:
                    breaks = True
                    break
        (violating if breaks else others).append(pod)
    return violating, others


def select_victims(
    node_name: str,
    lower: Sequence[PodInfo],
    trial: NodeTrial,
    budgets: Mapping[str, Sequence[Budget]],
    now: float,
) -> Candidate | Status:
    """The fewest important pods that have to go; a status says why it would not help if all of ``lower`` went.

    First all of them go. Then they are spared, one at a time, for as long as the pod still fits: those first whose loss would
    break a budget, and the more important before the others.

    Args:
        lower: pods on the node of a lower priority than that of the pod that needs room; at least one.
        budgets: by namespace.
    """
    for pod in lower:
        trial.remove(pod)
    status = trial.status()
    if status.code is not Code.SUCCESS:
        return status
    violating, others = split_by_budgets(by_importance(lower, now), budgets)
    broken = [pod for pod in violating if not _is_spared(pod, trial)]
    lost = [pod for pod in others if not _is_spared(pod, trial)]
    if not broken and not lost:
        return Status(Code.ERROR, (f'expected at least one victim pod on node "{node_name}"',))
    return Candidate(node_name, tuple(by_importance((*broken, *lost), now)), len(broken))


def _is_spared(pod: PodInfo, trial: NodeTrial) -> bool:
    trial.restore(pod)
    if trial.status().code is Code.SUCCESS:
        return True
    trial.remove(pod)
    return False
