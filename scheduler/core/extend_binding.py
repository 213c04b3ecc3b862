"""Who binds a pod: an extender that does so for pods like it, or this scheduler (kube-scheduler 1.37: bind)."""

from __future__ import annotations

from scheduler.core.extenders import Question
from scheduler.core.failure import reference_to
from scheduler.core.instruction import AskExtender, BindPod, ExtenderVerb
from scheduler.core.state import State
from scheduler.framework.pod_info import PodInfo


def bind(state: State, pod: PodInfo, node_name: str) -> BindPod | AskExtender:
    """How the pod is bound to its node. A configuration has one extender that binds at most."""
    reference = reference_to(pod.pod)
    if state.extenders:
        for extender in state.extenders.interested(pod, ExtenderVerb.BIND):
            question = Question(ExtenderVerb.BIND, extender, pod, node_name)
            return state.extenders.ask(question, reference, (node_name,))
    return BindPod(pod=reference, node_name=node_name)
