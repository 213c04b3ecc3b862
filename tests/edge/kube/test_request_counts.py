"""What the client counts of its requests, against a server on loopback."""

from __future__ import annotations

import contextlib

from aiohttp import web

from scheduler.core.measurements import Histogram
from scheduler.kube.request_counts import RequestCounts, all_counts
from scheduler.kube.transport import TransportFailure
from tests.edge.kube.local_server import client_of, serving


def observed(histogram: Histogram) -> tuple[int, float]:
    return sum(histogram.buckets), histogram.sum


async def answer(request: web.BaseRequest) -> web.Response:
    await request.read()
    return web.Response(status=409 if request.path == "/taken" else 200, body=b"x" * 100)


async def test_each_request_is_counted_by_method_and_answer_with_its_sizes() -> None:
    async with serving(answer) as url, client_of(url) as api:
        await api.get("/a")
        await api.post("/a", b"y" * 10)
        await api.post("/taken", b"y" * 20)
        counts = api.counts

    assert counts.host == url.removeprefix("http://")
    assert counts.requests == {("GET", 200): 1, ("POST", 200): 1, ("POST", 409): 1}
    assert observed(counts.sent_bytes["POST"]) == (2, 30.0)
    assert observed(counts.received_bytes["POST"]) == (2, 200.0)
    assert observed(counts.received_bytes["GET"]) == (1, 100.0)
    assert observed(counts.seconds["POST"])[0] == 2
    assert counts in all_counts()


async def test_a_request_without_an_answer_is_counted_as_such() -> None:
    async with serving(answer) as url:
        api = client_of(url)
    async with api:
        with contextlib.suppress(TransportFailure):
            await api.post("/a", b"{}")

    assert api.counts.requests == {("POST", 0): 1}
    assert observed(api.counts.received_bytes["POST"]) == (0, 0.0)


async def test_a_watch_is_a_request_without_end() -> None:
    async with serving(answer) as url, client_of(url) as api, api.watch("/a") as stream:
        await stream.lines()

    assert api.counts.requests == {("GET", 200): 1}
    assert api.counts.seconds == {}


def test_counts_go_with_their_client() -> None:
    mine = RequestCounts("gone.example")
    assert mine in all_counts()
    del mine

    assert "gone.example" not in {one.host for one in all_counts()}
