"""A bind whose connection ends before the answer, through the whole edge and over real connections: it is never repeated unread."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from aiohttp import web

from scheduler.core.instruction import BindPod, PodReference
from scheduler.core.stimulus import PodBound, Stimulus
from scheduler.kube.dispatcher import Dispatcher
from tests.edge.kube.local_server import client_of, serving


class Server:
    """Binds pods, and cuts the connection of the requests whose numbers it is given, having carried them out or not."""

    def __init__(self, *, cut: tuple[int, ...], carries_out: bool) -> None:
        self.requests: list[tuple[str, str]] = []
        self.node_of: dict[str, str] = {}
        self.refused = 0
        self._cut = cut
        self._carries_out = carries_out

    async def __call__(self, request: web.BaseRequest) -> web.Response:
        name = request.path.split("/")[6]
        self.requests.append((request.method, name))
        if request.method == "GET":
            spec = {"nodeName": self.node_of[name]} if name in self.node_of else {}
            return web.json_response({"metadata": {"uid": name}, "spec": spec})
        binds = sum(method == "POST" for method, _ in self.requests)
        if binds in self._cut and not self._carries_out:
            return self._abort(request)
        node = msgspec.json.decode(await request.read())["target"]["name"]
        if name in self.node_of:
            self.refused += 1
            return web.json_response({"kind": "Status", "message": "already assigned", "code": 409}, status=409)
        self.node_of[name] = node
        return self._abort(request) if binds in self._cut else web.json_response({}, status=201)

    def _abort(self, request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()


@asynccontextmanager
async def binding(server: Server, *names: str) -> AsyncIterator[list[Stimulus]]:
    """Bind pods one after the other, so that later ones use the connection of earlier ones."""
    answers: list[Stimulus] = []
    async with serving(server) as url, client_of(url) as client:
        dispatcher = Dispatcher(client, answers.append, hostname="h")
        async with asyncio.timeout(20):
            for count, name in enumerate(names, 1):
                pod = PodReference(namespace="default", name=name, uid=name)
                dispatcher.submit(BindPod(pod=pod, node_name="n1"))
                while len(answers) < count:
                    await asyncio.sleep(0.001)
        await dispatcher.close()
        yield answers


@pytest.mark.parametrize("number", [1, 2])
async def test_a_bind_that_was_carried_out_is_read_and_not_sent_again(number: int) -> None:
    """The first one is on a new connection, the second on one that was kept."""
    server = Server(cut=(number,), carries_out=True)
    async with binding(server, "a", "b") as answers:
        assert [type(answer) for answer in answers] == [PodBound, PodBound]
    lost = "ab"[number - 1]
    assert [method for method, name in server.requests if name == lost] == ["POST", "GET"]
    assert server.refused == 0


async def test_a_bind_that_was_not_carried_out_is_sent_again_once_that_is_read() -> None:
    server = Server(cut=(2,), carries_out=False)
    async with binding(server, "a", "b") as answers:
        assert [type(answer) for answer in answers] == [PodBound, PodBound]
    assert [method for method, name in server.requests if name == "b"] == ["POST", "GET", "POST"]
    assert (server.node_of, server.refused) == ({"a": "n1", "b": "n1"}, 0)
