"""How a bind ends (kube-scheduler 1.37: bindingCycle)."""

from __future__ import annotations

from scheduler.core.asking import ask
from scheduler.core.binding_cycle import fail
from scheduler.core.binding_cycles import BindingCycle
from scheduler.core.failure import REASON_ERROR, Failure, reference_to
from scheduler.core.instruction import Instruction, RecordEvent
from scheduler.core.kubelet_rejections import RUNNING
from scheduler.core.measurements import SCHEDULED
from scheduler.core.state import Binding, State
from scheduler.core.stimulus import BindFailed, PodBound, PodRead
from scheduler.profile.failure import Stage


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
    instructions = _look_after(state, binding, stimulus.now)
    cycle = binding.cycle
    if cycle is not None:
        post_bind = state.observers[cycle.profile.scheduler_name].timed_point(Stage.POST_BIND, _post_bind)
        post_bind(state, cycle, stimulus.now)
    return [
        RecordEvent(
            pod=reference_to(pod),
            type="Normal",
            reason="Scheduled",
            action="Binding",
            note=f"Successfully assigned {queued.pod.key} to {binding.node_name}",
            controller=controller,
            now=stimulus.now,
        ),
        *instructions,
    ]


def _post_bind(state: State, cycle: BindingCycle, now: float) -> None:
    for plugin in cycle.taking_part(cycle.profile.post_bind):
        ask(state, cycle, plugin, Stage.POST_BIND, plugin.post_bind, now)


def _look_after(state: State, binding: Binding, now: float) -> list[Instruction]:
    """Wait for a sign of life from the node; the pod may have shown one, or be gone, before the answer to its bind came."""
    pod = binding.queued.pod
    known = state.cache.pod(pod.uid)
    if known is not None and known.pod.pod.status.phase == RUNNING:
        return []
    state.kubelet_rejections.bound(binding.queued, binding.node_name)
    if known is not None:
        return []
    return state.kubelet_rejections.left(reference_to(pod.pod), now, is_terminating=False)


def pod_read(state: State, stimulus: PodRead) -> list[Instruction]:
    """How a pod ended that nobody saw run."""
    found = state.kubelet_rejections.read(stimulus.uid, stimulus.phase, stimulus.reason, stimulus.message, stimulus.now)
    if found is None:
        return []
    rejection, event = found
    state.measurements.kubelet_rejections[rejection.reason] += 1
    state.complaints.append(rejection)
    return [event]


def bind_failed(state: State, stimulus: BindFailed) -> list[Instruction]:
    """The pod is not on the node, and the API server has said why."""
    if stimulus.uid not in state.bindings:
        return []
    message = f'running Bind plugin "DefaultBinder": {stimulus.error}'
    return fail(state, stimulus.uid, Failure(REASON_ERROR, message), stimulus.now)
