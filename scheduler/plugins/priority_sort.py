"""PrioritySort: higher priority first, then who has waited longer (kube-scheduler 1.37: PrioritySort)."""

from __future__ import annotations

from scheduler.framework.plugin import QueueSortPlugin
from scheduler.framework.pod_info import PodInfo


class PrioritySort(QueueSortPlugin):
    name = "PrioritySort"

    def sort_key(self, pod: PodInfo, timestamp: float) -> tuple[int, float]:
        return (-pod.priority, timestamp)
