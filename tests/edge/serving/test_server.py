"""The pages over real sockets on loopback, with and without TLS, asked for by those who may see them and those who may not."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import pytest

from scheduler.api.reviews import AccessVerdict, ReviewError, UserInfo
from scheduler.serving.certificates import Certificate, SelfSigned, utc_now
from scheduler.serving.gate import Gate
from scheduler.serving.health import ping
from scheduler.serving.pages import Document, PageError, Pages
from scheduler.serving.server import Address, Secure, Server, ServingError

READY = {"ping": ping, "sched-handler-sync": lambda: False}
TEXT = ("text/plain; version=0.0.4; charset=utf-8",)
LOOPBACK = "127.0.0.1"


class Reviewer:
    """Knows two users: one who may see metrics, and one who may see nothing."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.is_away = False

    async def user_of(self, token: str) -> UserInfo | None:
        self.asked.append(token)
        if self.is_away:
            raise ReviewError("connection refused")
        return UserInfo(username=token) if token in ("scraper", "stranger") else None

    async def may(self, user: UserInfo, verb: str, path: str) -> AccessVerdict:
        return AccessVerdict(allowed=(user.username, verb, path) == ("scraper", "get", "/metrics"))


def make_pages(debug: Mapping[str, Document] | None = None, **others: Any) -> Pages:
    return dataclasses.replace(
        Pages(
            live={"ping": ping},
            ready=READY,
            metrics={
                "/metrics": lambda: lambda: (b"scheduler_up 1\n", TEXT[0]),
                "/metrics/slis": lambda: lambda: (b"slis 1\n", TEXT[0]),
            },
            configuration=lambda: {"kind": "KubeSchedulerConfiguration"},
            debug=debug or {},
        ),
        **others,
    )


@contextlib.asynccontextmanager
async def serving(pages: Pages | None = None, reviewer: Reviewer | None = None) -> AsyncIterator[Server]:
    gate = Gate(reviewer or Reviewer(), monotonic=lambda: 0.0)
    certificate = Certificate(SelfSigned(["localhost", LOOPBACK], utc_now))
    server = Server(
        pages or make_pages(),
        secure=Secure(Address(LOOPBACK, 0, "secure"), certificate, gate),
        plain_metrics=Address(LOOPBACK, 0, "plain"),
        insecure=Address(LOOPBACK, 0, "insecure"),
    )
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def url_of(server: Server, which: str) -> str:
    return f"{'https' if which == 'secure' else 'http'}://{LOOPBACK}:{server.ports[which]}"


async def ask(
    server: Server, path: str, which: str = "insecure", *, token: str = "", method: str = "GET", **headers: str
) -> tuple[int, str, str]:
    if token:
        headers["Authorization"] = f"Bearer {token}"
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, url_of(server, which) + path, headers=headers, ssl=False) as response,
    ):
        return response.status, response.headers["Content-Type"], await response.text()


async def get(path: str, pages: Pages | None = None, which: str = "insecure", **options: Any) -> tuple[int, str, str]:
    async with serving(pages) as server:
        return await ask(server, path, which, **options)


# ----------------------------------------------------------------------------------------------------------------- pages


async def test_livez_is_green_while_readyz_is_red() -> None:
    assert (await get("/livez"))[::2] == (200, "ok")
    assert (await get("/readyz"))[0] == 500


async def test_healthz_is_a_ping_or_the_checks_that_it_is_given() -> None:
    assert (await get("/healthz"))[::2] == (200, "ok")
    pages = make_pages(health={"leaderElection": lambda: False})
    assert (await get("/healthz", pages))[::2] == (
        500,
        "[-]leaderElection failed: reason withheld\nhealthz check failed\n",
    )
    assert (await get("/healthz/ping", pages))[0] == 404


async def test_a_single_check_has_a_page_of_its_own() -> None:
    assert (await get("/readyz/ping"))[::2] == (200, "ok")
    assert (await get("/readyz/sched-handler-sync"))[::2] == (500, "internal server error: sched-handler-sync\n")


async def test_an_unknown_check_is_not_found_and_the_known_ones_are_named() -> None:
    assert (await get("/readyz/etcd"))[::2] == (404, "no check etcd; there are: ping, sched-handler-sync\n")


async def test_checks_can_be_excluded_by_query() -> None:
    assert (await get("/readyz?exclude=sched-handler-sync"))[::2] == (200, "ok")


async def test_metrics_carry_the_exposition_content_type() -> None:
    assert await get("/metrics") == (200, "text/plain; version=0.0.4; charset=utf-8", "scheduler_up 1\n")


async def test_metrics_are_not_reset() -> None:
    assert (await get("/metrics", method="DELETE"))[0] == 405


async def test_configz_wraps_the_document_as_componentconfig() -> None:
    status, _, body = await get("/configz")

    assert (status, body) == (200, '{"componentconfig":{"kind":"KubeSchedulerConfiguration"}}')


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


async def test_numbers_are_taken_where_they_live_and_written_down_elsewhere() -> None:
    threads: list[str] = []

    def gather() -> Any:
        threads.append(threading.current_thread().name)
        return lambda: (threading.current_thread().name.encode(), TEXT[0])

    pages = make_pages(metrics={"/metrics": gather}, owner=asyncio.get_running_loop())

    assert (await get("/metrics", pages))[2] == "serving"
    assert threads == [threading.current_thread().name]


async def test_health_is_told_while_the_owner_of_the_numbers_is_busy() -> None:
    owner = asyncio.new_event_loop()  # which never turns
    async with serving(make_pages(owner=owner)) as server:
        assert (await ask(server, "/livez"))[::2] == (200, "ok")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await ask(server, "/metrics")
    await asyncio.to_thread(owner.run_until_complete, asyncio.sleep(0))
    owner.close()


# ------------------------------------------------------------------------------------------------------- who may see what


@pytest.mark.parametrize("path", ["/livez", "/readyz?exclude=sched-handler-sync", "/healthz"])
async def test_health_is_open_to_everybody(path: str) -> None:
    assert (await get(path, which="secure"))[::2] == (200, "ok")


@pytest.mark.parametrize("path", ["/metrics", "/configz", "/readyz/ping", "/nothing", "/livez/"])
async def test_everything_else_is_refused_without_a_token(path: str) -> None:
    status, content_type, body = await get(path, which="secure")

    assert (status, content_type) == (401, "application/json")
    assert json.loads(body) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }


async def test_a_token_that_is_nobodys_is_refused() -> None:
    assert (await get("/metrics", which="secure", token="forged"))[0] == 401


async def test_who_may_see_metrics_sees_them() -> None:
    assert (await get("/metrics", which="secure", token="scraper"))[::2] == (200, "scheduler_up 1\n")


async def test_who_may_not_is_told_so_in_the_words_of_kubernetes() -> None:
    status, _, body = await get("/metrics", which="secure", token="stranger")

    assert status == 403
    assert json.loads(body) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'forbidden: User "stranger" cannot get path "/metrics"',
        "reason": "Forbidden",
        "details": {},
        "code": 403,
    }


async def test_the_verb_is_that_of_the_request() -> None:
    body = (await get("/metrics", which="secure", token="scraper", method="DELETE"))[2]

    assert 'User \\"scraper\\" cannot delete path \\"/metrics\\"' in body


async def test_a_page_is_refused_when_nobody_can_be_asked() -> None:
    reviewer = Reviewer()
    reviewer.is_away = True
    async with serving(reviewer=reviewer) as server:
        status, _, body = await ask(server, "/metrics", "secure", token="scraper")

    assert (status, body) == (500, 'Internal Server Error: "/metrics": connection refused\n')


async def test_the_plain_port_has_metrics_and_nothing_else() -> None:
    async with serving() as server:
        found = {
            path: (await ask(server, path, "plain"))[0]
            for path in ("/metrics", "/metrics/slis", "/configz", "/livez", "/")
        }

    assert found == {"/metrics": 200, "/metrics/slis": 404, "/configz": 404, "/livez": 404, "/": 404}


async def test_nobody_is_asked_on_loopback_but_for_the_name_that_was_used() -> None:
    async with serving() as server:
        assert (await ask(server, "/configz"))[0] == 200
        assert (await ask(server, "/configz", Host=f"localhost:{server.ports['insecure']}"))[0] == 200
        assert (await ask(server, "/configz", Host="evil.example:10259"))[0] == 403


async def test_answers_are_not_to_be_kept() -> None:
    async with (
        serving() as server,
        aiohttp.ClientSession() as session,
        session.get(url_of(server, "insecure") + "/livez") as response,
    ):
        assert response.headers["Cache-Control"] == "no-cache, private"
        assert response.headers["X-Content-Type-Options"] == "nosniff"


# ------------------------------------------------------------------------------------------------------------------- ports


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
async def test_an_address_that_others_can_reach_is_refused_where_nobody_is_asked(address: str) -> None:
    with pytest.raises(ServingError, match="is not a loopback address"):
        await Server(make_pages(), insecure=Address(address, 0, "insecure")).start()


async def test_a_taken_port_is_named() -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(ServingError, match=rf"cannot listen on 127\.0\.0\.1:{port}: .*set serving\.port"):
            await Server(make_pages(), insecure=Address(LOOPBACK, port, "serving.port")).start()


async def test_after_stop_the_port_is_free_and_the_thread_has_ended() -> None:
    server = Server(make_pages(), insecure=Address(LOOPBACK, 0, "insecure"))
    await server.start()
    port = server.ports["insecure"]
    await server.stop()

    with socket.socket() as again:
        again.bind((LOOPBACK, port))
    assert "serving" not in {thread.name for thread in threading.enumerate()}


async def test_all_addresses_are_those_of_both_families() -> None:
    server = Server(make_pages(), plain_metrics=Address("0.0.0.0", 0, "plain"))
    await server.start()
    try:
        for host in ("127.0.0.1", *(("[::1]",) if socket.has_dualstack_ipv6() else ())):
            url = f"http://{host}:{server.ports['plain']}/metrics"
            async with aiohttp.ClientSession() as session, session.get(url) as response:
                assert response.status == 200
    finally:
        await server.stop()


async def test_who_holds_many_connections_keeps_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler.serving.listener.AT_ONCE", 4)
    async with serving() as server:
        held = [await asyncio.open_connection(LOOPBACK, server.ports["insecure"]) for _ in range(20)]

        assert (await ask(server, "/livez"))[::2] == (200, "ok")
        with contextlib.suppress(ConnectionError):
            assert await held[0][0].read() == b""  # the oldest one has been cut
        for _, writer in held:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


@pytest.mark.parametrize("is_old", [False, True], ids=["this Python", "as Python 3.11.2 has it"])
async def test_a_connection_that_was_closed_twice_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch, is_old: bool
) -> None:
    """As the server itself does it when its client goes at the same time; with TLS there is a goodbye to wait for."""
    if is_old:
        monkeypatch.setattr("asyncio.sslproto._SSLProtocolTransport.abort", lambda self: self._ssl_protocol._abort())
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    async with serving() as server:
        reader, writer = await asyncio.open_connection(LOOPBACK, server.ports["secure"], ssl=context)
        writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        open_ones = [transport for listener in server._listeners for transport, _ in listener._transports]

        async def close_twice() -> None:
            for transport in open_ones:
                transport.close()
                transport.close()

        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(close_twice(), server.loop))
        assert len(open_ones) == 1
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def test_who_asks_with_forged_tokens_all_the_time_gets_few_of_them_to_the_api_server() -> None:
    reviewer = Reviewer()
    async with serving(reviewer=reviewer) as server:
        statuses = [(await ask(server, "/metrics", "secure", token=f"forged-{index}"))[0] for index in range(60)]

    assert statuses == [401] * 10 + [429] * 50
    assert len(reviewer.asked) == 10
