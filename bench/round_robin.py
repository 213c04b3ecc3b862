"""A Brain that decides nothing: the next pod goes to the next node. What is left is the cost of the edge.

It keeps the pods that wait and the names of the nodes, and nothing of what a scheduler has to know: no requests, no
cache, no queue with its rooms. So the edge around it - reflectors, loop, dispatcher, Events, log lines - is all that takes time.
"""

from __future__ import annotations

from collections import deque

from scheduler.api.objects import Pod, key_of
from scheduler.core.cycle import CycleResult
from scheduler.core.instruction import BindPod, Instruction, PodReference, RecordEvent
from scheduler.core.measurements import ASSUMED
from scheduler.core.state import Complaint
from scheduler.core.stimulus import BindFailed, NodeApplied, PodApplied, PodBound, Stimulus


class RoundRobin:
    """Binds the pods of one scheduler name.

    ``binding`` has the pods whose bind has not been answered, by uid, each with its node.
    """

    def __init__(self, scheduler_name: str) -> None:
        self.binding: dict[str, tuple[Pod, str]] = {}
        self._scheduler_name = scheduler_name
        self._nodes: deque[str] = deque()
        self._known_nodes: set[str] = set()
        self._waiting: deque[Pod] = deque()
        self._known_pods: set[str] = set()

    def handle(self, stimulus: Stimulus) -> list[Instruction]:
        match stimulus:
            case PodApplied(pod=pod):
                self._pod_applied(pod)
            case PodBound(uid=uid, now=now):
                return [self._told(*self.binding.pop(uid), now)]
            case BindFailed(uid=uid):
                self._waiting.append(self.binding.pop(uid)[0])
            case NodeApplied(node=node) if node.metadata.name not in self._known_nodes:
                self._known_nodes.add(node.metadata.name)
                self._nodes.append(node.metadata.name)
            case _:
                pass
        return []

    def schedule_one(self, now: float) -> CycleResult | None:
        if not self._waiting or not self._nodes:
            return None
        pod, node = self._waiting.popleft(), self._nodes[0]
        self._nodes.rotate(-1)
        self.binding[pod.metadata.uid] = (pod, node)
        return CycleResult(
            pod=key_of(pod.metadata),
            uid=pod.metadata.uid,
            profile=self._scheduler_name,
            attempt=1,
            outcome=ASSUMED,
            instructions=[BindPod(pod=_reference(pod), node_name=node)],
            node_name=node,
            feasible=len(self._nodes),
        )

    def take_complaints(self) -> list[Complaint]:
        return []

    def _pod_applied(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        if uid in self._known_pods or pod.spec.node_name or pod.spec.scheduler_name != self._scheduler_name:
            return
        self._known_pods.add(uid)
        self._waiting.append(pod)

    def _told(self, pod: Pod, node: str, now: float) -> RecordEvent:
        return RecordEvent(
            pod=_reference(pod),
            type="Normal",
            reason="Scheduled",
            action="Binding",
            note=f"Successfully assigned {key_of(pod.metadata)} to {node}",
            controller=self._scheduler_name,
            now=now,
        )


def _reference(pod: Pod) -> PodReference:
    metadata = pod.metadata
    return PodReference(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )
