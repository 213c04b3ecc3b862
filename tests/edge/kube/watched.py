"""A running reflector on virtual time, for tests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from scheduler.core.stimulus import (
    DeviceClassApplied,
    DeviceClassDeleted,
    NodeApplied,
    NodeDeleted,
    PodApplied,
    PodDeleted,
)
from scheduler.kube.reflector import Reflector
from scheduler.kube.resources import PODS, AnyResource
from tests.edge.kube.scripted import ScriptedStream, ScriptedTransport, virtual_timing


class Watched:
    """A running reflector and what it delivered."""

    def __init__(self, transport: ScriptedTransport, resource: AnyResource, chance: float) -> None:
        self.transport = transport
        self.stimuli: list[Any] = []
        self.reflector: Reflector[Any] = Reflector(
            transport, resource, self.stimuli.append, timing=virtual_timing(chance)
        )

    def version(self) -> str | None:
        return self.reflector.resource_version

    def state(self) -> str:
        return self.reflector.state

    def delivered(self) -> list[tuple[str, ...]]:
        """What was delivered since the last call: kind of change, name, uid and, unless deleted, version."""
        stimuli, self.stimuli[:] = list(self.stimuli), []
        return [_shown(stimulus) for stimulus in stimuli]


def _shown(stimulus: Any) -> tuple[str, ...]:
    match stimulus:
        case PodApplied(pod=subject) | NodeApplied(node=subject) | DeviceClassApplied(device_class=subject):
            metadata = subject.metadata
            return "applied", metadata.name, metadata.uid, metadata.resource_version
        case PodDeleted() | NodeDeleted() | DeviceClassDeleted():
            return "deleted", stimulus.name, stimulus.uid
    raise AssertionError(stimulus)


@asynccontextmanager
async def watching(
    transport: ScriptedTransport, resource: AnyResource = PODS, *, chance: float = 0.0
) -> AsyncIterator[Watched]:
    watched = Watched(transport, resource, chance)
    task = asyncio.create_task(watched.reflector.run())
    try:
        await asyncio.sleep(0.001)
        yield watched
        assert not task.done(), "the reflector ended"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def streams(transport: ScriptedTransport, count: int) -> list[ScriptedStream]:
    """The next watches are opened; the test says what they bring."""
    opened = [ScriptedStream() for _ in range(count)]
    transport.watch_answers += opened
    return opened
