"""A queue to play with: three plugins by what they register for, one of which gates."""

from __future__ import annotations

from typing import Any

import msgspec

from scheduler.api.objects import Pod
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Code, Status
from scheduler.queue.backoff import Backoff
from scheduler.queue.hearing import Hearing
from scheduler.queue.queued_pod import QueuedPod, Room
from scheduler.queue.scheduling_queue import SchedulingQueue

NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_TAINT = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
GATES_GONE = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
POD_UPDATE = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE)

REGISTERED = {
    "Fit": (ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE),),
    "Taints": (ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT),),
    "Gates": (GATES_GONE,),
}


def make(uid: str = "a", priority: int = 0, gated: bool = False, version: str = "1") -> PodInfo:
    pod = {
        "metadata": {"name": uid, "namespace": "default", "uid": uid, "resourceVersion": version},
        "spec": {"priority": priority, "schedulingGates": [{"name": "g"}] if gated else None},
    }
    return PodInfo(msgspec.convert(pod, Pod))


def gate(pod: PodInfo) -> Status:
    if pod.pod.spec.scheduling_gates:
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("waiting",), "Gates")
    return SUCCESS


def sort_key(pod: PodInfo, timestamp: float) -> tuple[Any, ...]:
    return (-pod.priority, timestamp)


def make_queue(**options: Any) -> SchedulingQueue:
    given: dict[str, Any] = {"pre_enqueue": gate, "hearing": Hearing(registered_events), **options}
    return SchedulingQueue(sort_key=sort_key, backoff=Backoff(), **given)


def registered_events(_pod: PodInfo, plugin: str) -> tuple[ClusterEvent, ...]:
    return REGISTERED.get(plugin, ())


def pop(queue: SchedulingQueue, now: float) -> QueuedPod:
    queued = queue.pop(now)
    assert queued is not None
    return queued


def reject(queue: SchedulingQueue, now: float, *plugins: str) -> QueuedPod:
    """Pop the next pod and fail it."""
    queued = pop(queue, now)
    queue.add_failed(queued, queued.pod, plugins, now)
    return queued


def room_of(queue: SchedulingQueue, uid: str) -> Room | None:
    queued = queue.get(uid)
    return None if queued is None else queued.room
