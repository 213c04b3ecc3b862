"""A running dispatcher on virtual time, and instructions for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from scheduler.core.instruction import BindPod, Condition, Instruction, PatchPodStatus, PodReference, RecordEvent
from scheduler.core.stimulus import BindFailed, PodBound, Stimulus
from scheduler.kube.dispatcher import Dispatcher, Limits
from scheduler.kube.transport import Response
from tests.edge.kube.scripted import (
    EPOCH,
    ScriptedTransport,
    ok,
    virtual_timing,
)


def reference(name: str, uid: str | None = None, version: str = "1") -> PodReference:
    return PodReference(namespace="default", name=name, uid=uid or f"uid-{name}", resource_version=version)


def bind(name: str, node: str = "node-1", uid: str | None = None) -> BindPod:
    return BindPod(pod=reference(name, uid), node_name=node)


def condition(message: str = "0/1 nodes are available", at: float | None = EPOCH, status: str = "False") -> Condition:
    return Condition(
        type="PodScheduled",
        status=status,
        reason="Unschedulable",
        message=message,
        observed_generation=3,
        last_transition_time=at,
    )


def status(name: str, message: str = "0/1 nodes are available", nominated: str | None = None) -> PatchPodStatus:
    return PatchPodStatus(pod=reference(name), condition=condition(message), nominated_node_name=nominated)


def event(name: str) -> RecordEvent:
    return RecordEvent(
        pod=reference(name),
        type="Normal",
        reason="Scheduled",
        action="Binding",
        note=f"Successfully assigned default/{name} to node-1",
        controller="reprise",
        now=EPOCH,
    )


def read_pod(node: str | None, uid: str = "uid-a") -> Response:
    """A pod as a read finds it; extra fields are there to be skipped."""
    spec: dict[str, Any] = {"containers": [{"name": "c"}], "schedulerName": "reprise"}
    if node is not None:
        spec["nodeName"] = node
    return ok({"metadata": {"name": "a", "uid": uid}, "spec": spec, "status": {"phase": "Pending"}})


class Dispatching:
    """A running dispatcher, what it delivered and what it observed."""

    def __init__(self, transport: ScriptedTransport, limits: Limits | None, chance: float) -> None:
        self.transport = transport
        self.stimuli: list[Stimulus] = []
        self.observed: list[tuple[str, str, float]] = []
        self.refused: set[str] = set()
        """UIDs of pods that are not to be bound any more."""
        self.dispatcher = Dispatcher(
            transport,
            self.stimuli.append,
            hostname="host-1",
            timing=virtual_timing(chance),
            limits=limits,
            observe=lambda *job: self.observed.append(job),
            may_bind=lambda uid: uid not in self.refused,
        )

    def submit(self, *instructions: Instruction) -> None:
        for instruction in instructions:
            self.dispatcher.submit(instruction)

    def answers(self) -> list[tuple[str, ...]]:
        """What became of binds."""
        return [
            ("bound", stimulus.uid, stimulus.node_name)
            if isinstance(stimulus, PodBound)
            else ("failed", stimulus.uid, stimulus.node_name, stimulus.error)
            for stimulus in self.stimuli
            if isinstance(stimulus, PodBound | BindFailed)
        ]

    def sent(self) -> list[tuple[str, str]]:
        """Methods and the ends of the paths."""
        return [(request.method, "/".join(request.path.split("/")[6:])) for request in self.transport.requests]


@asynccontextmanager
async def dispatching(
    transport: ScriptedTransport, limits: Limits | None = None, *, chance: float = 0.0
) -> AsyncIterator[Dispatching]:
    dispatching = Dispatching(transport, limits, chance)
    task = asyncio.create_task(dispatching.dispatcher.run())
    try:
        yield dispatching
        assert not task.done(), task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await dispatching.dispatcher.close()
