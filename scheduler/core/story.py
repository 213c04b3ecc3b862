"""Stories: what happened to a scheduler and what it answered, as JSON lines that replay in another process.

The first line is a header with what the scheduler was built from; each further line is one step: a stimulus or a call of
``schedule_one``, with the instructions that followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from scheduler.batch.options import BatchOptions
from scheduler.core.cycle import CycleResult
from scheduler.core.generation import Generation
from scheduler.core.instruction import Instruction
from scheduler.core.scheduler import Scheduler
from scheduler.core.state import Complaint
from scheduler.core.stimulus import ConfigurationChanged, Stimulus

VERSION = 1


class StoryError(ValueError):
    """A story that cannot be read; the text names the line."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """How to build the same scheduler again. ``configuration`` is the KubeSchedulerConfiguration, or None for defaults.

    What a later configuration is built from is in its stimulus, ConfigurationChanged.
    """

    version: int = VERSION
    seed: int
    configuration: dict[str, Any] | None = None
    batching: BatchOptions = BatchOptions()
    typo_warnings: bool = False


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``stimulus`` or ``schedule`` (the time of the call) is set; ``pod`` and ``node`` say what a cycle chose."""

    stimulus: Stimulus | None = None
    schedule: float | None = None
    pod: str = ""
    outcome: str = ""
    node: str = ""
    instructions: list[Instruction] = []


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A step whose replay answered something else; ``line`` counts from 1."""

    line: int
    recorded: Step
    replayed: Step


class RecordingScheduler:
    """A Scheduler that writes down each step before it answers."""

    def __init__(self, scheduler: Scheduler, header: Header, write: Callable[[bytes], object]) -> None:
        self._scheduler = scheduler
        self._write = write
        self._encoder = msgspec.json.Encoder()
        self.state = scheduler.state
        self._put(header)

    def _put(self, line: Header | Step) -> None:
        self._write(self._encoder.encode(line) + b"\n")

    def offer(self, generation: Generation) -> None:
        self._scheduler.offer(generation)

    def handle(self, stimulus: Stimulus) -> list[Instruction]:
        instructions = self._scheduler.handle(stimulus)
        self._put(Step(stimulus=stimulus, instructions=instructions))
        return instructions

    def schedule_one(self, now: float) -> CycleResult | None:
        result = self._scheduler.schedule_one(now)
        # A call that found nobody changes nothing, and an idle scheduler makes many of them.
        if result is not None:
            self._put(_cycle_step(now, result))
        return result

    def take_complaints(self) -> list[Complaint]:
        return self._scheduler.take_complaints()


def _cycle_step(now: float, result: CycleResult | None) -> Step:
    if result is None:
        return Step(schedule=now)
    return Step(
        schedule=now,
        pod=result.uid,
        outcome=result.outcome,
        node=result.node_name,
        instructions=result.instructions,
    )


def replay(
    lines: Iterable[bytes],
    build: Callable[[Header], Scheduler],
    build_generation: Callable[[ConfigurationChanged], Generation] | None = None,
) -> Iterator[Difference]:
    """Run a story again on a fresh scheduler; yields each step whose instructions or choice differ.

    Args:
        build_generation: builds what a ConfigurationChanged puts in force, before it is told.

    Raises:
        StoryError: a line is not a story line.
    """
    numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
    number, first = next(numbered, (1, b""))
    header = _decode(number, first, Header)
    if header.version != VERSION:
        raise StoryError(
            f"line 1: story version {header.version} is not {VERSION}: replay it with the release that wrote it"
        )
    scheduler = build(header)
    for number, line in numbered:
        recorded = _decode(number, line, Step)
        if recorded.stimulus is not None:
            if isinstance(recorded.stimulus, ConfigurationChanged):
                if build_generation is None:
                    raise StoryError(f"line {number}: the configuration changes, and nobody here builds another one")
                scheduler.offer(build_generation(recorded.stimulus))
            replayed = Step(stimulus=recorded.stimulus, instructions=scheduler.handle(recorded.stimulus))
        elif recorded.schedule is not None:
            replayed = _cycle_step(recorded.schedule, scheduler.schedule_one(recorded.schedule))
        else:
            raise StoryError(f"line {number}: neither a stimulus nor a schedule step")
        if replayed != recorded:
            yield Difference(line=number, recorded=recorded, replayed=replayed)


def _decode(number: int, line: bytes, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise StoryError(f"line {number}: {error}") from error
