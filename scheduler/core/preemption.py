"""What follows when a pod fits nowhere: PostFilter, and the end of those who have to make room (kube-scheduler 1.37: preemption).

::

    fits nowhere --PostFilter--> nominated, parked; victims but the last are deleted --> the last one --> finished
                     |                                      | one could not be deleted ---------------------^
                     `-> nothing helps: parked
"""

from __future__ import annotations

from typing import NamedTuple

from scheduler.core.binding_cycle import fail, follow_permits
from scheduler.core.failed_cycle import UnfitCycle
from scheduler.core.failure import REASON_ERROR, Failure, condition_order, news, reference_to
from scheduler.core.instruction import Condition, Instruction, PatchPodStatus, PreemptPod, RecordEvent
from scheduler.core.plugin_answers import check_post_filter
from scheduler.core.preemptions import GATE, RunningPreemption
from scheduler.core.state import State
from scheduler.core.stimulus import PodPreempted, PreemptPodFailed
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.post_filter import Candidate, Preemption
from scheduler.framework.status import Code, Status
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.failure import PluginFailure, Stage
from scheduler.profile.filtering import Verdicts
from scheduler.profile.profile import Profile

DISRUPTION_TARGET = "DisruptionTarget"
PREEMPTED_BY_SCHEDULER = "PreemptionByScheduler"


class AfterFilter(NamedTuple):
    """What PostFilter plugins made of a failure.

    Attributes:
        message: what is told after the reasons; "" for nothing.
        nominated_node_name: see PostFilterResult; without plugins a nomination is taken away.
        preemption: what is to be done now, and the plugin that wants it.
        candidates: what that was chosen from.
        status: the outcome, for metrics.
    """

    message: str = ""
    nominated_node_name: str | None = ""
    preemption: Preemption | None = None
    plugin: str = ""
    candidates: tuple[Candidate, ...] = ()
    status: Status = Status(Code.UNSCHEDULABLE)


NOTHING_TO_DO = AfterFilter()


def post_filter(
    state: State, profile: Profile, pod: PodInfo, evaluation: Evaluation, instead: Verdicts, now: float
) -> AfterFilter:
    """Ask the PostFilter plugins in order, until one has an answer (kube-scheduler 1.37: RunPostFilterPlugins).

    Of those that cannot help, the last that says something of the nomination is heard.
    """
    cycle = UnfitCycle(state, pod, evaluation, instead, now)
    return state.observers[profile.scheduler_name].timed_point(Stage.POST_FILTER, _post_filter)(
        state, profile, pod, cycle
    )


def _post_filter(state: State, profile: Profile, pod: PodInfo, cycle: UnfitCycle) -> AfterFilter:
    observer = state.observers[profile.scheduler_name]
    reasons: list[str] = []
    nominated: str | None = None
    for plugin in profile.post_filter:
        state.measurements.preemption_attempts += plugin.name == GATE
        ask = plugin.post_filter
        if state.batching.is_timed:
            ask = observer.timed(plugin.name, Stage.POST_FILTER, ask)
        try:
            result = ask(pod, cycle)
            check_post_filter(result)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            text = f'running PostFilter plugin "{plugin.name}": {error}'
            state.plugin_failed(PluginFailure(text, plugin.name, Stage.POST_FILTER), pod)
            return AfterFilter(text, None, status=Status(Code.ERROR))
        status = result.status
        if status.code is Code.SUCCESS:
            return AfterFilter(
                status.message, result.nominated_node_name, result.preemption, plugin.name, result.candidates, status
            )
        if status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return AfterFilter(status.message, result.nominated_node_name, status=status)
        if not status.code.is_rejected:
            return AfterFilter(status.message, None, status=status)
        if result.nominated_node_name is not None:
            nominated = result.nominated_node_name
        reasons += status.reasons
    return AfterFilter(", ".join(reasons), nominated)


def nominate(state: State, pod: PodInfo, node_name: str | None) -> None:
    """Keep room for a pod that has just failed, before the API shows that it is nominated; None leaves it as the pod says."""
    kept = pod.pod.status.nominated_node_name if node_name is None else node_name
    if kept and state.queue.get(pod.uid) is not None:
        state.queue.nominator.nominate(pod, kept)


def preempt(state: State, pod: PodInfo, plugin: str, preemption: Preemption, now: float) -> list[Instruction]:
    """Begin to remove the victims; the preemptor is queued again and nominated already.

    Who is on the way out needs nothing from us. Pods of lower priority lose their nomination to the node.
    """
    node_name, victims = preemption
    state.measurements.preemption_victims.observe(float(len(victims)))
    staying = [victim for victim in victims if victim.pod.metadata.deletion_timestamp is None]
    if not staying:
        return []
    running = RunningPreemption(pod, node_name, plugin, staying[-1])
    state.preemptions.running[pod.uid] = running
    instructions: list[Instruction] = []
    for other in state.queue.nominator.below(node_name, pod.priority):
        state.queue.nominator.remove(other.uid)
        instructions.append(PatchPodStatus(pod=reference_to(other.pod), nominated_node_name=""))
    for victim in staying[:-1]:
        instructions += _remove(state, running, victim, now)
    return [*instructions, *_go_on(state, running, now)]


def preemption_answered(state: State, stimulus: PodPreempted | PreemptPodFailed) -> list[Instruction]:
    """One victim is deleted, or it could not be."""
    sent = state.preemptions.answered(stimulus.number)
    if sent is None:
        return []
    running, victim = sent
    instructions: list[Instruction] = []
    if isinstance(stimulus, PreemptPodFailed):
        running.has_failed = True
    elif stimulus.is_gone:
        # Its end may have been told before the preemptor was there to hear of it.
        running.must_activate = True
    else:
        instructions.append(_event(running, victim, stimulus.now))
    return [*instructions, *_go_on(state, running, stimulus.now)]


def _go_on(state: State, running: RunningPreemption, now: float) -> list[Instruction]:
    """The last victim's turn when all others have been dealt with; the end when it has been, or when it is not needed."""
    if running.unanswered:
        return []
    if not running.is_last_sent and not running.has_failed and _is_wanted(state, running):
        running.is_last_sent = True
        return [*_remove(state, running, running.last, now), *_go_on(state, running, now)]
    _end(state, running, now)
    return []


def _is_wanted(state: State, running: RunningPreemption) -> bool:
    """Whether the preemptor still waits: for one that is gone nobody else has to go."""
    queued = state.queue.get(running.preemptor.uid)
    if queued is None:
        return state.queue.is_in_flight(running.preemptor.uid)
    return queued.pod.pod.metadata.deletion_timestamp is None


def _end(state: State, running: RunningPreemption, now: float) -> None:
    state.preemptions.finish(running)
    state.measurements.preemption_runs["error" if running.has_failed else "success"] += 1
    uid = running.preemptor.uid
    queued = state.queue.get(uid)
    # What came while it was held back is not told again (kubernetes/kubernetes#141694, #140082).
    is_late = queued is not None and queued.gating_plugin == GATE and state.cache.pod(running.last.uid) is None
    if running.has_failed or running.must_activate or is_late:
        state.queue.activate((uid,), now)


def _remove(state: State, running: RunningPreemption, victim: PodInfo, now: float) -> list[Instruction]:
    """Take a pod that is not bound yet off its node; have any other one deleted."""
    instructions = _stop_binding(state, running, victim, now)
    if instructions is not None:
        if victim is running.last:
            running.must_activate = True
        return [*instructions, _event(running, victim, now, " (in kube-scheduler memory).")]
    condition = _condition(victim, running.preemptor, now)
    return [
        PreemptPod(
            number=state.preemptions.number(running, victim),
            pod=reference_to(victim.pod),
            condition=condition,
            condition_order=[] if condition is None else condition_order(victim.pod, DISRUPTION_TARGET),
        )
    ]


def _stop_binding(state: State, running: RunningPreemption, victim: PodInfo, now: float) -> list[Instruction] | None:
    """End the victim's binding cycle if its bind has not begun; None when it is too late for that."""
    cycle = state.binding_cycles.before_bind.get(victim.uid)
    if cycle is None:
        return None
    if cycle.wait is not None:
        return follow_permits(state, now) if cycle.wait.preempt(running.plugin, "preempted") else None
    at_work = cycle.work.running
    name = at_work[0].plugin.name if at_work else running.plugin
    message = f'running PreBind plugin "{name}": preempted by {running.plugin}'
    return fail(state, victim.uid, Failure(REASON_ERROR, message), now)


def _condition(victim: PodInfo, preemptor: PodInfo, now: float) -> Condition | None:
    """What the victim is told; None when it has been told so before."""
    scheduler_name = preemptor.pod.spec.scheduler_name
    message = f"{scheduler_name}: preempting to accommodate a higher priority pod"
    return news(victim.pod, DISRUPTION_TARGET, "True", PREEMPTED_BY_SCHEDULER, message, now)


def _event(running: RunningPreemption, victim: PodInfo, now: float, more: str = "") -> RecordEvent:
    preemptor = running.preemptor
    return RecordEvent(
        pod=reference_to(victim.pod),
        type="Normal",
        reason="Preempted",
        action="Preempting",
        note=f"Preempted by pod {preemptor.uid} on node {running.node_name}{more}",
        controller=preemptor.pod.spec.scheduler_name,
        now=now,
    )
