"""The reflector lists, watches and lists anew: on virtual time, against a scripted API server."""

import asyncio

import pytest

from scheduler.kube.resources import NODES
from scheduler.kube.transport import ApiError, FailureKind, TransportFailure
from tests.edge.kube.scripted import (
    EPOCH,
    ScriptedTransport,
    added,
    bookmark,
    deleted,
    error_event,
    modified,
    node,
    page,
    pod,
    refusal,
)
from tests.edge.kube.watched import streams, watching

pytestmark = pytest.mark.looptime

UNREACHABLE = TransportFailure(FailureKind.REFUSED, 'Get "http://server/": Connection refused', sent=False)


# ---------------------------------------------------------------------------------------------------------- list and watch


async def test_the_initial_events_are_delivered_and_synced_is_set_at_their_end() -> None:
    transport = ScriptedTransport()
    (stream,) = streams(transport, 1)
    async with watching(transport) as watched:
        stream.say(added(pod("a", version=5)), added(pod("b", version=3)))
        await asyncio.sleep(1)
        assert watched.delivered() == [("applied", "a", "uid-a", "5"), ("applied", "b", "uid-b", "3")]
        assert not watched.reflector.synced.is_set()
        assert watched.version() is None  # initial events come in no order of versions

        stream.say(bookmark(9, ends_initial_events=True))
        await asyncio.sleep(1)
        assert watched.reflector.synced.is_set()
        assert watched.version() == "9"
        assert watched.state() == "watching"
        assert len(watched.reflector) == 2


async def test_pods_are_asked_for_with_bookmarks_a_time_limit_and_without_terminal_ones() -> None:
    transport = ScriptedTransport()
    async with watching(transport, chance=0.5):
        (request,) = transport.watches
    assert request.path == "/api/v1/pods"
    assert request.query == {
        "watch": "1",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "timeoutSeconds": "450",
        "fieldSelector": "status.phase!=Succeeded,status.phase!=Failed",
    }


async def test_a_stimulus_carries_the_time_at_which_its_event_came() -> None:
    transport = ScriptedTransport()
    (stream,) = streams(transport, 1)
    async with watching(transport) as watched:
        await asyncio.sleep(10)
        stream.say(added(pod("a")))
        await asyncio.sleep(1)
        assert [round(stimulus.now - EPOCH) for stimulus in watched.stimuli] == [10]


async def test_changes_and_deletions_are_delivered_in_order() -> None:
    transport = ScriptedTransport()
    (stream,) = streams(transport, 1)
    async with watching(transport, NODES) as watched:
        stream.say(
            bookmark(1, ends_initial_events=True),
            added(node("a", version=2)),
            modified(node("a", version=3)),
            deleted(node("a", version=4)),
        )
        await asyncio.sleep(1)
        assert watched.delivered() == [
            ("applied", "a", "uid-a", "2"),
            ("applied", "a", "uid-a", "3"),
            ("deleted", "a", "uid-a"),
        ]
        assert watched.reflector.resource_version == "4"


async def test_a_watch_that_ends_is_resumed_behind_the_last_event() -> None:
    transport = ScriptedTransport()
    first, second = streams(transport, 2)
    async with watching(transport) as watched:
        first.say(bookmark(7, ends_initial_events=True), added(pod("a", version=8)))
        await asyncio.sleep(60)
        first.end()
        await asyncio.sleep(0.001)
        assert transport.watches[1].query["resourceVersion"] == "8"
        assert "sendInitialEvents" not in transport.watches[1].query
        assert first.closed()
        second.say(added(pod("b", version=9)))
        await asyncio.sleep(1)
        assert watched.delivered() == [("applied", "a", "uid-a", "8"), ("applied", "b", "uid-b", "9")]
        assert watched.reflector.counters.relists == 0


async def test_a_bookmark_advances_the_version_to_resume_from() -> None:
    transport = ScriptedTransport()
    first, _ = streams(transport, 2)
    async with watching(transport) as watched:
        first.say(bookmark(7, ends_initial_events=True), bookmark(70))
        await asyncio.sleep(60)
        first.end()
        await asyncio.sleep(0.001)
        assert transport.watches[1].query["resourceVersion"] == "70"
        assert watched.delivered() == []
        assert watched.reflector.counters.bookmarks == 2


@pytest.mark.parametrize("code", [400, 422])
async def test_a_server_that_refuses_the_watch_list_is_listed_in_pages(code: int) -> None:
    transport = ScriptedTransport(
        page(pod("a", version=3), version=20, token="next"), page(pod("b", version=4), version=20)
    )
    refused = ApiError(code, "Invalid", "sendInitialEvents is forbidden for watch")
    transport.watch_answers = [refused]
    async with watching(transport) as watched:
        assert [request.query for request in transport.requests] == [
            {"limit": "500", "fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"},
            {"limit": "500", "continue": "next", "fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"},
        ]
        assert watched.delivered() == [("applied", "a", "uid-a", "3"), ("applied", "b", "uid-b", "4")]
        assert watched.reflector.synced.is_set()
        assert transport.watches[1].query["resourceVersion"] == "20"


async def test_a_server_that_never_ends_the_initial_events_is_listed_in_pages() -> None:
    transport = ScriptedTransport(page(pod("a", version=1), version=50))
    (stream, *_) = streams(transport, 2)
    async with watching(transport) as watched:
        for version in range(1, 130):
            stream.say(added(pod("a", version=1)), modified(pod("b", version=version)))
            await asyncio.sleep(1)
        await asyncio.sleep(2)
        assert len(transport.requests) == 1
        assert watched.reflector.synced.is_set()
        # The list is the truth: b, which the stream had brought, is not in it.
        assert watched.delivered()[-1] == ("deleted", "b", "uid-b")


async def test_a_paged_list_that_outlives_its_version_is_asked_for_in_one_piece() -> None:
    transport = ScriptedTransport(
        page(pod("a"), pod("gone"), version=20, token="next"),
        refusal(410, "The provided continue parameter is too old", reason="Expired"),
        page(pod("a"), pod("b"), version=30),
    )
    transport.watch_answers = [ApiError(422, "Invalid", "no watch-list")]
    async with watching(transport) as watched:
        assert "limit" not in transport.requests[2].query
        assert watched.delivered() == [
            ("applied", "a", "uid-a", "1"),
            ("applied", "gone", "uid-gone", "1"),
            ("applied", "b", "uid-b", "1"),
            ("deleted", "gone", "uid-gone"),
        ]
        assert watched.reflector.resource_version == "30"


# ------------------------------------------------------------------------------------------------------------------ relist


async def test_after_410_a_relist_delivers_only_what_changed_and_what_is_gone() -> None:
    transport = ScriptedTransport()
    first, second = streams(transport, 2)
    async with watching(transport) as watched:
        first.say(added(pod("same")), added(pod("changed")), added(pod("gone")), bookmark(5, ends_initial_events=True))
        await asyncio.sleep(60)
        watched.delivered()
        first.say(error_event(410, "too old resource version", reason="Expired"))
        await asyncio.sleep(0.001)
        assert "resourceVersion" not in transport.watches[1].query
        second.say(added(pod("same")), added(pod("changed", version=9)), added(pod("new")))
        await asyncio.sleep(0.001)
        assert watched.delivered() == [("applied", "changed", "uid-changed", "9"), ("applied", "new", "uid-new", "1")]
        second.say(bookmark(12, ends_initial_events=True))
        await asyncio.sleep(0.001)
        assert watched.delivered() == [("deleted", "gone", "uid-gone")]
        assert watched.reflector.counters.relists == 1
        assert watched.reflector.counters.expired == 1


async def test_a_pod_recreated_under_its_name_while_nobody_watched_is_deleted_then_applied() -> None:
    transport = ScriptedTransport()
    first, second = streams(transport, 2)
    async with watching(transport) as watched:
        first.say(added(pod("a", uid="one")), bookmark(5, ends_initial_events=True))
        await asyncio.sleep(60)
        watched.delivered()
        first.say(error_event(410))
        second.say(added(pod("a", uid="two", version=8)), bookmark(9, ends_initial_events=True))
        await asyncio.sleep(1)
        assert watched.delivered() == [("deleted", "a", "one"), ("applied", "a", "two", "8")]


async def test_the_late_deletion_of_an_earlier_pod_of_that_name_leaves_the_present_one() -> None:
    transport = ScriptedTransport()
    (stream,) = streams(transport, 1)
    async with watching(transport) as watched:
        stream.say(bookmark(5, ends_initial_events=True), added(pod("a", uid="two", version=6)))
        stream.say(deleted(pod("a", uid="one", version=7)))
        await asyncio.sleep(1)
        assert watched.delivered() == [("applied", "a", "two", "6")]


async def test_a_relist_that_breaks_off_deletes_nothing() -> None:
    transport = ScriptedTransport()
    first, second, third = streams(transport, 3)
    async with watching(transport) as watched:
        first.say(added(pod("a")), added(pod("b")), bookmark(5, ends_initial_events=True))
        await asyncio.sleep(60)
        watched.delivered()
        first.say(error_event(410))
        second.say(added(pod("a")))
        await asyncio.sleep(0.001)
        second.break_off()
        await asyncio.sleep(0.001)
        assert watched.delivered() == []
        third.say(added(pod("a")), added(pod("b")), bookmark(6, ends_initial_events=True))
        await asyncio.sleep(5)
        assert watched.delivered() == []


@pytest.mark.parametrize(
    "answer",
    [
        ApiError(410, "Expired", "too old resource version"),
        ApiError(504, "Timeout", "Too large resource version", causes=("ResourceVersionTooLarge",)),
    ],
)
async def test_a_version_of_no_use_to_the_server_is_given_up(answer: ApiError) -> None:
    transport = ScriptedTransport()
    (first,) = streams(transport, 1)
    async with watching(transport):
        first.say(bookmark(5, ends_initial_events=True))
        await asyncio.sleep(60)
        transport.watch_answers = [answer]
        first.end()
        await asyncio.sleep(0.001)
        assert transport.watches[1].query["resourceVersion"] == "5"
        assert transport.watches[2].query["sendInitialEvents"] == "true"


async def test_expiry_over_and_over_is_met_with_back_off() -> None:
    transport = ScriptedTransport()
    transport.watch_answers = [ApiError(410, "Expired", "no") for _ in range(50)]
    opened = streams(transport, 1)[0]
    transport.watch_answers.insert(0, transport.watch_answers.pop())
    async with watching(transport):
        opened.say(bookmark(5, ends_initial_events=True))
        await asyncio.sleep(1)
        opened.end()
        await asyncio.sleep(10)
        # 0.1, 0.2, 0.4, 0.8, 1.6, 3.2 s apart: seven tries in ten seconds.
        assert len(transport.watches) == 1 + 7
