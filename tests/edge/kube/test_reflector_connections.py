"""The reflector when connections fail, fall silent or are throttled: on virtual time, against a scripted API server."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest
import structlog

from scheduler.kube.reflector import Reflector
from scheduler.kube.resources import PODS
from scheduler.kube.transport import ApiError, FailureKind, TransportFailure
from tests.edge.kube.scripted import (
    ScriptedTransport,
    added,
    bookmark,
    error_event,
    page,
    pod,
    refusal,
    virtual_timing,
)
from tests.edge.kube.watched import Watched, streams, watching

pytestmark = pytest.mark.looptime

UNREACHABLE = TransportFailure(FailureKind.REFUSED, 'Get "http://server/": Connection refused', sent=False)


async def test_a_silent_watch_is_closed_and_resumed_after_ninety_seconds() -> None:
    transport = ScriptedTransport(page(version=9))
    first, second = streams(transport, 2)
    with structlog.testing.capture_logs() as logs:
        async with watching(transport) as watched:
            first.say(bookmark(5, ends_initial_events=True))
            await asyncio.sleep(60)
            first.say(bookmark(6))
            await asyncio.sleep(89)
            assert not first.closed()
            assert round(watched.reflector.silence_seconds()) == 89
            await asyncio.sleep(2)
            assert first.closed()
            assert transport.watches[1].query["resourceVersion"] == "6"
            second.say(added(pod("a", version=7)))
            await asyncio.sleep(1)
            assert watched.delivered() == [("applied", "a", "uid-a", "7")]
            assert watched.reflector.counters.silences == 1
            assert watched.reflector.counters.failures == 0
    assert [line["event"] for line in logs] == ["Listed"]


async def test_a_resource_of_which_nothing_changes_is_listed_once() -> None:
    transport = ScriptedTransport(otherwise=page(version=1000))
    (first,) = streams(transport, 1)
    async with watching(transport) as watched:
        first.say(bookmark(5, ends_initial_events=True))
        await asyncio.sleep(3600)
        assert watched.reflector.counters.lists == 1
        assert watched.state() == "watching"
        assert {request.query["limit"] for request in transport.requests} == {"1"}


async def test_an_answer_after_silence_is_something_heard() -> None:
    transport = ScriptedTransport(otherwise=page(version=5))
    (first,) = streams(transport, 1)
    async with watching(transport) as watched:
        first.say(bookmark(5, ends_initial_events=True))
        await asyncio.sleep(3600)
        assert watched.reflector.silence_seconds() < 91


async def test_silence_goes_on_while_nothing_is_answered() -> None:
    transport = ScriptedTransport(otherwise=UNREACHABLE)
    (first,) = streams(transport, 1)
    async with watching(transport) as watched:
        first.say(bookmark(5, ends_initial_events=True))
        await asyncio.sleep(3600)
        assert watched.reflector.silence_seconds() > 3500


async def test_a_server_that_went_back_in_time_is_listed_anew() -> None:
    transport = ScriptedTransport(page(version=4))
    first, second = streams(transport, 2)
    async with watching(transport) as watched:
        first.say(added(pod("a", version=500)), bookmark(500, ends_initial_events=True))
        await asyncio.sleep(92)
        assert transport.watches[1].query["sendInitialEvents"] == "true"
        second.say(added(pod("a", version=3)), bookmark(4, ends_initial_events=True))
        await asyncio.sleep(1)
        assert watched.delivered() == [("applied", "a", "uid-a", "500"), ("applied", "a", "uid-a", "3")]


async def test_a_server_that_is_gone_when_the_silence_is_looked_into_is_a_failure() -> None:
    transport = ScriptedTransport(UNREACHABLE)
    first, _ = streams(transport, 2)
    async with watching(transport) as watched:
        first.say(bookmark(5, ends_initial_events=True))
        await asyncio.sleep(90.1)
        assert watched.state() == "unreachable"
        await asyncio.sleep(1)
        assert transport.watches[1].query["resourceVersion"] == "5"


async def test_silence_before_the_initial_events_have_ended_leads_to_a_list_in_pages() -> None:
    transport = ScriptedTransport(page(pod("a"), version=4))
    streams(transport, 2)
    async with watching(transport) as watched:
        await asyncio.sleep(92)
        assert watched.delivered() == [("applied", "a", "uid-a", "1")]
        assert watched.reflector.synced.is_set()


async def test_tries_are_spaced_by_a_growing_jittered_back_off() -> None:
    transport = ScriptedTransport()
    transport.watch_answers = [UNREACHABLE] * 30
    async with watching(transport, chance=0.5):
        await asyncio.sleep(200)
        moments = [request.at for request in transport.watches]
    gaps = [round(later - earlier, 3) for earlier, later in pairwise(moments)]
    assert gaps[:11] == [0.15, 0.3, 0.6, 1.2, 2.4, 4.8, 9.6, 19.2, 38.4, 45.0, 45.0]


async def test_an_outage_is_two_log_lines_however_long_it_lasts() -> None:
    transport = ScriptedTransport()
    transport.watch_answers = [UNREACHABLE] * 20
    transport.otherwise = page(version=9)
    (stream,) = streams(transport, 1)
    with structlog.testing.capture_logs() as logs:
        async with watching(transport) as watched:
            await asyncio.sleep(10)
            assert watched.state() == "unreachable"
            stream.say(bookmark(5, ends_initial_events=True))
            await asyncio.sleep(500)
            assert watched.state() == "watching"
    assert [(line["log_level"], line["event"]) for line in logs] == [
        ("warning", "Cannot watch; will retry"),
        ("info", "Listed"),
        ("info", "API server answers again"),
    ]
    assert logs[0]["error"] == 'Get "http://server/": Connection refused'
    assert logs[2]["failures"] == 20


async def test_another_kind_of_failure_is_another_log_line() -> None:
    transport = ScriptedTransport()
    forbidden = ApiError(403, "Forbidden", 'pods is forbidden: User "x" cannot watch resource "pods"')
    transport.watch_answers = [UNREACHABLE, UNREACHABLE, *[forbidden] * 20]
    with structlog.testing.capture_logs() as logs:
        async with watching(transport):
            await asyncio.sleep(20)
    assert [(line["state"], line["error"]) for line in logs] == [
        ("unreachable", 'Get "http://server/": Connection refused'),
        ("forbidden", 'pods is forbidden: User "x" cannot watch resource "pods"'),
    ]
    assert "grant list and watch on pods in all namespaces" in logs[1]["advice"]


async def test_a_throttled_watch_waits_as_long_as_the_server_asks() -> None:
    transport = ScriptedTransport()
    busy = ApiError(429, "TooManyRequests", "storage is (re)initializing", retry_after_seconds=7.0)
    transport.watch_answers = [busy, busy]
    async with watching(transport) as watched:
        await asyncio.sleep(20)
        assert [round(request.at) for request in transport.watches] == [0, 7, 14]
        assert watched.reflector.counters.throttled == 2
        assert watched.reflector.counters.failures == 0


async def test_a_throttled_list_waits_as_long_as_the_server_asks() -> None:
    transport = ScriptedTransport(refusal(429, "slow down", retry_after="5"), page(version=3))
    transport.watch_answers = [ApiError(422, "Invalid", "no watch-list")]
    async with watching(transport) as watched:
        await asyncio.sleep(10)
        assert [round(request.at) for request in transport.requests] == [0, 5]
        assert watched.reflector.synced.is_set()


async def test_an_error_in_the_stream_is_waited_out_and_the_watch_resumed() -> None:
    transport = ScriptedTransport()
    first, _ = streams(transport, 2)
    async with watching(transport) as watched:
        first.say(bookmark(5, ends_initial_events=True), error_event(500, "etcdserver: leader changed"))
        await asyncio.sleep(1)
        assert watched.state() == "refused"
        assert [round(request.at, 1) for request in transport.watches] == [0.0, 0.1]
        assert transport.watches[1].query["resourceVersion"] == "5"


async def test_a_server_that_ends_each_watch_at_once_is_not_asked_in_a_hot_loop() -> None:
    transport = ScriptedTransport()
    first, *rest = streams(transport, 30)
    async with watching(transport):
        first.say(bookmark(5, ends_initial_events=True))
        await asyncio.sleep(60)
        for stream in (first, *rest):
            stream.end()
        await asyncio.sleep(10)
        assert len(transport.watches) == 1 + 7


async def test_a_quiet_watch_after_an_outage_counts_as_working() -> None:
    transport = ScriptedTransport()
    first, _ = streams(transport, 2)
    async with watching(transport) as watched:
        first.say(bookmark(5, ends_initial_events=True))
        await asyncio.sleep(1)
        first.break_off()
        await asyncio.sleep(0.05)
        assert watched.state() == "unreachable"
        await asyncio.sleep(2)
        assert watched.state() == "watching"


async def test_a_stream_that_is_not_json_is_opened_anew() -> None:
    transport = ScriptedTransport()
    first, second = streams(transport, 2)
    async with watching(transport) as watched:
        first.say(bookmark(5, ends_initial_events=True), b"<html>Bad gateway</html>")
        await asyncio.sleep(1)
        assert watched.state() == "broken"
        second.say(added(pod("a", version=6)))
        await asyncio.sleep(1)
        assert watched.delivered() == [("applied", "a", "uid-a", "6")]


async def test_what_deliver_raises_ends_the_reflector() -> None:
    transport = ScriptedTransport()
    (stream,) = streams(transport, 1)

    def deliver(_: Any) -> None:
        raise RuntimeError("a bug")

    reflector = Reflector(transport, PODS, deliver, timing=virtual_timing())
    stream.say(added(pod("a")))
    with pytest.raises(RuntimeError, match="a bug"):
        await reflector.run()


async def test_who_has_not_begun_to_listen_misses_nothing() -> None:
    """One that stands by may know nothing until it leads."""
    watched = Watched(ScriptedTransport(), PODS, chance=0.0)
    await asyncio.sleep(3600)
    assert watched.reflector.silence_seconds() == 0.0
