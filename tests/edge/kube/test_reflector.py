"""The reflector on virtual time, against a scripted API server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
import structlog

from scheduler.core.stimulus import (
    DeviceClassApplied,
    DeviceClassDeleted,
    NodeApplied,
    NodeDeleted,
    PodApplied,
    PodDeleted,
)
from scheduler.kube.reflector import Reflector
from scheduler.kube.resources import DEVICE_CLASSES, NAMESPACES, NODES, PODS, AnyResource
from scheduler.kube.transport import ApiError, FailureKind, TransportFailure
from tests.edge.kube.scripted import (
    EPOCH,
    ScriptedStream,
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
    virtual_timing,
)

pytestmark = pytest.mark.looptime

UNREACHABLE = TransportFailure(FailureKind.REFUSED, 'Get "http://server/": Connection refused', sent=False)


class Watched:
    """A running reflector and what it delivered."""

    def __init__(self, transport: ScriptedTransport, resource: AnyResource, chance: float) -> None:
        self.transport = transport
        self.stimuli: list[Any] = []
        self.reflector: Reflector[Any] = Reflector(
            transport, resource, self.stimuli.append, timing=virtual_timing(chance)
        )

    def version(self) -> str | None:
        return self.reflector.resource_version

    def state(self) -> str:
        return self.reflector.state

    def delivered(self) -> list[tuple[str, ...]]:
        """What was delivered since the last call: kind of change, name, uid and, unless deleted, version."""
        stimuli, self.stimuli[:] = list(self.stimuli), []
        return [_shown(stimulus) for stimulus in stimuli]


def _shown(stimulus: Any) -> tuple[str, ...]:
    match stimulus:
        case PodApplied(pod=subject) | NodeApplied(node=subject) | DeviceClassApplied(device_class=subject):
            metadata = subject.metadata
            return "applied", metadata.name, metadata.uid, metadata.resource_version
        case PodDeleted() | NodeDeleted() | DeviceClassDeleted():
            return "deleted", stimulus.name, stimulus.uid
    raise AssertionError(stimulus)


@asynccontextmanager
async def watching(
    transport: ScriptedTransport, resource: AnyResource = PODS, *, chance: float = 0.0
) -> AsyncIterator[Watched]:
    watched = Watched(transport, resource, chance)
    task = asyncio.create_task(watched.reflector.run())
    try:
        await asyncio.sleep(0.001)
        yield watched
        assert not task.done(), "the reflector ended"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def streams(transport: ScriptedTransport, count: int) -> list[ScriptedStream]:
    """The next watches are opened; the test says what they bring."""
    opened = [ScriptedStream() for _ in range(count)]
    transport.watch_answers += opened
    return opened


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


# ------------------------------------------------------------------------------------------------------------- connections


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


async def test_a_server_that_went_back_in_time_is_listed_anew() -> None:
    transport = ScriptedTransport(page(version=4))
    first, second = streams(transport, 2)
    async with watching(transport) as watched:
        first.say(added(pod("a", version=500)), bookmark(500, ends_initial_events=True))
        await asyncio.sleep(92)
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


# ---------------------------------------------------------------------------------------------------------- absent, broken


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
