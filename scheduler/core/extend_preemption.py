"""A preemption in which extenders have a say: asked one after the other, while no other pod is decided on (kube-scheduler 1.37: callExtenders).

What is left of the candidates is what the last one answers: nodes, and of each the pods that would have to go.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler.core.batching import Decision
from scheduler.core.extenders import Extender, Question
from scheduler.core.failure import Failure, reference_to
from scheduler.core.instruction import AskExtender, ExtenderVerb, Victims
from scheduler.core.plugin_answers import check_post_filter
from scheduler.core.preemption import AfterFilter
from scheduler.core.state import State
from scheduler.core.stimulus import ExtenderAnswered, ExtenderFailed
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.post_filter import Candidate
from scheduler.framework.status import Code
from scheduler.profile.failure import PluginFailure, Stage
from scheduler.profile.profile import Profile
from scheduler.queue.queued_pod import QueuedPod

_PREFIX = "preemption: "


class _Unusable(Exception):
    """An answer that names what there is not."""


class Consulting:
    """The candidates of one pod's preemption, while extenders are asked about them.

    Args:
        failure: why the pod fits nowhere, without what preemption makes of it.
        after: what the plugin has found, with the candidates.

    Attributes:
        latest: the pod as the watch last showed it; None when it needs no node any more.
    """

    def __init__(
        self,
        state: State,
        queued: QueuedPod,
        profile: Profile,
        decision: Decision,
        failure: Failure,
        after: AfterFilter,
    ) -> None:
        self.queued = queued
        self.profile = profile
        self.decision = decision
        self.failure = failure
        self.latest: PodInfo | None = queued.pod
        self._state = state
        self._pod = queued.pod
        self._after = after
        self._candidates: Sequence[Candidate] = after.candidates
        self._left = list(state.extenders.interested(queued.pod, ExtenderVerb.PREEMPT))
        self._asked = 0
        self._answer: ExtenderAnswered | ExtenderFailed | None = None

    @property
    def uid(self) -> str:
        return self.queued.pod.uid

    @property
    def is_waiting(self) -> bool:
        """Whether the answer is still to come."""
        return self._answer is None

    def take(self, answer: ExtenderAnswered | ExtenderFailed) -> bool:
        """Keep an answer; False when it is none to the question that is open."""
        if answer.number != self._asked:
            return False
        self._answer = answer
        return True

    def abandon(self) -> None:
        """Nothing is to be decided any more."""
        self._state.extenders.forget(self._asked)

    def go_on(self, now: float) -> AskExtender | AfterFilter:
        """The next question, or with all answers there what is to be done."""
        if self._answer is not None:
            answer, self._answer = self._answer, None
            ended = self._heard(answer)
            if ended is not None:
                return ended
        elif not self._left:
            return self._after
        question = self._next_question()
        if question is None:
            return self._end(now)
        self._asked = question.number
        return question

    def _next_question(self) -> AskExtender | None:
        if not self._left or not self._candidates:
            return None
        victims = {
            one.node_name: Victims(pods=[pod.uid for pod in one.pods], pdb_violations=one.violations)
            for one in self._candidates
        }
        question = Question(ExtenderVerb.PREEMPT, self._left[0], self._pod)
        return self._state.extenders.ask(question, reference_to(self._pod.pod), victims=victims)

    def _heard(self, answer: ExtenderAnswered | ExtenderFailed) -> AfterFilter | None:
        """Go on with an answer; the end of it all when the extender had to answer and did not, else None."""
        extender = self._left.pop(0)
        try:
            if answer.error or isinstance(answer, ExtenderFailed):
                raise _Unusable(answer.error)
            self._candidates = [
                found
                for node_name, victims in answer.victims.items()
                if (found := self._candidate(extender, node_name, victims)) is not None
            ]
        except _Unusable as error:
            if not extender.is_ignorable:
                return AfterFilter(f"{_PREFIX}{error}", None)
            fault = self._state.extenders.fault(Question(ExtenderVerb.PREEMPT, extender, self._pod), str(error))
            if fault is not None:
                self._state.complaints.append(fault)
        else:
            self._state.extenders.works(extender, ExtenderVerb.PREEMPT)
        return None

    def _end(self, now: float) -> AfterFilter:
        """What the plugin makes of the candidates that are left."""
        plugin = next(one for one in self.profile.post_filter if one.name == self._after.plugin)
        try:
            result = plugin.choose_from(self._candidates, now)
            check_post_filter(result)
            status, nominated, preemption, _ = result
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            text = f'running PostFilter plugin "{plugin.name}": {error}'
            self._state.plugin_failed(PluginFailure(text, plugin.name, Stage.POST_FILTER), self._pod)
            return AfterFilter(text, None)
        if status.code is Code.SUCCESS:
            return AfterFilter(status.message, nominated, preemption, plugin.name)
        return AfterFilter(status.message, nominated)

    def _candidate(self, extender: Extender, node_name: str, victims: Victims) -> Candidate | None:
        """One node of an answer, with its pods as they are known now; None for one that is passed over."""
        cache = self._state.cache
        if cache.table.row_of(node_name) is None:
            raise _Unusable(f'nodeinfo not found for node name "{node_name}"')
        on_node = {known.pod.uid: known.pod for known in cache.pods_on(node_name)}
        for uid in victims.pods:
            if uid not in on_node:
                raise _Unusable(
                    f"extender: {extender.url} claims to preempt pod (UID: &{{{uid}}}) on node: {node_name}, "
                    "but the pod is not found on that node"
                )
        if victims.pods:
            return Candidate(node_name, tuple(on_node[uid] for uid in victims.pods), victims.pdb_violations)
        if extender.is_ignorable:
            return None
        raise _Unusable(f'expected at least one victim pod on node "{node_name}"')
