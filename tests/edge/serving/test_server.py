"""The pages over a real socket on loopback."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import pytest

from scheduler.serving.health import ping
from scheduler.serving.server import Document, PageError, Pages, Server, ServingError

READY = {"ping": ping, "sched-handler-sync": lambda: False}


def make_pages(debug: Mapping[str, Document] | None = None) -> Pages:
    return Pages(
        live={"ping": ping},
        ready=READY,
        metrics=lambda: (b"scheduler_up 1\n", "text/plain; version=0.0.4; charset=utf-8"),
        configuration=lambda: {"kind": "KubeSchedulerConfiguration"},
        debug=debug or {},
    )


@contextlib.asynccontextmanager
async def serving(pages: Pages | None = None) -> AsyncIterator[str]:
    server = Server(pages or make_pages())
    port = await server.start("127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await server.stop()


async def get(path: str, pages: Pages | None = None) -> tuple[int, str, str]:
    async with serving(pages) as url, aiohttp.ClientSession() as session, session.get(url + path) as response:
        return response.status, response.headers["Content-Type"], await response.text()


async def test_livez_is_green_while_readyz_is_red() -> None:
    assert (await get("/livez"))[::2] == (200, "ok")
    assert (await get("/readyz"))[0] == 500


async def test_healthz_is_a_ping_or_the_checks_that_it_is_given() -> None:
    assert (await get("/healthz"))[::2] == (200, "ok")
    pages = dataclasses.replace(make_pages(), health={"leaderElection": lambda: False})
    assert (await get("/healthz", pages))[::2] == (
        500,
        "[-]leaderElection failed: reason withheld\nhealthz check failed\n",
    )
    assert (await get("/healthz/ping", pages))[0] == 404


async def test_a_single_check_has_a_page_of_its_own() -> None:
    assert (await get("/readyz/ping"))[::2] == (200, "ok")


async def test_an_unknown_check_is_not_found_and_the_known_ones_are_named() -> None:
    assert (await get("/readyz/etcd"))[::2] == (404, "no check etcd; there are: ping, sched-handler-sync\n")


async def test_checks_can_be_excluded_by_query() -> None:
    assert (await get("/readyz?exclude=sched-handler-sync"))[::2] == (200, "ok")


async def test_metrics_carry_the_exposition_content_type() -> None:
    assert await get("/metrics") == (200, "text/plain; version=0.0.4; charset=utf-8", "scheduler_up 1\n")


async def test_configz_wraps_the_document_as_componentconfig() -> None:
    status, _, body = await get("/configz")

    assert (status, body) == (200, '{"componentconfig":{"kind":"KubeSchedulerConfiguration"}}')


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
async def test_an_address_that_others_can_reach_is_refused(address: str) -> None:
    with pytest.raises(ServingError, match="only loopback is served"):
        await Server(make_pages()).start(address, 0)


async def test_a_taken_port_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(ServingError, match=rf"cannot listen on 127\.0\.0\.1:{port}: .*serving\.port"):
            await Server(make_pages()).start("127.0.0.1", port)


async def test_after_stop_the_port_is_free() -> None:
    server = Server(make_pages())
    port = await server.start("127.0.0.1", 0)
    await server.stop()

    with socket.socket() as again:
        again.bind(("127.0.0.1", port))


async def test_what_is_for_debugging_has_a_page_each_where_it_is_switched_on() -> None:
    pages = make_pages({"batch": lambda: {"entries": []}})

    assert await get("/debug/batch", pages) == (200, "application/json", '{"entries":[]}')
    assert (await get("/debug/batch"))[0] == 404


async def test_a_debug_page_can_take_its_time() -> None:
    async def document() -> dict[str, Any]:
        return {"nodes": 3}

    assert (await get("/debug/slow", make_pages({"slow": document})))[::2] == (200, '{"nodes":3}')


async def test_a_debug_page_that_cannot_be_made_says_why() -> None:
    def document() -> dict[str, Any]:
        raise PageError("the API server is away")

    assert (await get("/debug/slow", make_pages({"slow": document})))[::2] == (503, "the API server is away\n")
