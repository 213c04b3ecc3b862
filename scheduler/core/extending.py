"""A decision in which extenders take part: asked one after the other, while no other pod is decided on (kube-scheduler 1.37: findNodesThatPassExtenders).

::

    decided without them --nominated node?--> FILTER that node alone --fits--> chosen
      |                                         | refused, or no answer
      '--> FILTER, extender by extender, fewer and fewer nodes --none left--> refused
             |                     | no answer of one that counts
             |                     '--> failed
             '--one left--> chosen    '--several--> PRIORITIZE, all at once --> chosen

The evaluation stays without their answers, so that the next pod of the shape can use it. The cluster goes on meanwhile: the
evaluation is brought up to date after each answer, and only nodes that fit then, and that the extenders left, are chosen.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from scheduler.batch.outcomes import Attempt
from scheduler.core.batching import Decision
from scheduler.core.extenders import EXTENDER, Extender, Question
from scheduler.core.failure import reference_to
from scheduler.core.instruction import AskExtender, ExtenderVerb
from scheduler.core.state import State
from scheduler.core.stimulus import ExtenderAnswered, ExtenderFailed
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code, Status
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.filtering import Verdicts
from scheduler.profile.profile import Profile
from scheduler.queue.queued_pod import QueuedPod

SCORE_FACTOR = 10
"""Extenders score from 0 to 10, plugins from 0 to 100."""

_LEFT_OUT = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
"""A node that is no candidate any more, without a word why."""

Answer: TypeAlias = ExtenderAnswered | ExtenderFailed


class Extended(NamedTuple):
    """How a decision ended: as a Decision, and which rejector its extenders add; ``error`` is set when one had to answer and did not."""

    decision: Decision
    rejectors: tuple[str, ...] = ()
    error: str = ""


_Steps: TypeAlias = Generator[list[AskExtender], Sequence[Answer], Extended]
_Names: TypeAlias = tuple[str, ...]


class _Unanswered(Exception):
    """An extender that is not ignorable gave no answer to go on with."""


class Extending:
    """One pod's decision while extenders are asked. ``latest`` is the pod as the watch last showed it; None when it needs no node any more.

    ``began`` is when it was popped.
    """

    def __init__(self, state: State, queued: QueuedPod, profile: Profile, decision: Decision, now: float) -> None:
        self.queued = queued
        self.profile = profile
        self.began = now
        self.latest: PodInfo | None = queued.pod
        self._state = state
        self._decision = decision
        self._evaluation: Evaluation = decision.evaluation
        self._instead: Verdicts = decision.instead
        self._statuses: dict[str, Status] = {}
        self._answers: dict[int, Answer | None] = {}
        self._steps: _Steps = self._run()

    @property
    def uid(self) -> str:
        return self.queued.pod.uid

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return None in self._answers.values()

    def begin(self) -> list[AskExtender] | Extended:
        """The first questions, or the end.

        Raises:
            PluginFailure: a plugin failed.
        """
        return self._advance(None)

    def take(self, answer: Answer) -> bool:
        """Keep an answer; False when it is none to the questions that are open."""
        if answer.number not in self._answers:
            return False
        self._answers[answer.number] = answer
        return True

    def go_on(self) -> list[AskExtender] | Extended:
        """With all answers there: the next questions, or the end.

        Raises:
            PluginFailure: a plugin failed.
        """
        return self._advance([answer for answer in self._answers.values() if answer is not None])

    def abandon(self) -> Decision:
        """Nothing is to be decided any more; the decision as far as it came."""
        for number in self._answers:
            self._state.extenders.forget(number)
        self._steps.close()
        return self._decision

    def _advance(self, answers: list[Answer] | None) -> list[AskExtender] | Extended:
        try:
            asked = next(self._steps) if answers is None else self._steps.send(answers)
        except StopIteration as stop:
            ended: Extended = stop.value
            return ended
        self._answers = {question.number: None for question in asked}
        return asked

    # ------------------------------------------------------------------------------------------------------------- steps

    def _run(self) -> _Steps:
        nominated = self._nominated()
        if nominated is not None:
            # When it does not answer either, all nodes are looked at, and that is told.
            try:
                left = yield from self._filter((nominated,))
            except _Unanswered:
                left = ()
            row = self._evaluation_row(nominated) if left else None
            if row is not None:
                return self._end(row, self._instead)
        names = tuple(self._fitting())
        try:
            left = yield from self._filter(names)
        except _Unanswered as error:
            return Extended(self._counted(replace(self._decision, row=None)), error=str(error))
        rejectors = (EXTENDER,) if len(left) != len(names) else ()
        extra: Mapping[str, int] = {}
        fitting = self._fitting()
        if sum(name in fitting for name in left) > 1:
            extra = yield from self._prioritize(left)
        return self._choose(left, extra, rejectors)

    def _filter(self, names: _Names) -> Generator[list[AskExtender], Sequence[Answer], _Names]:
        """The nodes that all extenders leave."""
        for extender in self._state.extenders.interested(self.queued.pod, ExtenderVerb.FILTER):
            if not names:
                break
            [answer] = yield from self._ask((extender,), ExtenderVerb.FILTER, names)
            error = _error_of(extender, answer, names)
            if error and not extender.is_ignorable:
                raise _Unanswered(error)
            if error or not isinstance(answer, ExtenderAnswered):
                self._complain_of(extender, ExtenderVerb.FILTER, error)
                continue
            self._state.extenders.works(extender, ExtenderVerb.FILTER)
            for code, reasons in (
                (Code.UNSCHEDULABLE, answer.failed_nodes),
                (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, answer.unresolvable_nodes),
            ):
                for name, reason in reasons.items():
                    self._statuses[name] = Status(code, (reason,))
            kept = frozenset(answer.node_names)
            names = tuple(name for name in names if name in kept)
        return names

    def _prioritize(self, names: _Names) -> Generator[list[AskExtender], Sequence[Answer], Mapping[str, int]]:
        """What extenders add to the totals, by node. One that does not answer adds nothing."""
        extenders = self._state.extenders.interested(self.queued.pod, ExtenderVerb.PRIORITIZE)
        extra: dict[str, int] = {}
        if not extenders:
            return extra
        answers = yield from self._ask(extenders, ExtenderVerb.PRIORITIZE, names)
        for extender, answer in zip(extenders, answers, strict=True):
            if isinstance(answer, ExtenderFailed):
                self._complain_of(extender, ExtenderVerb.PRIORITIZE, answer.error)
                continue
            self._state.extenders.works(extender, ExtenderVerb.PRIORITIZE)
            for host, score in ((one.host, one.score) for one in answer.scores):
                extra[host] = extra.get(host, 0) + score * extender.weight * SCORE_FACTOR
        return extra

    def _ask(
        self, extenders: Iterable[Extender], verb: ExtenderVerb, names: _Names
    ) -> Generator[list[AskExtender], Sequence[Answer], Sequence[Answer]]:
        """Ask, and find the evaluation up to date when the answers are there."""
        pod, asked = self.queued.pod, self._state.extenders
        reference = reference_to(pod.pod)
        answers = yield [asked.ask(Question(verb, extender, pod), reference, names) for extender in extenders]
        self._instead = self._state.batching.renew(pod, self._evaluation, self._instead)
        return answers

    # -------------------------------------------------------------------------------------------------------------- ends

    def _choose(self, left: _Names, extra: Mapping[str, int], rejectors: tuple[str, ...]) -> Extended:
        instead = self._refusals(frozenset(left))
        row_of = self._state.cache.table.row_of
        by_row = {row: score for name, score in extra.items() if (row := row_of(name)) is not None}
        row = self._evaluation.select_with(by_row, instead) if by_row else self._evaluation.select(instead)
        return self._end(row, instead)._replace(rejectors=rejectors)

    def _end(self, row: int | None, instead: Verdicts) -> Extended:
        return Extended(self._counted(replace(self._decision, row=row, instead=instead)))

    def _counted(self, decision: Decision) -> Decision:
        """The decision with what became of its entry's answer: extenders may have taken the best node of it."""
        if decision.batch is Attempt.HINT_USED and decision.row != self._evaluation.select(self._instead):
            return replace(decision, batch=Attempt.HINT_NOT_USED)
        return decision

    def _refusals(self, left: frozenset[str]) -> Verdicts:
        """Those of nominated pods, and of extenders for all nodes that they did not leave."""
        if self._evaluation.prefilter.code is not Code.SUCCESS:
            return self._instead
        table = self._state.cache.table
        refusals = dict(self._instead)
        for row in self._evaluation.feasible_rows():
            if row not in refusals and table.name_of(row) not in left:
                refusals[row] = _LEFT_OUT
        for name, status in self._statuses.items():
            told = table.row_of(name)
            # What an extender said stands in place of what a plugin said; of nodes that there are not it said nothing.
            if told is not None and name not in left:
                refusals[told] = status
        return refusals

    # ------------------------------------------------------------------------------------------------------------- nodes

    def _fitting(self) -> dict[str, int]:
        """The nodes that fit without extenders, in the order of their rows."""
        table = self._state.cache.table
        rows = self._evaluation.feasible_rows()
        return {table.name_of(row): row for row in rows if row not in self._instead}

    def _nominated(self) -> str | None:
        """The node that the pod is nominated to, when it fits there."""
        name = self.queued.pod.pod.status.nominated_node_name
        return name if name and self._evaluation_row(name) is not None else None

    def _evaluation_row(self, name: str) -> int | None:
        row = self._state.cache.table.row_of(name)
        if row is None or row in self._instead or self._evaluation.status(row).code is not Code.SUCCESS:
            return None
        return row

    def _complain_of(self, extender: Extender, verb: ExtenderVerb, error: str) -> None:
        fault = self._state.extenders.fault(Question(verb, extender, self.queued.pod), error)
        if fault is not None:
            self._state.complaints.append(fault)


def _error_of(extender: Extender, answer: Answer, names: _Names) -> str:
    """Why there is nothing to go on with; "" when there is."""
    if answer.error:
        return answer.error
    if isinstance(answer, ExtenderAnswered):
        known = frozenset(names)
        for name in answer.node_names:
            if name not in known:
                return f'extender "{extender.url}" claims a filtered node "{name}" which is not found in the input node list'
    return ""
