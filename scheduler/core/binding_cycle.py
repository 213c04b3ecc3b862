"""The binding cycle of pods in which plugins take part, from the choice of a node to the bind (kube-scheduler 1.37: bindingCycle).

::

    chosen --Reserve, Permit, PreBindPreFlight--> waits on Permit --> PreBind at work --> bind under way
      | refused                                     | rejected, timed out  | failed        | failed
      `--------------------------------> everything given back, the pod told and retried <-'

A pod without such plugins goes from the choice to the bind, and is never here.
"""

from __future__ import annotations

from scheduler.core.asking import ask, error_of
from scheduler.core.binding_cycles import BindingCycle
from scheduler.core.changes import ASSIGNED_POD_DELETE, placed
from scheduler.core.extend_binding import bind
from scheduler.core.failure import (
    REASON_ERROR,
    REASON_UNSCHEDULABLE,
    Failure,
    failure_instructions,
    reference_to,
    unfit,
)
from scheduler.core.instruction import Instruction, PatchObject, PatchPodStatus
from scheduler.core.measurements import ERROR, UNSCHEDULABLE
from scheduler.core.pre_bind import PreBindRun, check_step
from scheduler.core.reserving import unreserve
from scheduler.core.state import State
from scheduler.core.stimulus import ObjectPatched, ObjectPatchFailed
from scheduler.framework.binding import (
    Handle,
    ObjectKey,
    PatchAnswer,
    PreBindDone,
    PreBindFailed,
    PreBindStep,
    PreBindWaits,
    PreBindWrites,
)
from scheduler.framework.plugin import CycleState
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code, Status
from scheduler.profile.failure import Stage


def begin(state: State, cycle: BindingCycle, now: float) -> list[Instruction]:
    """The pod is assumed and reserved: let it wait, or go on, as Permit and PreBindPreFlight have said.

    Those outside who look at the pod, such as a cluster autoscaler, are told of its node when it will not be bound at once.
    """
    pod = cycle.pod
    state.binding_cycles.before_bind[pod.uid] = cycle
    instructions: list[Instruction] = []
    takes_time = cycle.wait is not None or bool(cycle.work.running)
    if takes_time and pod.pod.status.nominated_node_name != cycle.node_name:
        cycle.is_nominated = True
        instructions.append(PatchPodStatus(pod=reference_to(pod.pod), nominated_node_name=cycle.node_name))
    if cycle.wait is not None:
        cycle.wait.expire(now)
    else:
        instructions += _permitted(state, cycle, now)
    return instructions


def follow_permits(state: State, now: float) -> list[Instruction]:
    """Let those go on, or fail, of whom plugins have said so since the last call."""
    instructions: list[Instruction] = []
    cycles = state.binding_cycles
    while cycles.settled:
        cycle = cycles.before_bind.get(cycles.settled.popleft())
        verdict = None if cycle is None or cycle.wait is None else cycle.wait.verdict
        if cycle is None or cycle.wait is None or verdict is None:
            continue
        state.measurements.permit_waited(verdict.code.label, now - cycle.wait.since)
        if verdict.code is Code.SUCCESS:
            instructions += _permitted(state, cycle, now)
        elif not verdict.code.is_rejected:
            failure = Failure(REASON_ERROR, f"waiting on permit for pod: {verdict.message}")
            instructions += fail(state, cycle.pod.uid, failure, now)
        else:
            instructions += fail(state, cycle.pod.uid, unfit(verdict), now)
    return instructions


def expire(state: State, now: float) -> list[Instruction]:
    """Reject those that have waited on Permit for too long, and ask PreBind plugins whose deadline has come."""
    instructions: list[Instruction] = []
    for uid, cycle in list(state.binding_cycles.before_bind.items()):
        if cycle.wait is not None:
            cycle.wait.expire(now)
        elif uid in state.binding_cycles.before_bind:
            overdue = [run for run in cycle.work.running if run.is_overdue(now)]
            for run in overdue:
                state.binding_cycles.wake(run)
            if overdue:
                instructions += _work(state, cycle, now)
    return instructions


def object_changed(state: State, key: ObjectKey, now: float) -> list[Instruction]:
    """Ask the PreBind plugins that wait for a change of this object: it came, changed or went."""
    instructions: list[Instruction] = []
    for uid, run in state.binding_cycles.awaiting(key):
        cycle = state.binding_cycles.before_bind.get(uid)
        if cycle is not None and run in cycle.work.running:
            state.binding_cycles.wake(run)
            instructions += _work(state, cycle, now)
    return instructions


def patch_answered(state: State, stimulus: ObjectPatched | ObjectPatchFailed) -> list[Instruction]:
    """Send the next patch of the step, or ask the plugin for its next step. Nobody may wait for the answer any more."""
    sent = state.binding_cycles.answered(stimulus.number)
    if sent is None:
        return []
    uid, run = sent
    if isinstance(stimulus, ObjectPatched):
        run.answers.append(PatchAnswer(resource_version=stimulus.resource_version))
    else:
        run.answers.append(PatchAnswer(error=stimulus.error))
    cycle = state.binding_cycles.before_bind[uid]
    return _send_next(state, cycle, run) or _work(state, cycle, stimulus.now)


def _permitted(state: State, cycle: BindingCycle, now: float) -> list[Instruction]:
    cycle.wait = None
    cycle.pre_bind_began = now
    # From here on a failure is an error: no event of the past is worth looking at then.
    state.queue.done(cycle.pod.uid)
    return _work(state, cycle, now)


def _work(state: State, cycle: BindingCycle, now: float) -> list[Instruction]:
    """Ask whoever is due, until all that are left wait for something; bind the pod when nobody is left."""
    instructions: list[Instruction] = []
    while running := cycle.work.running:
        due = [run for run in running if run.is_due]
        if not due:
            return instructions
        for run in due:
            failure = _step(state, cycle, run, now)
            if failure is not None:
                # What the others wanted to write in this round is not needed any more.
                _pre_bind_ended(state, cycle, failure.code, now)
                return fail(state, cycle.pod.uid, failure, now)
            instructions += _send_next(state, cycle, run)
    _pre_bind_ended(state, cycle, Code.SUCCESS, now)
    state.binding_cycles.leave(cycle.pod.uid)
    return [*instructions, bind(state, cycle.pod, cycle.node_name)]


def _pre_bind_ended(state: State, cycle: BindingCycle, code: Code, now: float) -> None:
    state.measurements.point_took(Stage.PRE_BIND, cycle.profile.scheduler_name, code, now - cycle.pre_bind_began)


def _step(state: State, cycle: BindingCycle, run: PreBindRun, now: float) -> Failure | None:
    plugin, answers = run.plugin, tuple(run.answers)

    def pre_bind(notes: CycleState, pod: PodInfo, node_name: str, handle: Handle) -> PreBindStep:
        step = plugin.pre_bind(notes, pod, node_name, handle, answers)
        check_step(plugin, step)
        return step

    step = ask(
        state, cycle, plugin, Stage.PRE_BIND, pre_bind, now, PreBindDone, PreBindFailed, PreBindWrites, PreBindWaits
    )
    if isinstance(step, Status | PreBindFailed):
        status = step if isinstance(step, Status) else step.status
        if status.code.is_rejected:
            return Failure(REASON_UNSCHEDULABLE, status.message, code=status.code)
        return error_of(state, Stage.PRE_BIND, plugin, status)
    run.take(step)
    state.binding_cycles.wait_for(cycle.pod.uid, run)
    return None


def _send_next(state: State, cycle: BindingCycle, run: PreBindRun) -> list[Instruction]:
    patch = run.patch_to_send
    if patch is None:
        return []
    number = state.binding_cycles.number(cycle.pod.uid, run)
    return [PatchObject(number=number, pod=reference_to(cycle.pod.pod), patch=patch)]


def abandon(state: State, uid: str, now: float) -> None:
    """The pod is gone, or someone else has bound it, before its bind began: there is nothing to retry and nobody to tell."""
    cycle = state.binding_cycles.before_bind.get(uid)
    binding = state.bindings.get(uid)
    if cycle is None or binding is None:
        return
    del state.bindings[uid]
    state.binding_cycles.leave(uid)
    unreserve(state, cycle, now)
    state.queue.done(uid)
    state.measurements.attempt(ERROR, cycle.profile.scheduler_name, now - binding.started)


def fail(state: State, uid: str, failure: Failure, now: float) -> list[Instruction]:
    """The pod does not get to its node: all that was kept there is free, others may use it, and it is tried again.

    A pod that is gone, or that someone else bound meanwhile, needs no retry and no complaint (kube-scheduler 1.37:
    handleBindingCycleError).
    """
    binding = state.bindings.pop(uid)
    queued, latest, cycle = binding.queued, binding.latest, binding.cycle
    controller = queued.pod.pod.spec.scheduler_name
    is_rejected = failure.reason == REASON_UNSCHEDULABLE
    state.measurements.attempt(UNSCHEDULABLE if is_rejected else ERROR, controller, now - binding.started)
    state.binding_cycles.leave(uid)
    if cycle is not None:
        unreserve(state, cycle, now)
    known = state.cache.pod(uid)
    is_freed = known is not None and known.assumed
    if is_freed:
        state.cache.forget(uid)
    if is_freed and not is_rejected:
        state.queue.move_all(ASSIGNED_POD_DELETE, now, old=placed(queued.pod, binding.node_name))
    instructions: list[Instruction] = []
    if latest is None or (known is not None and not is_freed):
        state.queue.done(uid)
    else:
        state.queue.add_failed(queued, latest, failure.plugins, now, pending=failure.pending)
        instructions += failure_instructions(
            latest.pod,
            reason=failure.reason,
            message=failure.message,
            controller=controller,
            now=now,
            is_nominated=cycle is not None and cycle.is_nominated,
        )
    if is_freed and is_rejected:
        # Only now, and not for the pod itself: its own room does not help it.
        freed = placed(queued.pod, binding.node_name)
        state.queue.move_all(ASSIGNED_POD_DELETE, now, old=freed, except_uid=uid)
    return instructions
