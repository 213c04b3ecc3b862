"""The loop: one task that owns the scheduler's state. Stimuli come in through its inbox, instructions go out at once."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable
from typing import Protocol

from scheduler.core.cycle import CycleResult
from scheduler.core.instruction import Instruction
from scheduler.core.measurements import ASKING
from scheduler.core.state import Complaint
from scheduler.core.stimulus import Stimulus, Tick

SLICE_SECONDS = 0.005
"""How long decisions may keep the network waiting."""


class Brain(Protocol):
    """A Scheduler, or one that is being recorded."""

    def handle(self, stimulus: Stimulus) -> list[Instruction]: ...

    def schedule_one(self, now: float) -> CycleResult | None: ...

    def take_complaints(self) -> list[Complaint]: ...


class Loop:
    """Drains stimuli, then decides for a few milliseconds, then lets the network in.

    Args:
        dispatch: carries out an instruction, without waiting.
        has_room: False while the dispatcher holds as many binds as it should: decisions then wait, so that they are made
            on what the watch has delivered by the time they can be carried out.
        wall: seconds since the epoch, given to the core as ``now``.
        clock: a monotonic clock in seconds, for slices and durations.
        on_cycle: told of every cycle and how long it took.
        on_complaint: told of every object that could not be understood and of every plugin that failed unseen.
    """

    def __init__(
        self,
        brain: Brain,
        *,
        dispatch: Callable[[Instruction], None],
        has_room: Callable[[], bool],
        wall: Callable[[], float],
        clock: Callable[[], float],
        on_cycle: Callable[[CycleResult, float], None],
        on_complaint: Callable[[Complaint], None],
    ) -> None:
        self._brain = brain
        self._dispatch = dispatch
        self._has_room = has_room
        self._wall = wall
        self._clock = clock
        self._on_cycle = on_cycle
        self._on_complaint = on_complaint
        self._inbox: deque[Stimulus] = deque()
        self._has_news = False
        self._sleep: asyncio.Future[None] | None = None
        self._scheduling = False
        self._asked_at: float | None = None
        """When the cycle began that waits for extenders: it is one cycle, however often it goes on."""

    def deliver(self, stimulus: Stimulus) -> None:
        """Put a stimulus into the inbox; to be called on the loop's own thread."""
        self._inbox.append(stimulus)
        self.wake()

    def handle_now(self, stimulus: Stimulus) -> None:
        """Apply a stimulus before those that wait: its sender has to know what becomes of it. To be called as ``deliver``."""
        for instruction in self._brain.handle(stimulus):
            self._dispatch(instruction)
        self.wake()

    def lag_seconds(self) -> float:
        """How long the oldest stimulus that waits has been on its way; 0 when none waits."""
        return max(0.0, self._wall() - self._inbox[0].now) if self._inbox else 0.0

    def waiting(self) -> int:
        """How many stimuli wait."""
        return len(self._inbox)

    async def drained(self) -> None:
        """Wait until what has been delivered has been applied. Nothing is delivered before the caller goes on."""
        while self._inbox:
            await asyncio.sleep(0)

    def start_scheduling(self) -> None:
        """Begin to take pods out of the queue; until then only stimuli are applied."""
        self._scheduling = True
        self.wake()

    def stop_scheduling(self) -> None:
        """Take no more pods out of the queue; stimuli are still applied, so that answers of binds are not lost."""
        self._scheduling = False

    def wake(self) -> None:
        """Something changed that ``has_room`` depends on."""
        # An asyncio.Event would do the same for three times the CPU, and this is done for each answer of the API server.
        self._has_news = True
        if self._sleep is not None and not self._sleep.done():
            self._sleep.set_result(None)

    async def run(self) -> None:
        """Run until cancelled. Whatever is raised ends the process: a state that may be wrong must not decide."""
        loop = asyncio.get_running_loop()
        ticker = loop.create_task(self._tick())
        try:
            while True:
                if not self._has_news:
                    self._sleep = loop.create_future()
                    await self._sleep
                self._has_news = False
                while self._slice():
                    await asyncio.sleep(0)
        finally:
            ticker.cancel()

    def _slice(self) -> bool:
        """Work for a few milliseconds; whether there is more to do at once."""
        is_unfinished = self._work()
        for complaint in self._brain.take_complaints():
            self._on_complaint(complaint)
        return is_unfinished

    def _work(self) -> bool:
        end = self._clock() + SLICE_SECONDS
        while self._inbox:
            for instruction in self._brain.handle(self._inbox.popleft()):
                self._dispatch(instruction)
            if self._clock() >= end:
                return True
        while self._scheduling and self._has_room():
            began = self._clock() if self._asked_at is None else self._asked_at
            result = self._brain.schedule_one(self._wall())
            if result is None:
                return False
            now = self._clock()
            if result.outcome == ASKING:
                self._asked_at = began
            else:
                self._asked_at = None
                self._on_cycle(result, now - began)
            for instruction in result.instructions:
                self._dispatch(instruction)
            if now >= end:
                return True
        return False

    async def _tick(self) -> None:
        """Back-offs end on whole seconds, so that is when it is worth looking."""
        while True:
            now = self._wall()
            await asyncio.sleep(math.floor(now) + 1 - now)
            self.deliver(Tick(now=self._wall()))
