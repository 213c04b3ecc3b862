"""Status patches on virtual time, against a scripted API server."""

import asyncio
from typing import Any

import pytest
import structlog

from scheduler.core.instruction import PatchPodStatus
from scheduler.kube.dispatcher import Limits
from scheduler.kube.transport import Response
from tests.edge.kube.dispatching import bind, condition, dispatching, reference, status
from tests.edge.kube.scripted import (
    EPOCH,
    LOST,
    REFUSED,
    TIMED_OUT,
    ScriptedTransport,
    ok,
    refusal,
)

pytestmark = pytest.mark.looptime


async def test_a_status_patch_has_the_condition_and_the_uid() -> None:
    transport = ScriptedTransport(ok())
    async with dispatching(transport) as it:
        it.submit(status("a", "0/3 nodes are available: 3 Insufficient cpu."))
        await asyncio.sleep(0.01)
        (request,) = transport.requests
        assert (request.method, request.path) == ("PATCH", "/api/v1/namespaces/default/pods/a/status")
        assert request.body == {
            "metadata": {"uid": "uid-a"},
            "status": {
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/3 nodes are available: 3 Insufficient cpu.",
                        "observedGeneration": 3,
                        "lastTransitionTime": "2026-01-01T00:00:00Z",
                    }
                ]
            },
        }


async def test_a_status_patch_says_where_the_condition_stands_among_the_others() -> None:
    transport = ScriptedTransport(ok())
    async with dispatching(transport) as it:
        order = ["example.com/Ready", "PodScheduled"]
        it.submit(PatchPodStatus(pod=reference("a"), condition=condition(), condition_order=order))
        await asyncio.sleep(0.01)
        written = transport.requests[0].body["status"]
        assert written["$setElementOrder/conditions"] == [{"type": "example.com/Ready"}, {"type": "PodScheduled"}]


async def test_a_status_that_stays_as_it_was_keeps_its_transition_time() -> None:
    transport = ScriptedTransport(ok())
    async with dispatching(transport) as it:
        it.submit(PatchPodStatus(pod=reference("a"), condition=condition(at=None)))
        await asyncio.sleep(0.01)
        assert "lastTransitionTime" not in transport.requests[0].body["status"]["conditions"][0]


@pytest.mark.parametrize(("name", "written"), [("node-7", "node-7"), ("", None)])
async def test_a_nomination_is_written_or_removed(name: str, written: str | None) -> None:
    transport = ScriptedTransport(ok())
    async with dispatching(transport) as it:
        it.submit(PatchPodStatus(pod=reference("a"), nominated_node_name=name))
        await asyncio.sleep(0.01)
        assert transport.requests[0].body["status"] == {"nominatedNodeName": written}


async def test_a_patch_that_waits_takes_in_those_that_follow() -> None:
    transport = ScriptedTransport(otherwise=ok(), latency_seconds=0.1)
    async with dispatching(transport) as it:
        it.submit(bind("a"), status("a", "first", nominated="node-7"), status("a", "second"))
        await asyncio.sleep(1)
        assert it.sent() == [("POST", "a/binding"), ("PATCH", "a/status")]
        written = transport.requests[1].body["status"]
        assert (written["conditions"][0]["message"], written["nominatedNodeName"]) == ("second", "node-7")
        assert it.dispatcher.status.counters.merged == 1


async def test_a_patch_that_is_under_way_is_followed_by_the_next() -> None:
    transport = ScriptedTransport(otherwise=ok(), latency_seconds=0.1)
    async with dispatching(transport) as it:
        it.submit(status("a", "first"))
        await asyncio.sleep(0.05)
        it.submit(status("a", "second"))
        await asyncio.sleep(1)
        written = [request.body["status"]["conditions"][0]["message"] for request in transport.requests]
        assert written == ["first", "second"]


async def test_a_merged_patch_keeps_the_transition_time_that_was_not_sent() -> None:
    transport = ScriptedTransport(otherwise=ok(), latency_seconds=0.1)
    async with dispatching(transport) as it:
        it.submit(bind("a"), PatchPodStatus(pod=reference("a"), condition=condition("first", at=EPOCH)))
        it.submit(PatchPodStatus(pod=reference("a"), condition=condition("second", at=None)))
        await asyncio.sleep(1)
        (written,) = transport.requests[1].body["status"]["conditions"]
        assert (written["message"], written["lastTransitionTime"]) == ("second", "2026-01-01T00:00:00Z")


@pytest.mark.parametrize("answer", [refusal(500), refusal(503), refusal(409, "try again"), REFUSED, LOST, TIMED_OUT])
async def test_a_status_patch_is_repeated(answer: Any) -> None:
    transport = ScriptedTransport(answer, ok())
    async with dispatching(transport) as it:
        it.submit(status("a"))
        await asyncio.sleep(1)
        assert len(transport.requests) == 2
        assert it.dispatcher.status.counters.written == 1


async def test_a_throttled_status_patch_waits_as_asked() -> None:
    transport = ScriptedTransport(refusal(429, retry_after="4"), ok())
    async with dispatching(transport) as it:
        it.submit(status("a"))
        await asyncio.sleep(10)
        assert [round(request.at, 2) for request in transport.requests] == [0.0, 4.0]


@pytest.mark.parametrize(
    "answer", [refusal(404), refusal(422, 'Pod "a" is invalid: metadata.uid: Invalid value: field is immutable')]
)
async def test_the_status_of_a_pod_that_is_gone_or_another_is_let_be(answer: Response) -> None:
    transport = ScriptedTransport(answer)
    with structlog.testing.capture_logs() as logs:
        async with dispatching(transport) as it:
            it.submit(status("a"))
            await asyncio.sleep(10)
            assert it.dispatcher.status.counters.pod_gone == 1
    assert logs == []


async def test_status_patches_that_fail_are_one_log_line_until_they_succeed_again() -> None:
    transport = ScriptedTransport(refusal(403, "forbidden"), refusal(403, "forbidden"), ok(), refusal(403, "again"))
    with structlog.testing.capture_logs() as logs:
        async with dispatching(transport, Limits(in_flight=1)) as it:
            it.submit(*(status(f"pod-{index}") for index in range(4)))
            await asyncio.sleep(10)
            assert it.dispatcher.status.counters.failed == 3
    assert [(line["event"], line.get("error")) for line in logs] == [
        ("Cannot write pod status", "forbidden"),
        ("Pod status can be written again", None),
        ("Cannot write pod status", "again"),
    ]
