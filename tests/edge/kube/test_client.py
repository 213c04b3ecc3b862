"""The real HTTP client against a server on loopback, in real time."""

import asyncio
import gzip
from contextlib import suppress
from time import monotonic
from typing import Any

import pytest
import structlog
from aiohttp import web
from pyreqwest.bytes import Bytes

from scheduler.kube import client as client_module
from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import Credentials
from scheduler.kube.transport import ApiError, FailureKind, TransportFailure, error_of
from tests.edge.kube.local_server import TOKEN, client_of, configuration, read_all, serving

# ---------------------------------------------------------------------------------------------------------------- requests


async def test_a_request_says_who_we_are_and_what_we_accept() -> None:
    seen: list[web.BaseRequest] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        seen.append(request)
        return web.json_response({"body": (await request.read()).decode()}, status=201)

    async with serving(handler) as url, client_of(url) as api:
        response = await api.post("/api/v1/things?limit=5&labelSelector=a%3Db", b'{"a":1}')
    assert (response.status, response.body) == (201, b'{"body": "{\\"a\\":1}"}')
    (request,) = seen
    assert (request.method, request.path_qs) == ("POST", "/api/v1/things?limit=5&labelSelector=a%3Db")
    assert request.headers["User-Agent"] == "reprise/1.2.3"
    assert request.headers["Authorization"] == f"Bearer {TOKEN}"
    assert request.headers["Accept"] == "application/json"
    assert request.headers["Content-Type"] == "application/json"
    assert "Accept-Encoding" not in request.headers


async def test_a_patch_has_its_own_content_type_and_a_get_has_no_body() -> None:
    seen: list[tuple[str, str | None]] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        seen.append((request.method, request.headers.get("Content-Type")))
        return web.Response()

    async with serving(handler) as url, client_of(url) as api:
        await api.patch("/x", b"{}", "application/strategic-merge-patch+json")
        await api.get("/x")
        await api.delete("/x")
    assert seen == [("PATCH", "application/strategic-merge-patch+json"), ("GET", None), ("DELETE", None)]


async def test_a_base_path_in_front_of_the_api_is_kept() -> None:
    async def handler(request: web.BaseRequest) -> web.Response:
        return web.Response(text=request.path)

    async with serving(handler) as url, client_of(f"{url}/k8s/clusters/c-1/") as api:
        assert (await api.get("/api/v1/pods")).body == b"/k8s/clusters/c-1/api/v1/pods"


async def test_the_time_to_come_back_is_told() -> None:
    async def handler(_: web.BaseRequest) -> web.Response:
        return web.Response(
            status=429, headers={"Retry-After": "17"}, text="Too many requests, please try again later.\n"
        )

    async with serving(handler) as url, client_of(url) as api:
        error = error_of(await api.get("/api/v1/pods"))
    assert (error.code, error.retry_after_seconds) == (429, 17.0)
    assert error.message == (
        "the API server answered 429 Too Many Requests: Too many requests, please try again later."
    )


async def test_requests_are_observed_with_their_status() -> None:
    async def handler(request: web.BaseRequest) -> web.Response:
        return web.Response(status=404)

    observed: list[tuple[str, int]] = []
    async with serving(handler) as url:
        credentials = Credentials(lambda: configuration(url), "the test", monotonic=monotonic)
        async with ApiClient(
            credentials, version="0", observe=lambda method, status, _: observed.append((method, status))
        ) as api:
            await api.get("/a")
    with pytest.raises(TransportFailure):
        async with ApiClient(
            credentials, version="0", observe=lambda method, status, _: observed.append((method, status))
        ) as api:
            await api.post("/b", b"{}")
    assert observed == [("GET", 404), ("POST", 0)]


# ---------------------------------------------------------------------------------------------------------------- failures


async def test_a_refused_connection_was_not_sent() -> None:
    async def handler(_: web.BaseRequest) -> web.Response:
        return web.Response()

    async with serving(handler) as url:
        pass
    async with client_of(url) as api:
        with pytest.raises(TransportFailure) as caught:
            await api.post("/api/v1/x", b"{}")
    assert (caught.value.kind, caught.value.sent) == (FailureKind.REFUSED, False)
    assert str(caught.value) == f'Post "{url}/api/v1/x": Connection refused (os error 111)'


async def test_a_host_that_does_not_exist_was_not_sent_to() -> None:
    async with client_of("http://no-such-host.invalid:1") as api:
        with pytest.raises(TransportFailure) as caught:
            await api.get("/")
    assert (caught.value.kind, caught.value.sent) == (FailureKind.UNREACHABLE, False)


async def test_a_connection_lost_before_the_answer_may_have_been_sent() -> None:
    async def handler(request: web.BaseRequest) -> web.Response:
        await request.read()
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async with serving(handler) as url, client_of(url) as api:
        with pytest.raises(TransportFailure) as caught:
            await api.post("/x", b"{}")
    assert (caught.value.kind, caught.value.sent) == (FailureKind.LOST, True)


async def test_an_answer_cut_off_in_the_middle_may_have_been_sent() -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(status=201)
        response.content_length = 1000
        await response.prepare(request)
        await response.write(b"{")
        assert request.transport is not None
        request.transport.abort()
        return response

    async with serving(handler) as url, client_of(url) as api:
        with pytest.raises(TransportFailure) as caught:
            await api.post("/x", b"{}")
    assert (caught.value.kind, caught.value.sent) == (FailureKind.LOST, True)


async def test_a_request_that_times_out_may_have_been_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def handler(_: web.BaseRequest) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    monkeypatch.setattr("scheduler.kube.client.WRITE_SECONDS", 0.2)
    async with serving(handler) as url, client_of(url) as api:
        with pytest.raises(TransportFailure) as caught:
            await api.post("/x", b"{}")
    assert (caught.value.kind, caught.value.sent) == (FailureKind.TIMEOUT, True)


async def test_no_failure_and_no_log_line_shows_the_token() -> None:
    async def handler(request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    with structlog.testing.capture_logs() as logs:
        async with serving(handler) as url, client_of(url) as api:
            with pytest.raises(TransportFailure) as caught:
                await api.get("/x")
    error: BaseException | None = caught.value
    while error is not None:
        assert TOKEN not in repr(error)
        error = error.__cause__
    assert TOKEN not in repr(logs)


# ----------------------------------------------------------------------------------------------------------------- watches


async def test_a_quiet_watch_delivers_within_a_second() -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"type":"ADDED"}\n')
        await asyncio.sleep(30)
        return response

    async with serving(handler) as url, client_of(url) as api, asyncio.timeout(1), api.watch("/w") as stream:
        assert await stream.lines() == [b'{"type":"ADDED"}']


async def test_lines_are_whole_however_they_arrive() -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for part in (b"one\ntw", b"o", b"\n", b"three\nfour\nfi", b"ve\n"):
            await response.write(part)
            await asyncio.sleep(0.02)
        return response

    got: list[bytes] = []
    async with serving(handler) as url, client_of(url) as api, api.watch("/w") as stream:
        while lines := await stream.lines():
            got += lines
    assert got == [b"one", b"two", b"three", b"four", b"five"]


async def test_a_large_event_and_many_small_ones_arrive_unharmed() -> None:
    big = b'{"big":"' + b"x" * 2_000_000 + b'"}'
    small = [b'{"n":%d}' % number for number in range(20_000)]

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(big + b"\n" + b"\n".join(small) + b"\n")
        return response

    got: list[bytes] = []
    async with serving(handler) as url, client_of(url) as api, api.watch("/w") as stream:
        while lines := await stream.lines():
            got += lines
    assert got == [big, *small]


async def test_a_list_that_has_arrived_already_does_not_keep_others_from_running() -> None:
    class Arrived:
        """A body whose parts are all there: reading it never waits."""

        left = 1000

        async def read_chunk(self) -> Bytes | None:
            self.left -= 1
            return Bytes(b"line\n") if self.left >= 0 else None

    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    reader: Any = Arrived()
    lines = client_module._Lines(reader, "http://server/")
    while await lines.lines():
        pass
    task.cancel()
    assert turns > 50


async def test_no_compression_is_asked_for_on_a_watch() -> None:
    """A server that compresses when asked to shows that it was not asked."""

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        is_asked = "gzip" in request.headers.get("Accept-Encoding", "")
        response = web.StreamResponse(headers={"Content-Encoding": "gzip"} if is_asked else {})
        await response.prepare(request)
        await response.write(gzip.compress(b"line\n") if is_asked else b"line\n")
        return response

    async with serving(handler) as url, client_of(url) as api, api.watch("/w") as stream:
        assert await stream.lines() == [b"line"]
        assert await stream.lines() is None


async def test_a_refused_watch_is_an_error_with_the_servers_message() -> None:
    async def handler(_: web.BaseRequest) -> web.Response:
        status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: 1 (5)"}
        return web.json_response(status, status=410)

    async with serving(handler) as url, client_of(url) as api:
        with pytest.raises(ApiError) as caught:
            await read_all(api, "/w")
    assert (caught.value.code, caught.value.reason, str(caught.value)) == (
        410,
        "Expired",
        "too old resource version: 1 (5)",
    )
    assert caught.value.is_expired


async def test_a_watch_that_breaks_off_is_a_failure() -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\n")
        await asyncio.sleep(0.05)
        assert request.transport is not None
        request.transport.abort()
        return response

    async with serving(handler) as url, client_of(url) as api:
        with pytest.raises(TransportFailure) as caught:
            await read_all(api, "/w")
    assert caught.value.kind is FailureKind.LOST


async def test_a_watch_can_be_cancelled_at_any_moment() -> None:
    """Also at the moment when a line has just come, which is when pyreqwest drops one cancellation in eight."""

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with suppress(ConnectionResetError):
            while True:
                await response.write(b"tick\n")
                await asyncio.sleep(0.001)
        return response

    async with serving(handler) as url, client_of(url) as api:
        for index in range(100):
            task = asyncio.create_task(read_all(api, "/w"))
            await asyncio.sleep(index * 0.0003)
            task.cancel()
            done, _ = await asyncio.wait([task], timeout=2)
            assert done, f"the {index}-th cancellation was lost"
            assert task.cancelled()


async def test_a_request_can_be_cancelled_at_any_moment() -> None:
    async def handler(_: web.BaseRequest) -> web.Response:
        return web.Response()

    async def ask(api: ApiClient) -> None:
        while True:
            await api.post("/x", b"{}")

    async with serving(handler) as url, client_of(url) as api:
        for index in range(100):
            task = asyncio.create_task(ask(api))
            await asyncio.sleep(index * 0.0001)
            task.cancel()
            done, _ = await asyncio.wait([task], timeout=2)
            assert done, f"the {index}-th cancellation was lost"


async def test_leaving_a_watch_closes_it_at_the_server() -> None:
    closed = asyncio.Event()

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b"tick\n")
                await asyncio.sleep(0.02)
        except ConnectionResetError:
            closed.set()
            raise

    async with serving(handler) as url, client_of(url) as api:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(read_all(api, "/w"), 0.3)
        async with asyncio.timeout(5):
            await closed.wait()
