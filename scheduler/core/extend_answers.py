"""What follows when an extender has answered."""

from __future__ import annotations

from scheduler.core.binding import pod_bound
from scheduler.core.binding_cycle import fail
from scheduler.core.failure import REASON_ERROR, Failure, reference_to
from scheduler.core.instruction import BindPod, ExtenderVerb, Instruction
from scheduler.core.state import State
from scheduler.core.stimulus import ExtenderAnswered, ExtenderFailed, PodBound


def extender_answered(state: State, answer: ExtenderAnswered | ExtenderFailed) -> list[Instruction]:
    """Keep the answer for the decision that waits for it; one to a bind ends the bind.

    An ignorable extender that does not bind leaves it to this scheduler (kube-scheduler 1.37: extendersBinding).
    """
    question = state.extenders.answered(answer)
    if question is None:
        return []
    if question.verb is not ExtenderVerb.BIND:
        if state.extending is not None:
            state.extending.take(answer)
        return []
    uid, node_name = question.pod.uid, question.node_name
    if not answer.error:
        state.extenders.works(question.extender, question.verb)
        return pod_bound(state, PodBound(now=answer.now, uid=uid, node_name=node_name))
    if uid not in state.bindings:
        return []
    if question.extender.is_ignorable:
        fault = state.extenders.fault(question, answer.error)
        if fault is not None:
            state.complaints.append(fault)
        return [BindPod(pod=reference_to(question.pod.pod), node_name=node_name)]
    return fail(state, uid, Failure(REASON_ERROR, answer.error), answer.now)
