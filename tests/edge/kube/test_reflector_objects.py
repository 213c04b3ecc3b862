"""The reflector and objects that are absent or cannot be decoded: on virtual time, against a scripted API server."""

import asyncio
from typing import Any

import pytest
import structlog

from scheduler.kube.resources import DEVICE_CLASSES, NAMESPACES, NODES
from scheduler.kube.transport import ApiError, FailureKind, TransportFailure
from tests.edge.kube.scripted import (
    ScriptedTransport,
    added,
    bookmark,
    deleted,
    error_event,
    modified,
    node,
    page,
    pod,
)
from tests.edge.kube.watched import streams, watching

pytestmark = pytest.mark.looptime

UNREACHABLE = TransportFailure(FailureKind.REFUSED, 'Get "http://server/": Connection refused', sent=False)


async def test_a_group_that_the_server_does_not_serve_is_empty_and_asked_for_rarely() -> None:
    transport = ScriptedTransport()
    absent = ApiError(404, "NotFound", "the server could not find the requested resource")
    transport.watch_answers = [absent, absent]
    (stream,) = streams(transport, 1)
    with structlog.testing.capture_logs() as logs:
        async with watching(transport, DEVICE_CLASSES) as watched:
            assert watched.reflector.synced.is_set()
            assert watched.state() == "absent"
            await asyncio.sleep(601)
            assert [round(request.at) for request in transport.watches] == [0, 300, 600]
            assert watched.reflector.silence_seconds() < 2
            stream.say(added(node("gpu")), bookmark(2, ends_initial_events=True))
            await asyncio.sleep(1)
            assert watched.delivered() == [("applied", "gpu", "uid-gpu", "1")]
            assert watched.state() == "watching"
    assert [line["event"] for line in logs] == ["Not served by the API server; taken as empty", "Listed"]


async def test_objects_of_a_group_that_vanishes_are_deleted() -> None:
    transport = ScriptedTransport()
    (stream,) = streams(transport, 1)
    transport.watch_answers.append(ApiError(404, "NotFound", "no"))
    async with watching(transport, DEVICE_CLASSES) as watched:
        stream.say(added(node("gpu")), bookmark(2, ends_initial_events=True))
        await asyncio.sleep(60)
        stream.end()
        await asyncio.sleep(1)
        assert watched.delivered() == [("applied", "gpu", "uid-gpu", "1"), ("deleted", "gpu", "uid-gpu")]


async def test_a_missing_resource_that_must_be_there_is_a_failure() -> None:
    transport = ScriptedTransport()
    transport.watch_answers = [ApiError(404, "NotFound", "no")]
    async with watching(transport, NODES) as watched:
        assert watched.state() == "refused"
        assert not watched.reflector.synced.is_set()


def broken(name: str, uid: str | None = None, version: int = 1) -> dict[str, Any]:
    return pod(name, uid, version) | {"spec": {"containers": "none"}}


async def test_an_object_that_cannot_be_decoded_is_logged_once_with_its_name_and_the_others_go_on() -> None:
    transport = ScriptedTransport()
    (stream,) = streams(transport, 1)
    with structlog.testing.capture_logs() as logs:
        async with watching(transport) as watched:
            stream.say(
                added(broken("bad")),
                added(pod("good")),
                bookmark(5, ends_initial_events=True),
                modified(broken("bad", version=6)),
            )
            await asyncio.sleep(1)
            assert watched.delivered() == [("applied", "good", "uid-good", "1")]
            assert watched.reflector.counters.undecodable == 2
            assert watched.reflector.resource_version == "6"
            assert watched.state() == "watching"
    (line,) = [line for line in logs if line["log_level"] == "error"]
    assert (line["resource"], line["object"], line["uid"]) == ("pods", "default/bad", "uid-bad")
    assert "containers" in line["error"]


async def test_an_object_that_becomes_decodable_is_applied() -> None:
    transport = ScriptedTransport()
    (stream,) = streams(transport, 1)
    async with watching(transport) as watched:
        stream.say(added(broken("a")), bookmark(5, ends_initial_events=True), modified(pod("a", version=6)))
        await asyncio.sleep(1)
        assert watched.delivered() == [("applied", "a", "uid-a", "6")]


async def test_the_deletion_of_an_object_that_was_never_decoded_is_not_delivered() -> None:
    transport = ScriptedTransport()
    (stream,) = streams(transport, 1)
    async with watching(transport) as watched:
        stream.say(bookmark(5, ends_initial_events=True), added(broken("a")), deleted(broken("a")))
        await asyncio.sleep(1)
        assert watched.delivered() == []


async def test_a_known_object_that_becomes_undecodable_stays_known_until_it_is_deleted() -> None:
    transport = ScriptedTransport()
    first, second, third = streams(transport, 3)
    async with watching(transport) as watched:
        first.say(added(pod("a")), bookmark(5, ends_initial_events=True), modified(broken("a", version=6)))
        await asyncio.sleep(60)
        watched.delivered()
        first.say(error_event(410))
        second.say(added(broken("a", version=6)), bookmark(7, ends_initial_events=True))
        await asyncio.sleep(60)
        assert watched.delivered() == []
        second.say(error_event(410))
        third.say(bookmark(9, ends_initial_events=True))
        await asyncio.sleep(5)
        assert watched.delivered() == [("deleted", "a", "uid-a")]


async def test_an_undecodable_object_that_replaces_a_known_one_ends_that_one() -> None:
    transport = ScriptedTransport()
    first, second = streams(transport, 2)
    async with watching(transport) as watched:
        first.say(added(pod("a", uid="one")), bookmark(5, ends_initial_events=True))
        await asyncio.sleep(60)
        first.say(error_event(410))
        second.say(added(broken("a", uid="two")), bookmark(7, ends_initial_events=True))
        await asyncio.sleep(1)
        assert watched.delivered() == [("applied", "a", "one", "1"), ("deleted", "a", "one")]


async def test_an_undecodable_object_in_a_page_does_not_spoil_the_page() -> None:
    transport = ScriptedTransport(page(pod("a"), broken("bad"), pod("b"), version=20))
    transport.watch_answers = [ApiError(422, "Invalid", "no watch-list")]
    async with watching(transport) as watched:
        assert watched.delivered() == [("applied", "a", "uid-a", "1"), ("applied", "b", "uid-b", "1")]
        assert watched.reflector.counters.undecodable == 1
        assert watched.reflector.synced.is_set()


async def test_an_object_without_a_readable_name_is_counted_and_skipped() -> None:
    transport = ScriptedTransport()
    (stream,) = streams(transport, 1)
    with structlog.testing.capture_logs() as logs:
        async with watching(transport) as watched:
            stream.say(added({"metadata": 3}), added(pod("a")), bookmark(5, ends_initial_events=True))
            await asyncio.sleep(1)
            assert watched.delivered() == [("applied", "a", "uid-a", "1")]
    assert [line["object"] for line in logs if line["log_level"] == "error"] == ["(no readable name)"]


async def test_an_error_event_is_recognised_for_kinds_of_which_only_the_metadata_is_read() -> None:
    transport = ScriptedTransport()
    first, _ = streams(transport, 2)
    async with watching(transport, NAMESPACES) as watched:
        first.say(bookmark(5, ends_initial_events=True))
        await asyncio.sleep(60)
        first.say(error_event(410))
        await asyncio.sleep(1)
        assert watched.reflector.counters.expired == 1
        assert watched.stimuli == []
