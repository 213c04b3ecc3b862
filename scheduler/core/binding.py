"""How a bind ends (kube-scheduler 1.37: bindingCycle)."""

from __future__ import annotations

from scheduler.core.changes import ASSIGNED_POD_DELETE
from scheduler.core.failure import REASON_ERROR, failure_instructions, reference_to
from scheduler.core.instruction import Instruction, RecordEvent
from scheduler.core.measurements import ERROR, SCHEDULED
from scheduler.core.state import State
from scheduler.core.stimulus import BindFailed, PodBound


def pod_bound(state: State, stimulus: PodBound) -> list[Instruction]:
    """The API server took the bind; the watch will show it, which confirms the assumed pod."""
    binding = state.bindings.pop(stimulus.uid, None)
    if binding is None:
        return []
    queued, pod = binding.queued, binding.queued.pod.pod
    controller = pod.spec.scheduler_name
    state.measurements.attempt(SCHEDULED, controller, stimulus.now - binding.started)
    first_entry = queued.initial_attempt_timestamp
    state.measurements.scheduled(
        queued.attempts, stimulus.now - (binding.started if first_entry is None else first_entry), queued.was_flushed
    )
    return [
        RecordEvent(
            pod=reference_to(pod),
            type="Normal",
            reason="Scheduled",
            action="Binding",
            note=f"Successfully assigned {queued.pod.key} to {binding.node_name}",
            controller=controller,
            now=stimulus.now,
        )
    ]


def bind_failed(state: State, stimulus: BindFailed) -> list[Instruction]:
    """The pod is not on the node: its place is free, others may use it, and it is retried after a back-off.

    A pod that is gone, or that someone else bound meanwhile, needs no retry and no complaint.
    """
    binding = state.bindings.pop(stimulus.uid, None)
    if binding is None:
        return []
    queued, latest = binding.queued, binding.latest
    controller = queued.pod.pod.spec.scheduler_name
    state.measurements.attempt(ERROR, controller, stimulus.now - binding.started)
    known = state.cache.pod(stimulus.uid)
    if known is not None and known.assumed:
        state.cache.forget(stimulus.uid)
        state.queue.move_all(ASSIGNED_POD_DELETE, stimulus.now)
    elif known is not None:
        return []
    if latest is None:
        return []
    state.queue.add_failed(queued, latest, (), stimulus.now)
    message = f'running Bind plugin "DefaultBinder": {stimulus.error}'
    return list(
        failure_instructions(
            latest.pod,
            reason=REASON_ERROR,
            message=message,
            controller=controller,
            now=stimulus.now,
        )
    )
