"""Plugins of the binding cycle in a scheduler that is connected to an API server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from scheduler.app.runtime import BINDS_IN_FLIGHT, Runtime
from scheduler.config.configuration import from_object
from scheduler.framework.binding import PermitAnswer, PreBindWrites
from scheduler.framework.status import Code, Status
from scheduler.kube.resources import NODES, PODS, AnyResource
from scheduler.kube.transport import Response
from scheduler.profile.registry import IN_TREE, Registration
from tests.edge.kube.scripted import (
    Request,
    ScriptedStream,
    ScriptedTransport,
    added,
    bookmark,
    created,
    node,
    ok,
    pod,
    refusal,
)
from tests.support.binding_plugins import DONE, claim_patch, scripted

pytestmark = pytest.mark.looptime

EVERYTHING = {"status": {"resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}}


def answer(request: Request) -> Response:
    if request.path.endswith("selfsubjectrulesreviews"):
        return ok(EVERYTHING, 201)
    return ok({"metadata": {"resourceVersion": "6"}}) if request.method == "PATCH" else created()


def listed(*objects: Any) -> ScriptedStream:
    stream = ScriptedStream()
    stream.say(*(added(each) for each in objects), bookmark(10, ends_initial_events=True))
    return stream


def runtime_of(plugin: Any, transport: ScriptedTransport) -> Runtime:
    """A scheduler with the default plugins and this one."""
    enabled = {"multiPoint": {"enabled": [{"name": plugin.name}]}}
    configuration = from_object(
        {"profiles": [{"schedulerName": "reprise", "plugins": enabled}]},
        registry={**IN_TREE, plugin.name: Registration(lambda: plugin)},
    )
    return Runtime(configuration, transport, hostname="host", seed=1)


@asynccontextmanager
async def running(plugin: Any, transport: ScriptedTransport, *pods: Any) -> AsyncIterator[asyncio.Event]:
    """The scheduler has seen a large node and these pods; it ends when the event is set, and then with the block."""
    runtime = runtime_of(plugin, transport)
    allocatable = {"cpu": "400", "memory": "800Gi", "pods": "1000"}
    there: dict[AnyResource, list[Any]] = {
        NODES: [{**node("n"), "spec": {}, "status": {"allocatable": allocatable}}],
        PODS: list(pods),
    }
    transport.watch_answers = [listed(*there.get(reflector.resource, ())) for reflector in runtime.reflectors]
    stop = asyncio.Event()
    task = asyncio.create_task(runtime.run(stop))
    yield stop
    stop.set()
    assert (await task).unfinished == (0, 0, 0)


def paths(transport: ScriptedTransport, *ends: str) -> list[str]:
    """Method and last part of the requests whose path ends so."""
    return [
        f"{request.method} {request.path.rpartition('/')[2]}"
        for request in transport.requests
        if request.path.endswith(ends)
    ]


async def until(condition: Any) -> None:
    while not condition():
        await asyncio.sleep(0.05)


async def test_what_prebind_writes_is_written_before_the_bind_also_when_the_scheduler_is_asked_to_end() -> None:
    plugin = scripted(
        "Writing",
        [],
        steps=(PreBindWrites((claim_patch("a"), claim_patch("b"))), DONE),
        patches=("PersistentVolumeClaim",),
    )
    transport = ScriptedTransport(otherwise=answer, latency_seconds=0.2)
    async with running(plugin, transport, pod("p", schedulerName="reprise")) as stop:
        await until(lambda: paths(transport, "/a"))
        stop.set()

    assert paths(transport, "/status", "/a", "/b", "/binding", "/events") == [
        "PATCH status",
        "PATCH a",
        "PATCH b",
        "POST binding",
        "POST events",
    ]


async def test_the_right_to_write_it_is_asked_for() -> None:
    plugin = scripted("Writing", [], steps=(DONE,), patches=("PersistentVolumeClaim",))
    asked: list[str] = []

    def nothing_is_listed(request: Request) -> Response:
        if request.path.endswith("selfsubjectrulesreviews"):
            return refusal(500)
        if request.path.endswith("selfsubjectaccessreviews"):
            attributes = request.body["spec"]["resourceAttributes"]
            asked.append(f"{attributes['verb']} {attributes['resource']}")
            return ok({"status": {"allowed": True}}, 201)
        return answer(request)

    transport = ScriptedTransport(otherwise=nothing_is_listed)
    async with running(plugin, transport, pod("p", schedulerName="reprise")):
        await until(lambda: paths(transport, "/binding"))

    assert asked.count("patch persistentvolumeclaims") == 1


async def test_pods_that_wait_do_not_keep_others_from_being_bound() -> None:
    waiting = scripted("Waiting", [], permitted=PermitAnswer(Status(Code.WAIT), 600.0))
    waiting.takes_part = lambda pod: pod.pod.metadata.name != "last"
    pods = [pod(f"p{number}", schedulerName="reprise") for number in range(BINDS_IN_FLIGHT + 1)]
    transport = ScriptedTransport(otherwise=answer)
    async with running(waiting, transport, *pods, pod("last", schedulerName="reprise")):
        await until(lambda: paths(transport, "/binding"))

    (bind,) = [request for request in transport.requests if request.path.endswith("/binding")]
    assert bind.body["metadata"]["name"] == "last"
