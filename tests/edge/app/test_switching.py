"""A runtime takes another configuration: what it watches besides, and when it is in force; on virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from scheduler.app.runtime import Runtime
from scheduler.config.configuration import Configuration, from_object
from scheduler.core.stimulus import PodApplied
from scheduler.kube.resources import NODES, PODS, AnyResource
from tests.edge.app.test_stop import answer, listed, small_node
from tests.edge.kube.scripted import ScriptedTransport, pod
from tests.support.builders import make_pod

pytestmark = pytest.mark.looptime
VOLUMES = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "DefaultPreemption")
STORAGE = {
    "persistentvolumeclaims",
    "persistentvolumes",
    "storageclasses",
    "csinodes",
    "csidrivers",
    "csistoragecapacities",
    "volumeattachments",
    "poddisruptionbudgets",
}


def without_volumes(**fields: Any) -> Configuration:
    plugins = {"multiPoint": {"disabled": [{"name": name} for name in VOLUMES]}}
    return from_object({"profiles": [{"schedulerName": "reprise", "plugins": plugins}], **fields})


class Running:
    def __init__(self, configuration: Configuration, *, pods: int = 1) -> None:
        self.transport = ScriptedTransport(otherwise=answer, latency_seconds=0.2)
        self.story: list[bytes] = []
        self.runtime = Runtime(configuration, self.transport, hostname="host", seed=1, write_story=self.story.append)
        there: dict[AnyResource, list[dict[str, object]]] = {
            NODES: [small_node()],
            PODS: [pod(f"p{number}", schedulerName="reprise") for number in range(pods)],
        }
        self.transport.watch_answers = [
            listed(*there.get(reflector.resource, ())) for reflector in self.runtime.reflectors
        ]
        self.stop = asyncio.Event()
        self.task = asyncio.create_task(self.runtime.run(self.stop))

    def watched(self) -> set[str]:
        return {reflector.resource.name for reflector in self.runtime.reflectors}

    async def end(self) -> None:
        self.stop.set()
        await self.task


async def test_what_it_needs_besides_is_watched_and_known_before_it_is_in_force() -> None:
    running = Running(without_volumes())
    await asyncio.sleep(5.0)
    assert not running.watched() & STORAGE

    wanted = from_object({"profiles": [{"schedulerName": "reprise"}]})
    preparing = asyncio.create_task(running.runtime.prepare(wanted))
    await asyncio.sleep(0.1)
    assert running.watched() >= STORAGE
    assert running.runtime.reflectors[-1].resource is PODS
    assert not preparing.done()
    # Their watches are open and have said nothing yet.
    await asyncio.sleep(5.0)
    assert not preparing.done()
    preparing.cancel()
    await asyncio.wait([preparing])
    await running.end()


async def test_when_all_of_that_is_known_it_can_be_put_in_force() -> None:
    running = Running(without_volumes())
    await asyncio.sleep(5.0)
    running.transport.watch_answers += [listed() for _ in STORAGE]

    async with asyncio.timeout(5.0):
        await running.runtime.prepare(from_object({"profiles": [{"schedulerName": "reprise"}]}))
    await running.end()


async def test_it_is_in_force_for_the_next_decision_and_in_the_story() -> None:
    running = Running(without_volumes())
    await asyncio.sleep(5.0)
    wanted = without_volumes(podMaxBackoffSeconds=20)
    await running.runtime.prepare(wanted)
    reload = await running.runtime.switch(wanted)

    assert (reload.number, reload.refused) == (2, "")
    assert running.runtime.configuration is wanted
    assert running.runtime.state.generation == 2
    assert any(b'"type":"ConfigurationChanged"' in line for line in running.story)
    await running.end()


async def test_what_was_heard_before_comes_before_it() -> None:
    running = Running(without_volumes())
    await asyncio.sleep(5.0)
    for number in range(500):
        running.runtime.loop.deliver(_applied(f"q{number}"))
    await running.runtime.switch(without_volumes(podMaxBackoffSeconds=20))

    heard = [number for number, line in enumerate(running.story) if b'"PodApplied"' in line]
    (switched,) = [number for number, line in enumerate(running.story) if b'"ConfigurationChanged"' in line]
    assert len(heard) == 501
    assert max(heard) < switched
    await running.end()


async def test_a_profile_that_is_in_use_stays() -> None:
    running = Running(without_volumes())
    await asyncio.sleep(5.0)
    running.runtime.loop.stop_scheduling()
    running.runtime.loop.deliver(_applied("waits"))
    before = running.runtime.configuration
    reload = await running.runtime.switch(from_object({"profiles": [{"schedulerName": "other"}]}))

    assert "waits" in reload.refused
    assert running.runtime.configuration is before
    await running.end()


async def test_the_first_decision_waits_for_what_is_waited_for() -> None:
    running = Running(without_volumes())
    is_there = asyncio.Event()

    async def wait() -> None:
        await is_there.wait()

    running.runtime.before_scheduling = wait
    await asyncio.sleep(20.0)
    assert running.runtime.synced.is_set()
    assert not any(request.path.endswith("/binding") for request in running.transport.requests)
    is_there.set()
    await asyncio.sleep(5.0)
    assert any(request.path.endswith("/binding") for request in running.transport.requests)
    await running.end()


async def test_a_companion_that_fails_ends_the_process() -> None:
    async def fail() -> None:
        await asyncio.sleep(3.0)
        raise RuntimeError("kopf is gone")

    running = Running(without_volumes())
    running.runtime.companions.append(fail)
    with pytest.raises(ExceptionGroup) as raised:
        await running.task
    assert [str(one) for one in raised.value.exceptions] == ["kopf is gone"]


def _applied(name: str) -> Any:
    return PodApplied(now=0.0, pod=make_pod(name))
