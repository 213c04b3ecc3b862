"""A core with extenders, and their answers as a test says them."""

from __future__ import annotations

from typing import Any

from scheduler.batch.options import BatchOptions
from scheduler.config.configuration import from_object
from scheduler.core.cycle import CycleResult
from scheduler.core.instruction import AskExtender, ExtenderVerb, Instruction
from scheduler.core.scheduler import Scheduler
from scheduler.core.stimulus import ExtenderAnswered, ExtenderFailed, HostScore
from tests.support.core_run import Core

FILTER, PRIORITIZE, PREEMPT, BIND = ExtenderVerb


def extender(name: str = "e", **fields: Any) -> dict[str, Any]:
    """An extender of a configuration at http://NAME that filters, unless told otherwise."""
    return {"urlPrefix": f"http://{name}", "filterVerb": "filter", **fields}


class ExtendedCore(Core):
    """A scheduler with these extenders; ``questions`` are those of the last step."""

    def __init__(
        self, *extenders: dict[str, Any], seed: int = 1, without: tuple[str, ...] = ("DefaultPreemption",)
    ) -> None:
        disabled = [{"name": name} for name in without]
        found = from_object(
            {
                "profiles": [{"schedulerName": "reprise", "plugins": {"multiPoint": {"disabled": disabled}}}],
                "extenders": list(extenders),
            }
        )
        profiles = {profile.scheduler_name: profile for profile in found.profiles}
        self.scheduler = Scheduler(
            profiles,
            seed=seed,
            backoff=found.backoff,
            batching=BatchOptions(verify_fraction=0.0),
            extenders=found.kube.extenders,
        )
        self.state = self.scheduler.state
        self.result: CycleResult | None = None

    def go_on(self, at: float = 0.0) -> CycleResult | None:
        """One step of the scheduling cycle, if there is one to take."""
        result = self.scheduler.schedule_one(at)
        self.result = result or self.result
        return result

    @property
    def questions(self) -> list[AskExtender]:
        assert self.result is not None
        return [one for one in self.result.instructions if isinstance(one, AskExtender)]

    def asked(self) -> list[tuple[int, str, list[str]]]:
        """What was asked in the last step: whom, what, and about which nodes."""
        return [(one.extender, one.verb.value, one.node_names) for one in self.questions]

    def answer(self, question: AskExtender | None = None, *, at: float = 0.0, **fields: Any) -> list[Instruction]:
        """The answer to a question, the only one if none is given."""
        if question is None:
            [question] = self.questions
        return self.scheduler.handle(ExtenderAnswered(now=at, number=question.number, **fields))

    def fail(self, error: str, question: AskExtender | None = None, *, at: float = 0.0) -> list[Instruction]:
        """No answer to a question."""
        if question is None:
            [question] = self.questions
        return self.scheduler.handle(ExtenderFailed(now=at, number=question.number, error=error))


def scores(**by_host: int) -> list[HostScore]:
    return [HostScore(host, score) for host, score in by_host.items()]
