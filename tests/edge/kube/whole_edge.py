"""Client, reflectors and dispatcher together, as the scheduler runs them, for tests against a server."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from scheduler.api.objects import Pod, SelectingObject
from scheduler.core.instruction import BindPod, Condition, PatchPodStatus, PodReference, RecordEvent
from scheduler.core.stimulus import (
    BindFailed,
    NodeApplied,
    NodeDeleted,
    PodApplied,
    PodBound,
    PodDeleted,
    SelectingObjectApplied,
    SelectingObjectDeleted,
)
from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import load_credentials
from scheduler.kube.dispatcher import Dispatcher, Limits
from scheduler.kube.reflector import Reflector
from scheduler.kube.resources import SELECTING, WATCHED, AnyResource

PATIENCE_SECONDS = 30.0


class WholeEdge:
    """What a server has told, and what it is told."""

    def __init__(self, client: ApiClient, resources: tuple[AnyResource, ...], limits: Limits | None) -> None:
        self.client = client
        self.pods: dict[str, Pod] = {}  # by name
        self.nodes: set[str] = set()
        self.selecting: dict[tuple[str, str], SelectingObject] = {}  # by kind and name
        self.deleted: list[tuple[str, str]] = []
        self.answers: list[PodBound | BindFailed] = []
        self._news = asyncio.Event()
        self.reflectors: dict[str, Reflector[Any]] = {
            resource.name: Reflector(client, resource, self._deliver) for resource in resources
        }
        self.dispatcher = Dispatcher(client, self._deliver, hostname="test-host", limits=limits)

    def _deliver(self, stimulus: Any) -> None:
        match stimulus:
            case PodApplied(pod=pod):
                self.pods[pod.metadata.name] = pod
            case PodDeleted(name=name, uid=uid):
                del self.pods[name]
                self.deleted.append((name, uid))
            case NodeApplied(node=node):
                self.nodes.add(node.metadata.name)
            case NodeDeleted(name=name):
                self.nodes.remove(name)
            case SelectingObjectApplied(subject=subject):
                self.selecting[type(subject).__name__, subject.metadata.name] = subject
            case SelectingObjectDeleted(kind=kind, name=name):
                del self.selecting[kind, name]
            case PodBound() | BindFailed():
                self.answers.append(stimulus)
        self._news.set()

    async def until(self, condition: Callable[[], Any]) -> None:
        """Wait for what the server tells to come to this."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def until_state(self, resource: str, state: str) -> None:
        """Wait for a reflector to come to a state, which brings no news of its own."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self.reflectors[resource].state != state:
                await asyncio.sleep(0.02)

    async def synced(self) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            for reflector in self.reflectors.values():
                await reflector.synced.wait()

    # ----------------------------------------------------------------------------------------------------- instructions

    def reference(self, name: str, uid: str = "") -> PodReference:
        metadata = self.pods[name].metadata
        return PodReference(
            namespace=metadata.namespace,
            name=name,
            uid=uid or metadata.uid,
            resource_version=metadata.resource_version,
        )

    async def bind(self, name: str, node: str, uid: str = "") -> PodBound | BindFailed:
        count = len(self.answers)
        self.dispatcher.submit(BindPod(pod=self.reference(name, uid), node_name=node))
        await self.until(lambda: len(self.answers) > count)
        return self.answers[-1]

    def write_condition(self, name: str, message: str, *, uid: str = "", at: float | None = None) -> None:
        condition = Condition(
            type="PodScheduled",
            status="False",
            reason="Unschedulable",
            message=message,
            observed_generation=self.pods[name].metadata.generation,
            last_transition_time=at,
        )
        self.dispatcher.submit(PatchPodStatus(pod=self.reference(name, uid), condition=condition))

    def record(self, name: str, note: str, now: float) -> None:
        event = RecordEvent(
            pod=self.reference(name),
            type="Warning",
            reason="FailedScheduling",
            action="Scheduling",
            note=note,
            controller="reprise",
            now=now,
        )
        self.dispatcher.submit(event)


@asynccontextmanager
async def running_edge(
    kubeconfig: Path,
    *,
    resources: tuple[AnyResource, ...] = (*SELECTING, *WATCHED),
    limits: Limits | None = None,
    must_sync: bool = True,
) -> AsyncIterator[WholeEdge]:
    """Start it and, unless it cannot be, wait until all is known; at the end everything must still run."""
    async with ApiClient(load_credentials(kubeconfig), version="0") as client:
        edge = WholeEdge(client, resources, limits)
        tasks = [asyncio.create_task(reflector.run()) for reflector in edge.reflectors.values()]
        tasks.append(asyncio.create_task(edge.dispatcher.run()))
        try:
            if must_sync:
                await edge.synced()
            yield edge
            assert not [task for task in tasks if task.done()]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await edge.dispatcher.close()
