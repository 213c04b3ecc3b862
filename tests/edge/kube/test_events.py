"""Events on virtual time, against a scripted API server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import structlog

from scheduler.core.instruction import PodReference, RecordEvent
from scheduler.kube.dispatcher import Dispatcher, Limits
from scheduler.kube.events import EventRecorder
from scheduler.kube.jobs import Job
from tests.edge.kube.scripted import EPOCH, LOST, REFUSED, ScriptedTransport, created, ok, refusal, virtual_timing

pytestmark = pytest.mark.looptime

PATH = "/apis/events.k8s.io/v1/namespaces/default/events"


def failed(name: str = "a", note: str = "0/3 nodes are available", version: str = "7", **fields: Any) -> RecordEvent:
    """An Event stamped with the loop's time."""
    values: dict[str, Any] = {
        "type": "Warning",
        "reason": "FailedScheduling",
        "action": "Scheduling",
        "controller": "reprise",
        "now": EPOCH + asyncio.get_running_loop().time(),
        **fields,
    }
    pod = PodReference(namespace="default", name=name, uid=f"uid-{name}", resource_version=version)
    return RecordEvent(pod=pod, note=note, **values)


@asynccontextmanager
async def recording(transport: ScriptedTransport, limits: Limits | None = None) -> AsyncIterator[Dispatcher]:
    dispatcher = Dispatcher(transport, lambda _: None, hostname="host-1", timing=virtual_timing(), limits=limits)
    task = asyncio.create_task(dispatcher.run())
    try:
        yield dispatcher
        assert not task.done(), task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await dispatcher.close()


def sent(transport: ScriptedTransport) -> list[tuple[str, int, int | None]]:
    """Method, second and series count of each request."""
    return [
        (request.method, round(request.at), (request.body.get("series") or {}).get("count"))
        for request in transport.requests
    ]


async def test_an_event_is_complete() -> None:
    transport = ScriptedTransport(created())
    async with recording(transport) as dispatcher:
        await asyncio.sleep(1.25)
        dispatcher.submit(failed(note="0/3 nodes are available: 100% full"))
        await asyncio.sleep(1)
        (request,) = transport.requests
        assert (request.method, request.path) == ("POST", PATH)
        assert request.body == {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": f"a.{round((EPOCH + 1.25) * 1e9):x}", "namespace": "default"},
            "eventTime": "2026-01-01T00:00:01.250000Z",
            "reportingController": "reprise",
            "reportingInstance": "reprise-host-1",
            "action": "Scheduling",
            "reason": "FailedScheduling",
            "regarding": {
                "apiVersion": "v1",
                "kind": "Pod",
                "namespace": "default",
                "name": "a",
                "uid": "uid-a",
                "resourceVersion": "7",
            },
            "note": "0/3 nodes are available: 100% full",
            "type": "Warning",
        }


async def test_two_events_of_one_pod_at_one_moment_have_different_names() -> None:
    transport = ScriptedTransport(otherwise=created())
    async with recording(transport) as dispatcher:
        dispatcher.submit(failed())
        dispatcher.submit(failed(reason="Preempted"))
        await asyncio.sleep(1)
        assert len({request.body["metadata"]["name"] for request in transport.requests}) == 2


async def test_the_event_of_a_pod_with_the_longest_name_has_a_valid_name() -> None:
    transport = ScriptedTransport(otherwise=created())
    async with recording(transport) as dispatcher:
        dispatcher.submit(failed(name="a" * 200 + "." + "b" * 52))
        await asyncio.sleep(1)
        name = transport.requests[0].body["metadata"]["name"]
        assert len(name) == 253
        assert name.startswith("a" * 200)
        assert transport.requests[0].body["regarding"]["name"] == "a" * 200 + "." + "b" * 52


async def test_a_long_host_name_is_cut_to_what_the_server_accepts() -> None:
    transport = ScriptedTransport(otherwise=created())
    dispatcher = Dispatcher(transport, lambda _: None, hostname="h" * 200, timing=virtual_timing())
    dispatcher.submit(failed())
    await asyncio.sleep(1)
    assert transport.requests[0].body["reportingInstance"] == "reprise-" + "h" * 120
    await dispatcher.close()


# ------------------------------------------------------------------------------------------------------------------ series


async def test_the_second_occurrence_is_a_series_and_later_ones_are_only_counted() -> None:
    transport = ScriptedTransport(otherwise=ok())
    async with recording(transport) as dispatcher:
        for _ in range(5):
            dispatcher.submit(failed())
            await asyncio.sleep(10)
        assert sent(transport) == [("POST", 0, None), ("PATCH", 10, 2)]
        create, patch = transport.requests
        assert patch.path == f"{PATH}/{create.body['metadata']['name']}"
        assert patch.body == {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:10.000000Z"}}
        assert dispatcher.events.counters.repeated == 4


async def test_a_series_that_goes_on_is_written_each_half_hour() -> None:
    transport = ScriptedTransport(otherwise=ok())
    async with recording(transport) as dispatcher:
        for _ in range(24):
            dispatcher.submit(failed())
            await asyncio.sleep(300)
        minutes = [(method, second // 60, count) for method, second, count in sent(transport)]
        assert minutes[:2] == [("POST", 0, None), ("PATCH", 5, 2)]
        assert [minute for _, minute, _ in minutes[2:]] == [35, 65, 95]
        assert [count for *_, count in minutes[2:]] == [8, 14, 20]


async def test_a_series_that_has_ended_is_written_after_six_minutes_and_then_begins_anew() -> None:
    transport = ScriptedTransport(otherwise=ok())
    async with recording(transport) as dispatcher:
        for _ in range(4):
            dispatcher.submit(failed())
            await asyncio.sleep(1)
        await asyncio.sleep(600)
        assert sent(transport) == [("POST", 0, None), ("PATCH", 1, 2), ("PATCH", 420, 4)]
        dispatcher.submit(failed())
        await asyncio.sleep(1)
        assert sent(transport)[3] == ("POST", 604, None)


# trap: the-identity-of-an-event
@pytest.mark.parametrize(
    "other",
    [
        {"reason": "Scheduled"},
        {"action": "Binding"},
        {"type": "Normal"},
        {"controller": "another"},
        {"version": "8"},
        {"name": "b"},
    ],
)
async def test_an_event_that_differs_in_its_identity_is_another(other: dict[str, str]) -> None:
    transport = ScriptedTransport(otherwise=ok())
    async with recording(transport) as dispatcher:
        dispatcher.submit(failed())
        await asyncio.sleep(1)
        dispatcher.submit(failed(**other))
        await asyncio.sleep(1)
        assert [request.method for request in transport.requests] == ["POST", "POST"]


async def test_an_event_that_differs_in_its_note_is_the_same() -> None:
    transport = ScriptedTransport(otherwise=ok())
    async with recording(transport) as dispatcher:
        dispatcher.submit(failed(note="0/3 nodes are available"))
        await asyncio.sleep(1)
        dispatcher.submit(failed(note="0/4 nodes are available"))
        await asyncio.sleep(1)
        assert [request.method for request in transport.requests] == ["POST", "PATCH"]


async def test_repeats_of_an_event_that_waits_are_one_request() -> None:
    transport = ScriptedTransport(otherwise=ok(), latency_seconds=1.0)
    async with recording(transport, Limits(in_flight=1)) as dispatcher:
        dispatcher.submit(failed("other"))
        for _ in range(3):
            dispatcher.submit(failed())
        await asyncio.sleep(10)
        assert sent(transport) == [("POST", 0, None), ("POST", 1, 3)]


async def test_a_repeat_while_the_event_is_under_way_is_written_behind_it() -> None:
    transport = ScriptedTransport(otherwise=ok(), latency_seconds=1.0)
    async with recording(transport) as dispatcher:
        dispatcher.submit(failed())
        await asyncio.sleep(0.5)
        dispatcher.submit(failed())
        await asyncio.sleep(10)
        assert sent(transport) == [("POST", 0, None), ("PATCH", 1, 2)]


async def test_a_series_whose_event_the_server_has_removed_is_created_anew() -> None:
    transport = ScriptedTransport(created(), refusal(404), created())
    async with recording(transport) as dispatcher:
        for _ in range(2):
            dispatcher.submit(failed())
            await asyncio.sleep(1)
        assert sent(transport) == [("POST", 0, None), ("PATCH", 1, 2), ("POST", 1, 2)]
        assert transport.requests[2].body["metadata"]["name"] == transport.requests[0].body["metadata"]["name"]


async def test_drain_writes_the_counts_that_were_kept_back() -> None:
    transport = ScriptedTransport(otherwise=ok())
    async with recording(transport) as dispatcher:
        for _ in range(4):
            dispatcher.submit(failed())
            await asyncio.sleep(1)
        await dispatcher.drain(5)
        assert sent(transport) == [("POST", 0, None), ("PATCH", 1, 2), ("PATCH", 4, 4)]


# ------------------------------------------------------------------------------------------------------------------ bounds


async def test_events_beyond_the_queue_are_dropped_counted_and_logged_once() -> None:
    transport = ScriptedTransport(otherwise=created(), latency_seconds=1.0)
    with structlog.testing.capture_logs() as logs:
        async with recording(transport, Limits(in_flight=1, queued_events=10)) as dispatcher:
            for index in range(25):
                dispatcher.submit(failed(f"pod-{index}"))
            await asyncio.sleep(2.5)
            for index in range(25, 50):  # two have left, so two find room, and the queue is full again
                dispatcher.submit(failed(f"pod-{index}"))
            await asyncio.sleep(100)
            assert len(transport.requests) == 12
            assert dispatcher.events.counters.dropped == 38
            assert dispatcher.events.queued == 0
            dispatcher.submit(failed("last"))
    assert [(line["log_level"], line["event"], line.get("dropped")) for line in logs] == [
        ("warning", "The Event queue is full; Events are dropped", None),
        ("info", "The Event queue has room again", 38),
    ]


async def test_a_dropped_event_is_recorded_when_it_occurs_again_later() -> None:
    transport = ScriptedTransport(otherwise=created(), latency_seconds=1.0)
    async with recording(transport, Limits(in_flight=1, queued_events=1)) as dispatcher:
        dispatcher.submit(failed("a"))
        dispatcher.submit(failed("b"))
        await asyncio.sleep(10)
        dispatcher.submit(failed("b"))
        await asyncio.sleep(10)
        assert [request.body["regarding"]["name"] for request in transport.requests] == ["a", "b"]


async def test_the_rate_of_events_is_limited() -> None:
    transport = ScriptedTransport(otherwise=created())
    async with recording(transport, Limits(events_per_second=2.0, event_burst=4)) as dispatcher:
        for index in range(8):
            dispatcher.submit(failed(f"pod-{index}"))
        await asyncio.sleep(10)
        moments = [round(request.at, 3) for request in transport.requests]
        assert moments == [0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 1.5, 2.0]


async def test_past_events_are_remembered_up_to_a_bound() -> None:
    transport = ScriptedTransport(otherwise=ok())
    jobs: list[Job] = []
    recorder = EventRecorder(transport, virtual_timing(), jobs.append, hostname="h", max_series=3)
    for name in ("a", "b", "c", "a", "d", "a", "b"):
        recorder.record(failed(name))
        for job in jobs:
            await job.attempt()
        jobs.clear()
    # b was the longest unseen when d came, so its next occurrence is a new Event; a was seen in between.
    assert [(request.method, request.path.removeprefix(PATH)[:2]) for request in transport.requests] == [
        ("POST", ""),
        ("POST", ""),
        ("POST", ""),
        ("PATCH", "/a"),
        ("POST", ""),
        ("POST", ""),
    ]
    assert transport.requests[-1].body["regarding"]["name"] == "b"


# ---------------------------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize("answer", [REFUSED, LOST, refusal(500), refusal(503)])
async def test_an_event_is_tried_again_ten_seconds_later(answer: Any) -> None:
    transport = ScriptedTransport(answer, created())
    async with recording(transport) as dispatcher:
        dispatcher.submit(failed())
        await asyncio.sleep(20)
        assert sent(transport) == [("POST", 0, None), ("POST", 10, None)]
        assert dispatcher.events.counters.written == 1


async def test_an_event_is_given_up_after_twelve_attempts_with_one_log_line() -> None:
    transport = ScriptedTransport(otherwise=REFUSED)
    with structlog.testing.capture_logs() as logs:
        async with recording(transport) as dispatcher:
            dispatcher.submit(failed("a"))
            dispatcher.submit(failed("b"))
            await asyncio.sleep(1000)
            assert len(transport.requests) == 24
            assert dispatcher.events.counters.gave_up == 2
            assert dispatcher.events.queued == 0
    assert [line["event"] for line in logs] == ["Cannot write Event"]


async def test_a_throttled_event_waits_as_asked() -> None:
    transport = ScriptedTransport(refusal(429, retry_after="3"), created())
    async with recording(transport) as dispatcher:
        dispatcher.submit(failed())
        await asyncio.sleep(20)
        assert sent(transport) == [("POST", 0, None), ("POST", 3, None)]


async def test_an_event_that_exists_after_a_lost_answer_is_written() -> None:
    transport = ScriptedTransport(LOST, refusal(409, "already exists", reason="AlreadyExists"))
    async with recording(transport) as dispatcher:
        dispatcher.submit(failed())
        await asyncio.sleep(30)
        assert dispatcher.events.counters.written == 1
        assert len(transport.requests) == 2


async def test_a_rejected_event_is_not_tried_again() -> None:
    transport = ScriptedTransport(refusal(422, "Event is invalid: action: Required value"))
    with structlog.testing.capture_logs() as logs:
        async with recording(transport) as dispatcher:
            dispatcher.submit(failed())
            await asyncio.sleep(60)
            assert dispatcher.events.counters.rejected == 1
    assert [line["error"] for line in logs] == ["Event is invalid: action: Required value"]


async def test_an_event_in_a_namespace_that_is_being_deleted_is_let_be_in_silence() -> None:
    transport = ScriptedTransport(refusal(403, "being terminated", causes=("NamespaceTerminating",)))
    with structlog.testing.capture_logs() as logs:
        async with recording(transport) as dispatcher:
            dispatcher.submit(failed())
            await asyncio.sleep(60)
            assert dispatcher.events.counters.rejected == 1
    assert logs == []
