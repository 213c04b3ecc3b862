"""Extenders as the core knows them: services that take part in decisions, and what they have been asked (kube-scheduler 1.37: HTTPExtender).

A question is an instruction, AskExtender, and its answer a stimulus that carries the same number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from scheduler.config import kube_document
from scheduler.config.extenders import without_user
from scheduler.core.instruction import AskExtender, ExtenderVerb, PodReference, Victims
from scheduler.core.stimulus import ExtenderAnswered, ExtenderFailed
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo

EXTENDER = "Extender"
"""Stands where a rejecting plugin stands, for nodes that extenders took out."""

ANSWERED = "answered"
FAILED = "failed"

EXTENDER_EVENTS = tuple(
    ClusterEvent(resource, ActionType.ALL)
    for resource in (
        EventResource.POD,
        EventResource.NODE,
        EventResource.DEVICE_CLASS,
        EventResource.PERSISTENT_VOLUME,
        EventResource.PERSISTENT_VOLUME_CLAIM,
        EventResource.STORAGE_CLASS,
        EventResource.CSI_NODE,
        EventResource.CSI_DRIVER,
        EventResource.CSI_STORAGE_CAPACITY,
    )
)
"""Nobody knows what an extender looks at, so anything may help (kube-scheduler 1.37: defaultEnqueueExtension)."""


class Extender(msgspec.Struct, frozen=True, kw_only=True):
    """One extender.

    Attributes:
        index: its place in the configuration.
        url: ``urlPrefix``, without a user name and password.
        verbs: what it can be asked.
        managed_resources: it is asked only about pods that want one of these; about all pods when there are none.
        is_ignorable: when it does not answer, the decision goes on without it.
    """

    index: int
    url: str
    verbs: frozenset[ExtenderVerb]
    weight: int = 0
    managed_resources: frozenset[str] = frozenset()
    is_ignorable: bool = False

    def is_interested(self, pod: PodInfo) -> bool:
        """Whether it has a say in what becomes of the pod."""
        wanted = self.managed_resources
        if not wanted:
            return True
        spec = pod.pod.spec
        return any(
            not wanted.isdisjoint(amounts or ())
            for container in (*spec.containers, *(spec.init_containers or ()))
            for amounts in (container.resources.requests, container.resources.limits)
        )


class Question(NamedTuple):
    """What was asked; ``node_name`` is set for a bind."""

    verb: ExtenderVerb
    extender: Extender
    pod: PodInfo
    node_name: str = ""


@dataclass(frozen=True, kw_only=True)
class ExtenderFault:
    """An extender that could not be asked, and that the decisions go on without, for the log."""

    url: str
    verb: str
    pod: str
    error: str


class Extenders:
    """All extenders, in the order in which they are asked, and the questions that wait for an answer.

    ``calls`` counts them by verb and ANSWERED or FAILED.
    """

    def __init__(self, configured: Sequence[kube_document.Extender] = ()) -> None:
        made = [_extender(index, one) for index, one in enumerate(configured)]
        # A sort that keeps the order otherwise: those that are no loss go last.
        self._all = tuple(sorted(made, key=lambda one: one.is_ignorable))
        self._asked: dict[int, Question] = {}
        self._binding: dict[str, int] = {}
        """The number of the last bind that was asked for, by the pod's UID."""
        self._last_number = 0
        self._failing: set[tuple[int, ExtenderVerb]] = set()
        self.calls: Counter[tuple[str, str]] = Counter()

    def __bool__(self) -> bool:
        return bool(self._all)

    def interested(self, pod: PodInfo, verb: ExtenderVerb) -> tuple[Extender, ...]:
        """Those that are asked this about the pod, in order."""
        return tuple(one for one in self._all if verb in one.verbs and one.is_interested(pod))

    def take_part(self, pod: PodInfo) -> bool:
        """Whether any is asked about the pod before its node is chosen."""
        return any(
            not one.verbs.isdisjoint((ExtenderVerb.FILTER, ExtenderVerb.PRIORITIZE)) and one.is_interested(pod)
            for one in self._all
        )

    def ask(
        self,
        question: Question,
        reference: PodReference,
        node_names: Sequence[str] = (),
        victims: Mapping[str, Victims] | None = None,
    ) -> AskExtender:
        """The instruction for a question; it waits for its answer from now on."""
        self._last_number += 1
        self._asked[self._last_number] = question
        if question.verb is ExtenderVerb.BIND:
            # A bind that was given up, and is answered late, is not to be taken for the one that came after it.
            self.forget(self._binding.get(question.pod.uid, 0))
            self._binding[question.pod.uid] = self._last_number
        return AskExtender(
            number=self._last_number,
            extender=question.extender.index,
            verb=question.verb,
            pod=reference,
            node_names=list(node_names),
            victims=dict(victims or {}),
        )

    def answered(self, answer: ExtenderAnswered | ExtenderFailed) -> Question | None:
        """Whose answer this is; None when nobody waits for it any more."""
        question = self._asked.pop(answer.number, None)
        if question is not None:
            if question.verb is ExtenderVerb.BIND:
                self._binding.pop(question.pod.uid, None)
            failed = isinstance(answer, ExtenderFailed) or bool(answer.error)
            self.calls[question.verb.value, FAILED if failed else ANSWERED] += 1
        return question

    def works(self, extender: Extender, verb: ExtenderVerb) -> None:
        """The extender has given an answer that can be used: should it fail again, that is news."""
        if self._failing:
            self._failing.discard((extender.index, verb))

    def forget(self, number: int) -> None:
        """Nobody waits for the answer of this number any more."""
        self._asked.pop(number, None)

    def give_up_bind(self, uid: str) -> None:
        """The pod is not to be bound as it was asked for last: whatever is answered is nothing to its next bind."""
        self.forget(self._binding.pop(uid, 0))

    def fault(self, question: Question, error: str) -> ExtenderFault | None:
        """The decisions go on without the answer: what to say of it, once for as long as the extender does not answer."""
        key = (question.extender.index, question.verb)
        if key in self._failing:
            return None
        self._failing.add(key)
        return ExtenderFault(url=question.extender.url, verb=question.verb.value, pod=question.pod.key, error=error)


def _extender(index: int, configured: kube_document.Extender) -> Extender:
    verbs = {
        ExtenderVerb.FILTER: configured.filter_verb,
        ExtenderVerb.PRIORITIZE: configured.prioritize_verb,
        ExtenderVerb.PREEMPT: configured.preempt_verb,
        ExtenderVerb.BIND: configured.bind_verb,
    }
    return Extender(
        index=index,
        url=without_user(configured.url_prefix),
        verbs=frozenset(verb for verb, name in verbs.items() if name),
        weight=configured.weight,
        managed_resources=frozenset(resource.name for resource in configured.managed_resources),
        is_ignorable=configured.ignorable,
    )
