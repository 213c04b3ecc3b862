"""Binds on virtual time, against a scripted API server: repeated, found out, or reported as failed."""

import asyncio
from collections import Counter
from typing import Any

import pytest
import structlog.testing

from scheduler.kube.transport import Response
from tests.edge.kube.dispatching import bind, dispatching, read_pod
from tests.edge.kube.scripted import (
    EPOCH,
    LOST,
    REFUSED,
    TIMED_OUT,
    Request,
    ScriptedTransport,
    created,
    refusal,
)

pytestmark = pytest.mark.looptime


async def test_a_bind_names_the_pod_its_uid_and_the_node() -> None:
    transport = ScriptedTransport(created())
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(0.01)
        (request,) = transport.requests
        assert (request.method, request.path) == ("POST", "/api/v1/namespaces/default/pods/a/binding")
        assert request.body == {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "a", "namespace": "default", "uid": "uid-a"},
            "target": {"kind": "Node", "name": "node-1"},
        }
        assert it.answers() == [("bound", "uid-a", "node-1")]
        assert it.stimuli[0].now == pytest.approx(EPOCH)


@pytest.mark.parametrize("first", [REFUSED, refusal(503, "the server is starting")])
async def test_a_bind_that_cannot_have_been_processed_is_repeated_unread(first: Any) -> None:
    transport = ScriptedTransport(first, created())
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(1)
        assert it.sent() == [("POST", "a/binding"), ("POST", "a/binding")]
        assert it.answers() == [("bound", "uid-a", "node-1")]
        assert it.dispatcher.binder.counters.repeated == 1


# trap: how-binds-are-repeated
async def test_repeats_are_10_50_and_250_ms_apart_and_four_in_all() -> None:
    transport = ScriptedTransport(otherwise=REFUSED)
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(10)
        assert [round(request.at, 3) for request in transport.requests] == [0.0, 0.01, 0.06, 0.31]
        assert it.answers() == [
            ("failed", "uid-a", "node-1", 'Post "http://server/": Connection refused (os error 111)')
        ]


async def test_a_throttled_bind_is_repeated_after_the_time_the_server_asks_for() -> None:
    transport = ScriptedTransport(
        refusal(429, "slow down", retry_after="2"), refusal(429, "slow down", retry_after="3"), created()
    )
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(10)
        assert [round(request.at, 3) for request in transport.requests] == [0.0, 2.0, 5.0]
        assert it.answers() == [("bound", "uid-a", "node-1")]


async def test_a_throttled_bind_gives_up_in_the_end() -> None:
    transport = ScriptedTransport(otherwise=refusal(429, "slow down", retry_after="1"))
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(60)
        assert it.answers() == [("failed", "uid-a", "node-1", "slow down")]
        assert len(transport.requests) == 10


IN_DOUBT = [TIMED_OUT, LOST, refusal(500, "boom"), refusal(504, "too slow"), refusal(409, "already assigned")]


@pytest.mark.parametrize("answer", IN_DOUBT)
async def test_a_bind_in_doubt_that_was_processed_is_bound_without_a_second_one(answer: Any) -> None:
    transport = ScriptedTransport(answer, read_pod("node-1"))
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(1)
        assert it.sent() == [("POST", "a/binding"), ("GET", "a")]
        assert it.answers() == [("bound", "uid-a", "node-1")]


@pytest.mark.parametrize("answer", IN_DOUBT)
async def test_a_pod_bound_elsewhere_is_a_failed_bind(answer: Any) -> None:
    transport = ScriptedTransport(answer, read_pod("node-2"))
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(1)
        assert [row[:3] for row in it.answers()] == [("failed", "uid-a", "node-1")]


@pytest.mark.parametrize("answer", IN_DOUBT)
async def test_another_pod_of_that_name_on_that_node_is_a_failed_bind(answer: Any) -> None:
    transport = ScriptedTransport(answer, read_pod("node-1", uid="another"))
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(1)
        assert [row[:3] for row in it.answers()] == [("failed", "uid-a", "node-1")]


@pytest.mark.parametrize("answer", IN_DOUBT)
async def test_a_pod_that_is_gone_is_a_failed_bind(answer: Any) -> None:
    transport = ScriptedTransport(answer, refusal(404, 'pods "a" not found'))
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(1)
        assert [row[:3] for row in it.answers()] == [("failed", "uid-a", "node-1")]


@pytest.mark.parametrize("answer", [TIMED_OUT, LOST, refusal(500, "boom"), refusal(504, "too slow")])
async def test_a_bind_in_doubt_that_was_not_processed_is_repeated(answer: Any) -> None:
    transport = ScriptedTransport(answer, read_pod(None), created())
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(1)
        assert it.sent() == [("POST", "a/binding"), ("GET", "a"), ("POST", "a/binding")]
        assert it.answers() == [("bound", "uid-a", "node-1")]


async def test_a_bind_that_fails_on_every_attempt_tells_the_servers_message() -> None:
    def answer(request: Request) -> Response:
        return read_pod(None) if request.method == "GET" else refusal(500, "etcdserver: request timed out")

    transport = ScriptedTransport(otherwise=answer)
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(5)
        assert Counter(it.sent()) == {("POST", "a/binding"): 4, ("GET", "a"): 4}
        assert it.answers() == [("failed", "uid-a", "node-1", "etcdserver: request timed out")]


# trap: how-binds-are-repeated
async def test_a_conflict_on_an_unbound_pod_is_not_repeated() -> None:
    transport = ScriptedTransport(refusal(409, "pod a is being deleted, cannot be assigned to a host"), read_pod(None))
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(5)
        assert it.answers() == [("failed", "uid-a", "node-1", "pod a is being deleted, cannot be assigned to a host")]
        assert len(transport.requests) == 2
        assert it.dispatcher.binder.counters.conflicts == 1


async def test_a_503_to_the_last_attempt_is_not_taken_as_proof() -> None:
    unavailable = refusal(503, "upstream connect error or disconnect/reset before headers")
    transport = ScriptedTransport(*[unavailable] * 4, read_pod("node-1"))
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(5)
        assert it.answers() == [("bound", "uid-a", "node-1")]


async def test_while_the_pod_cannot_be_read_nothing_is_reported() -> None:
    transport = ScriptedTransport(
        LOST, *[REFUSED] * 20, refusal(500, "starting"), refusal(429, "slow"), read_pod("node-1")
    )
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(60)
        assert it.answers() == []
        assert it.dispatcher.in_flight == 0  # waiting takes no slot
        await asyncio.sleep(100)
        assert it.answers() == [("bound", "uid-a", "node-1")]


async def test_a_server_that_refuses_to_show_the_pod_has_not_said_that_it_is_unbound() -> None:
    forbidden = refusal(403, 'pods "a" is forbidden: User "x" cannot get resource "pods"')
    transport = ScriptedTransport(LOST, forbidden, forbidden, read_pod("node-1"))
    with structlog.testing.capture_logs() as logs:
        async with dispatching(transport) as it:
            it.submit(bind("a"))
            await asyncio.sleep(5)
            assert it.answers() == [("bound", "uid-a", "node-1")]
    assert [line["event"] for line in logs] == [
        "Cannot read pods whose bind is in doubt; will retry",
        "Pods whose bind is in doubt can be read again",
    ]


async def test_a_refused_bind_fails_at_once_with_the_servers_message() -> None:
    transport = ScriptedTransport(refusal(403, 'pods "a" is forbidden: User "x" cannot create resource'))
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(1)
        assert it.answers() == [("failed", "uid-a", "node-1", 'pods "a" is forbidden: User "x" cannot create resource')]


async def test_an_answer_that_is_no_status_is_told_with_its_code() -> None:
    transport = ScriptedTransport(Response(400, {}, b"<html>bad gateway</html>"))
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(1)
        assert it.answers()[0][3] == "the API server answered 400 Bad Request: <html>bad gateway</html>"


async def test_a_bind_that_is_not_wanted_any_more_is_not_sent_and_nothing_is_told() -> None:
    async with dispatching(ScriptedTransport()) as it:
        it.refused.add("uid-a")
        it.submit(bind("a"))
        await asyncio.sleep(1)
        assert it.sent() == []
        assert it.stimuli == []
        assert [job[:2] for job in it.observed] == [("bind", "withdrawn")]
        assert it.dispatcher.unfinished.binds == 0


@pytest.mark.parametrize("first", [REFUSED, refusal(429, "slow down")])
async def test_it_is_asked_again_before_a_bind_is_repeated_that_was_certainly_not_done(first: Any) -> None:
    transport = ScriptedTransport(first)
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(0.001)
        it.refused.add("uid-a")
        await asyncio.sleep(10)
        assert it.sent() == [("POST", "a/binding")]
        assert it.answers() == []


async def test_a_bind_that_may_be_under_way_is_not_taken_back() -> None:
    """The pod was read without a node, and yet the first request may still arrive: only its end is an answer."""
    transport = ScriptedTransport(TIMED_OUT, read_pod(None), created())
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(0.001)
        it.refused.add("uid-a")
        await asyncio.sleep(10)
        assert it.sent() == [("POST", "a/binding"), ("GET", "a"), ("POST", "a/binding")]
        assert it.answers() == [("bound", "uid-a", "node-1")]
