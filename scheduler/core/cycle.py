"""The scheduling cycle: one pod, one decision (kube-scheduler 1.37: scheduleOne)."""

from __future__ import annotations

import msgspec

from scheduler.core.batching import Decision, Mismatch
from scheduler.core.binding_cycle import begin, follow_permits
from scheduler.core.binding_cycles import BindingCycle
from scheduler.core.extend_binding import bind
from scheduler.core.extend_preemption import Consulting
from scheduler.core.extending import Extended, Extending
from scheduler.core.failure import (
    REASON_ERROR,
    REASON_UNSCHEDULABLE,
    Failure,
    failure_instructions,
    warning,
)
from scheduler.core.instruction import AskExtender, Instruction
from scheduler.core.measurements import ASKING, ASSUMED, ERROR, SKIPPED, UNSCHEDULABLE
from scheduler.core.preemption import NOTHING_TO_DO, AfterFilter, nominate, post_filter, preempt
from scheduler.core.reserving import reserve
from scheduler.core.state import MISSING_RULE, Binding, State
from scheduler.profile.failure import PluginFailure
from scheduler.profile.profile import Profile
from scheduler.profile.refusal import refusal
from scheduler.queue.queued_pod import QueuedPod

NO_NODES = "no nodes available to schedule pods"


class CycleResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one pod in one cycle; also the content of its log line.

    ``feasible``: nodes that it fits on, less those kept for nominated pods.
    ``batch``: whether and how the batch cache was used, in the words of its metrics; ``is_checked``: all nodes were evaluated to
    check what it gave; ``mismatch``: that failed.
    ``outcome``: ASSUMED (a bind is on its way), UNSCHEDULABLE, ERROR or SKIPPED; or ASKING: the decision is still to come.
    """

    pod: str
    uid: str
    profile: str
    attempt: int
    outcome: str
    instructions: list[Instruction]
    node_name: str = ""
    feasible: int = 0
    message: str = ""
    plugins: tuple[str, ...] = ()
    batch: str = ""
    mismatch: Mismatch | None = None
    is_checked: bool = False


def schedule_one(state: State, now: float) -> CycleResult | None:
    """Pop a pod and decide where it goes; None when nobody waits, or when extenders still have to say where one goes.

    While extenders are asked about a pod the result says so (ASKING), and no other pod is popped.
    """
    if state.extending is not None:
        return _go_on(state, state.extending, now)
    queued = state.queue.pop(now)
    if queued is None:
        return None
    pod = queued.pod
    profile = state.profiles.get(pod.pod.spec.scheduler_name)
    assert profile is not None, f"pod {pod.key} is queued and no profile's"
    if pod.pod.metadata.deletion_timestamp is not None:
        state.queue.done(pod.uid)
        message = f"skip schedule deleting pod: {pod.key}"
        return _result(queued, SKIPPED, [warning(pod.pod, message, profile.scheduler_name, now)], message=message)
    missing = refusal(pod, state.cache)
    if missing is not None:
        return _fail(state, queued, Failure(REASON_ERROR, missing, (MISSING_RULE,)), now)
    if state.cache.table.node_count == 0:
        # Without a rejecting plugin this is retried after a back-off, whatever happens.
        return _fail(state, queued, Failure(REASON_UNSCHEDULABLE, NO_NODES), now)
    try:
        return _decide(state, queued, profile, now)
    except PluginFailure as failure:
        return _plugin_failed(state, queued, failure, now)


def _plugin_failed(state: State, queued: QueuedPod, failure: PluginFailure, now: float) -> CycleResult:
    state.measurements.plugin_failures[failure.plugin] += 1
    state.measurements.stage_errors[failure.plugin, failure.stage.value] += 1
    return _fail(state, queued, Failure(REASON_ERROR, str(failure)), now)


def _decide(state: State, queued: QueuedPod, profile: Profile, now: float) -> CycleResult:
    if state.extenders and state.extenders.take_part(queued.pod):
        return _begin_extending(state, queued, profile, now)
    return _settle(state, queued, profile, state.batching.decide(queued, profile, now), now)


def _begin_extending(state: State, queued: QueuedPod, profile: Profile, now: float) -> CycleResult:
    decision = state.batching.decide(queued, profile, now, counts=False)
    if decision.row is None:
        state.batching.count(profile, decision)
        return _settle(state, queued, profile, decision, now)
    extending = Extending(state, queued, profile, decision, now)
    return _extended(state, extending, extending.begin(), now)


def _go_on(state: State, extending: Extending | Consulting, now: float) -> CycleResult | None:
    """Go on with the pod about which extenders were asked; None while they have not answered."""
    queued, latest = extending.queued, extending.latest
    if latest is None or latest.pod.metadata.deletion_timestamp is not None:
        state.extending = None
        decision = extending.abandon()
        if decision is not None:
            state.batching.count(extending.profile, decision)
        state.queue.done(queued.pod.uid)
        if latest is None:
            return _result(queued, SKIPPED, [], message=f"pod {queued.pod.key} needs no node any more")
        message = f"skip schedule deleting pod: {queued.pod.key}"
        event = warning(latest.pod, message, extending.profile.scheduler_name, now)
        return _result(queued, SKIPPED, [event], message=message)
    if extending.is_waiting:
        return None
    state.extending = None
    if latest is not queued.pod:
        state.queue.take_newer(queued, latest)
    if isinstance(extending, Consulting):
        return _consult(state, extending, now)
    try:
        return _extended(state, extending, extending.go_on(), now)
    except PluginFailure as failure:
        state.batching.count(extending.profile, extending.abandon())
        return _plugin_failed(state, queued, failure, now)


def _extended(state: State, extending: Extending, step: list[AskExtender] | Extended, now: float) -> CycleResult:
    """Wait for answers, or end the cycle as they say."""
    queued, profile = extending.queued, extending.profile
    if isinstance(step, list):
        state.extending = extending
        return _result(queued, ASKING, list(step))
    decision = step.decision
    state.batching.count(profile, decision)
    if step.error:
        return _fail(state, queued, Failure(REASON_ERROR, step.error), now, decision)
    result = _settle(state, queued, profile, decision, now, step.rejectors)
    binding = state.bindings.get(queued.pod.uid)
    if binding is not None:
        binding.started = extending.began
    return result


def _settle(
    state: State,
    queued: QueuedPod,
    profile: Profile,
    decision: Decision,
    now: float,
    rejectors: tuple[str, ...] = (),
) -> CycleResult:
    """Assume the pod on its node, or tell why there is none. ``rejectors`` are among those that refused it."""
    pod, cache, queue = queued.pod, state.cache, state.queue
    evaluation, row = decision.evaluation, decision.row
    if row is None:
        instead = decision.instead
        unfit = Failure(
            REASON_UNSCHEDULABLE,
            evaluation.failure_message(instead),
            evaluation.rejectors(instead) + rejectors,
            evaluation.pending_rejectors(instead),
        )
        if not profile.post_filter:
            return _fail(state, queued, unfit, now, decision)
        after = post_filter(state, profile, pod, evaluation, instead, now)
        if after.candidates and state.extenders:
            return _consult(state, Consulting(state, queued, profile, decision, unfit, after), now)
        return _fail_after(state, queued, unfit, now, decision, after)
    uid = pod.uid
    node_name = cache.table.name_of(row)
    plugins = profile.taking_part(pod) if profile.binding_plugins else ()
    cache.assume(pod, node_name)
    cycle = None
    if plugins:
        states = {plugin.name: evaluation.state_of(plugin.name) for plugin in plugins}
        cycle = BindingCycle(pod, node_name, profile, states, is_timed=state.batching.is_timed)
        failure = reserve(state, cycle, now)
        if failure is not None:
            cache.forget(uid)
            return _refused(state, queued, failure, decision, now)
    else:
        queue.done(uid)
    kept = queue.nominator.node_of.get(uid) if queue.nominator.node_of else None
    nominated = queue.nominator.remove(uid) if kept is not None else None
    if nominated is not None and kept != node_name:
        # It goes elsewhere; kube-scheduler leaves those who wait for that room to the five-minute flush.
        state.release_nomination(nominated, now)
    state.bindings[uid] = Binding(queued, node_name, now, pod, cache.table.position, cycle, profile)
    instructions: list[Instruction]
    if cycle is None:
        instructions = [bind(state, pod, node_name)]
    else:
        instructions = [*begin(state, cycle, now), *follow_permits(state, now)]
    return CycleResult(
        pod=pod.key,
        uid=uid,
        profile=profile.scheduler_name,
        attempt=queued.attempts,
        outcome=ASSUMED,
        instructions=instructions,
        node_name=node_name,
        feasible=evaluation.fitting_count(decision.instead),
        batch=decision.batch._value_,  # ``value`` is a call, and a slow one
        mismatch=decision.mismatch,
        is_checked=decision.is_checked,
    )


def _consult(state: State, consulting: Consulting, now: float) -> CycleResult:
    """Ask extenders about the candidates of a preemption, or end the cycle as they said."""
    step = consulting.go_on(now)
    if isinstance(step, AskExtender):
        state.extending = consulting
        return _result(consulting.queued, ASKING, [step])
    return _fail_after(state, consulting.queued, consulting.failure, now, consulting.decision, step)


def _fail_after(
    state: State, queued: QueuedPod, failure: Failure, now: float, decision: Decision, after: AfterFilter
) -> CycleResult:
    """The pod fits nowhere, and ``after`` says what preemption makes of it."""
    if after.message:
        failure = failure._replace(message=f"{failure.message} {after.message}")
    return _fail(state, queued, failure, now, decision, after)


def _refused(state: State, queued: QueuedPod, failure: Failure, decision: Decision, now: float) -> CycleResult:
    """Reserve, Permit or PreBindPreFlight has refused the chosen node."""
    result = _fail(state, queued, failure, now, decision)
    result.instructions.extend(follow_permits(state, now))
    return result


def _fail(
    state: State,
    queued: QueuedPod,
    failure: Failure,
    now: float,
    decision: Decision | None = None,
    after: AfterFilter = NOTHING_TO_DO,
) -> CycleResult:
    """Requeue first: the status patch comes back as an update, which must find the pod parked."""
    reason, message, plugins, pending, _ = failure
    outcome = UNSCHEDULABLE if reason == REASON_UNSCHEDULABLE else ERROR
    state.measurements.attempts[outcome, queued.pod.pod.spec.scheduler_name] += 1
    written = state.queue.nominator.node_of.get(queued.pod.uid, "")
    state.queue.add_failed(queued, queued.pod, plugins, now, pending=pending)
    nominate(state, queued.pod, after.nominated_node_name)
    instructions = list(
        failure_instructions(
            queued.pod.pod,
            reason=reason,
            message=message,
            controller=queued.pod.pod.spec.scheduler_name,
            now=now,
            is_nominated=bool(written) and written != after.nominated_node_name,
            nominated_node_name=after.nominated_node_name,
        )
    )
    if after.preemption is not None:
        instructions += preempt(state, queued.pod, after.plugin, after.preemption, now)
    return _result(queued, outcome, instructions, message=message, plugins=plugins, decision=decision)


def _result(
    queued: QueuedPod,
    outcome: str,
    instructions: list[Instruction],
    *,
    message: str = "",
    plugins: tuple[str, ...] = (),
    decision: Decision | None = None,
) -> CycleResult:
    return CycleResult(
        pod=queued.pod.key,
        uid=queued.pod.uid,
        profile=queued.pod.pod.spec.scheduler_name,
        attempt=queued.attempts,
        outcome=outcome,
        instructions=instructions,
        feasible=0 if decision is None else decision.evaluation.fitting_count(decision.instead),
        batch="" if decision is None else decision.batch.value,
        mismatch=None if decision is None else decision.mismatch,
        is_checked=decision is not None and decision.is_checked,
        message=message,
        plugins=plugins,
    )
