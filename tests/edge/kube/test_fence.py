"""Writes behind a fence: what is sent while it is open, and that nothing is afterwards, however a write was delayed."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from scheduler.kube.dispatcher import Dispatcher
from scheduler.kube.fence import Fence, FenceClosed, steady_seconds
from scheduler.kube.transport import MERGE_PATCH, Response, Transport
from tests.edge.kube.dispatching import bind
from tests.edge.kube.local_server import client_of, serving
from tests.edge.kube.test_connections import connecting

WRITES: list[Callable[[Transport], Awaitable[Response]]] = [
    lambda transport: transport.post("/x", b"{}"),
    lambda transport: transport.put("/x", b"{}"),
    lambda transport: transport.patch("/x", b"{}", MERGE_PATCH),
    lambda transport: transport.delete("/x"),
]


def counting(seen: list[str]) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        await request.read()
        seen.append(request.method)
        return web.json_response({})

    return handle


def test_a_fence_is_closed_until_it_is_opened_and_again_when_its_time_is_over() -> None:
    now = 100.0
    fence = Fence(lambda: now)
    with pytest.raises(FenceClosed):
        fence.check()
    fence.open_until(110.0)
    fence.check()
    now = 109.999
    fence.check()
    now = 110.0
    with pytest.raises(FenceClosed):
        fence.check()


def test_a_closed_fence_is_closed() -> None:
    fence = Fence(lambda: 0.0)
    fence.open_until(10.0)
    fence.close()
    with pytest.raises(FenceClosed):
        fence.check()


def test_the_clock_of_a_fence_goes_on() -> None:
    before = steady_seconds()
    assert steady_seconds() >= before


async def test_every_kind_of_write_asks_the_fence_and_reads_do_not() -> None:
    seen: list[str] = []
    fence = Fence()
    async with serving(counting(seen)) as url, client_of(url) as client:
        fenced = client.fenced(fence)
        for write in WRITES:
            with pytest.raises(FenceClosed):
                await write(fenced)
        assert seen == []
        assert (await fenced.get("/x")).status == 200
        fence.open_until(float("inf"))
        for write in WRITES:
            assert (await write(fenced)).status == 200
        assert seen == ["GET", "POST", "PUT", "PATCH", "DELETE"]


async def test_the_client_itself_is_not_fenced() -> None:
    seen: list[str] = []
    async with serving(counting(seen)) as url, client_of(url) as client:
        client.fenced(Fence())
        await client.post("/x", b"{}")
    assert seen == ["POST"]


async def test_a_fence_that_closes_while_a_connection_is_made_lets_nothing_pass() -> None:
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read())
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    fence = Fence()
    fence.open_until(float("inf"))
    async with server, connecting(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}") as connections:
        sending = asyncio.create_task(connections.send("POST", "/x", b"{}", "application/json", None, 5.0, fence))
        await asyncio.sleep(0)  # it connects
        fence.close()
        with pytest.raises(FenceClosed):
            await sending
        connections.close()
        while not heard:
            await asyncio.sleep(0.01)
    assert heard == [b""]


async def test_a_dispatcher_whose_fence_is_closed_ends_and_sends_nothing() -> None:
    seen: list[str] = []
    fence = Fence()
    async with serving(counting(seen)) as url, client_of(url) as client:
        dispatcher = Dispatcher(client.fenced(fence), lambda _stimulus: None, hostname="host")
        running = asyncio.create_task(dispatcher.run())
        dispatcher.submit(bind("a"))
        with pytest.raises(FenceClosed):
            await running
        await dispatcher.close()
    assert seen == []
