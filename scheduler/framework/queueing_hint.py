"""What a plugin answers when it is asked whether an event can help a pod that it rejected (kube-scheduler 1.37: QueueingHint)."""

from __future__ import annotations

import enum

from scheduler.framework.pod_info import PodInfo


class Hint(enum.Enum):
    """The values are the words of the metrics."""

    QUEUE = "Queue"
    """The pod may be schedulable now: it is to be tried again."""
    SKIP = "QueueSkip"
    """The event does not help it, as far as this plugin can tell."""


def queue_if(helps: object) -> Hint:
    return Hint.QUEUE if helps else Hint.SKIP


def had_room(pod: PodInfo) -> bool:
    """Whether the pod was on a node, or room was kept for it there: without that its end frees nothing."""
    return bool(pod.pod.spec.node_name or pod.pod.status.nominated_node_name)
