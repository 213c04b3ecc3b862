"""SchedulingGates: a pod with scheduling gates stays out of the active queue (kube-scheduler 1.37: SchedulingGates)."""

from __future__ import annotations

from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.plugin import EnqueueExtensions, PreEnqueuePlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Code, Status


class SchedulingGates(PreEnqueuePlugin, EnqueueExtensions):
    name = "SchedulingGates"

    def pre_enqueue(self, pod: PodInfo) -> Status:
        gates = pod.pod.spec.scheduling_gates
        if not gates:
            return SUCCESS
        listed = " ".join(gate.name for gate in gates)
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (f"waiting for scheduling gates: [{listed}]",), self.name)

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED),)
