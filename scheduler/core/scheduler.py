"""Scheduler: the one object that the application talks to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scheduler.batch.options import BatchOptions
from scheduler.cache.cache import Cache
from scheduler.config.kube_document import Extender
from scheduler.core import cycle, handlers
from scheduler.core.chance import Chance
from scheduler.core.cycle import CycleResult
from scheduler.core.extenders import Extenders
from scheduler.core.generation import Generation
from scheduler.core.instruction import Instruction
from scheduler.core.state import Complaint, State
from scheduler.core.stimulus import Stimulus
from scheduler.profile.profile import Profile
from scheduler.queue.backoff import Backoff


class Scheduler:
    """Stimuli in, instructions out; nothing else changes the state.

    Args:
        profiles: by schedulerName, in the order of the configuration.
        seed: decides ties between equally good nodes; the same seed gives the same decisions.
        backoff: how long failed pods wait.
        batching: reuse of decisions; which reused ones are checked follows from the seed too.
        extenders: those of the configuration, in its order.
        typo_warnings: whether pods are told of whose schedulerName is nearly that of a profile.
    """

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        *,
        seed: int,
        backoff: Backoff,
        batching: BatchOptions = BatchOptions(),  # noqa: B008 - frozen
        extenders: Sequence[Extender] = (),
        typo_warnings: bool = False,
    ) -> None:
        self.state = State(profiles, Cache(seed=seed), backoff, batching, Chance(seed).draw, Extenders(extenders))
        if typo_warnings:
            self.state.unserved.warn_for(profiles)

    def offer(self, generation: Generation) -> None:
        """Hand over what a ConfigurationChanged stimulus with its number will put in force. Nothing changes before."""
        self.state.offered = generation

    def handle(self, stimulus: Stimulus) -> list[Instruction]:
        """Apply one stimulus."""
        return handlers.handle(self.state, stimulus)

    def schedule_one(self, now: float) -> CycleResult | None:
        """Decide on the next pod; None when nobody waits."""
        return cycle.schedule_one(self.state, now)

    def take_complaints(self) -> list[Complaint]:
        """What was found to be wrong since the last call."""
        taken, self.state.complaints = self.state.complaints, []
        return taken
