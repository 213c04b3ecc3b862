"""A scheduler that is asked to end finishes what it has begun."""

import asyncio

import pytest

from scheduler.app.runtime import Runtime
from scheduler.config.configuration import load
from scheduler.kube.resources import NODES, PODS, AnyResource
from scheduler.kube.transport import Response
from tests.edge.kube.scripted import Request, ScriptedStream, ScriptedTransport, added, bookmark, created, node, ok, pod

pytestmark = pytest.mark.looptime

EVERYTHING = {"status": {"resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}}


def answer(request: Request) -> Response:
    return ok(EVERYTHING, 201) if request.path.endswith("selfsubjectrulesreviews") else created()


def listed(*objects: object) -> ScriptedStream:
    """A watch that begins with these objects and then is silent."""
    stream = ScriptedStream()
    stream.say(*(added(each) for each in objects), bookmark(10, ends_initial_events=True))  # type: ignore[arg-type]
    return stream


def small_node() -> dict[str, object]:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {**node("n"), "spec": {}, "status": {"allocatable": allocatable}}


async def test_the_last_bind_is_waited_for_and_its_event_is_recorded() -> None:
    transport = ScriptedTransport(otherwise=answer, latency_seconds=0.2)
    there: dict[AnyResource, list[dict[str, object]]] = {
        NODES: [small_node()],
        PODS: [pod("p", schedulerName="reprise")],
    }
    runtime = Runtime(load(None), transport, hostname="host", seed=1)
    transport.watch_answers = [listed(*there.get(reflector.resource, ())) for reflector in runtime.reflectors]
    stop = asyncio.Event()
    running = asyncio.create_task(runtime.run(stop))

    while not any(request.path.endswith("/binding") for request in transport.requests):
        await asyncio.sleep(0.05)
    stop.set()  # while the bind is under way
    outcome = await running

    assert outcome.unfinished == (0, 0, 0)
    last = transport.requests[-1]
    assert (last.method, last.path) == ("POST", "/apis/events.k8s.io/v1/namespaces/default/events")
    assert last.body["note"] == "Successfully assigned default/p to n"
