"""How the dispatcher orders, bounds and drains its work: on virtual time, against a scripted API server."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from scheduler.kube.dispatcher import Dispatcher, Limits, Unfinished
from tests.edge.kube.dispatching import bind, dispatching, event, read_pod, status
from tests.edge.kube.scripted import (
    LOST,
    REFUSED,
    ScriptedTransport,
    created,
    ok,
    refusal,
    virtual_timing,
)

pytestmark = pytest.mark.looptime


# ------------------------------------------------------------------------------------------------------- order and weights


async def test_requests_under_way_are_bounded() -> None:
    transport = ScriptedTransport(otherwise=created(), latency_seconds=0.1)
    async with dispatching(transport, Limits(in_flight=5)) as it:
        it.submit(*(bind(f"pod-{index}") for index in range(23)))
        await asyncio.sleep(10)
        assert transport.most_in_flight == 5
        assert len(it.answers()) == 23


async def test_the_instructions_of_one_pod_keep_their_order() -> None:
    transport = ScriptedTransport(otherwise=ok(), latency_seconds=0.1)
    async with dispatching(transport) as it:
        it.submit(status("a"), bind("a"), status("a", "later"))
        await asyncio.sleep(5)
        assert it.sent() == [("PATCH", "a/status"), ("POST", "a/binding"), ("PATCH", "a/status")]
        assert [round(request.at, 1) for request in transport.requests] == [0.0, 0.1, 0.2]


async def test_a_pod_that_waits_for_a_repeat_holds_up_its_own_instructions_alone() -> None:
    transport = ScriptedTransport(refusal(429, retry_after="5"), otherwise=ok())
    async with dispatching(transport, Limits(in_flight=1)) as it:
        it.submit(bind("a"), bind("b"), status("a"))
        await asyncio.sleep(10)
        assert it.sent() == [
            ("POST", "a/binding"),
            ("POST", "b/binding"),
            ("POST", "a/binding"),
            ("PATCH", "a/status"),
        ]


@pytest.mark.parametrize("slots", [1, 8, 64])
async def test_of_eight_requests_one_is_a_status_patch_and_one_an_event_while_such_wait(slots: int) -> None:
    transport = ScriptedTransport(otherwise=created(), latency_seconds=0.1)
    async with dispatching(transport, Limits(in_flight=slots)) as it:
        it.submit(*(bind(f"pod-{index}") for index in range(slots)))  # fill all slots first
        it.submit(*(bind(f"bind-{index}") for index in range(800)))
        it.submit(*(status(f"status-{index}") for index in range(200)))
        it.submit(*(event(f"event-{index}") for index in range(200)))
        await asyncio.sleep(200)
        kinds = [request.path.rsplit("/", 1)[1] for request in transport.requests][slots:]
        first = Counter(kinds[:800])
        assert first == {"binding": 600, "status": 100, "events": 100}


async def test_binds_find_free_slots_behind_a_pile_of_other_work() -> None:
    transport = ScriptedTransport(otherwise=ok(), latency_seconds=1.0)
    async with dispatching(transport, Limits(in_flight=16)) as it:
        it.submit(*(status(f"status-{index}") for index in range(100)), *(event(f"e-{index}") for index in range(100)))
        await asyncio.sleep(0.5)
        it.submit(*(bind(f"pod-{index}") for index in range(4)))
        await asyncio.sleep(0.01)
        assert [request.at for request in transport.requests if request.path.endswith("binding")] == [0.5] * 4


async def test_an_end_that_lets_two_start_starts_both() -> None:
    transport = ScriptedTransport(otherwise=ok(), latency_seconds=0.1)
    async with dispatching(transport, Limits(in_flight=8)) as it:  # of which three may be status patches
        it.submit(status("a"))
        await asyncio.sleep(0.05)
        it.submit(bind("a"), *(status(name) for name in "bcd"))
        await asyncio.sleep(1)
        started = {path: round(request.at, 2) for (_, path), request in zip(it.sent(), transport.requests, strict=True)}
        assert started == {"a/status": 0.0, "b/status": 0.05, "c/status": 0.05, "a/binding": 0.1, "d/status": 0.1}


async def test_a_repeat_goes_before_binds_that_have_not_been_tried() -> None:
    transport = ScriptedTransport(refusal(503), otherwise=created(), latency_seconds=0.1)
    async with dispatching(transport, Limits(in_flight=1)) as it:
        it.submit(*(bind(name) for name in "abcd"))
        await asyncio.sleep(2)
        assert [path for _, path in it.sent()] == [f"{name}/binding" for name in "abacd"]


async def test_there_is_room_for_a_bind_while_few_wait_for_a_slot() -> None:
    transport = ScriptedTransport(otherwise=created(), latency_seconds=1.0)
    async with dispatching(transport, Limits(in_flight=8)) as it:
        submitted = 0
        while it.dispatcher.has_room():
            it.submit(bind(f"pod-{submitted}"))
            submitted += 1
        assert submitted == 10
        await asyncio.sleep(1.5)  # eight have ended, two are under way
        assert it.dispatcher.has_room()


async def test_binds_that_wait_for_a_throttling_server_take_room() -> None:
    transport = ScriptedTransport(otherwise=refusal(429, retry_after="30"))
    async with dispatching(transport, Limits(in_flight=4)) as it:
        it.submit(*(bind(f"pod-{index}") for index in range(5)))
        await asyncio.sleep(1)
        assert it.dispatcher.in_flight == 0
        assert not it.dispatcher.has_room()


async def test_job_latencies_are_observed_with_their_outcome() -> None:
    transport = ScriptedTransport(otherwise=ok(), latency_seconds=0.2)
    async with dispatching(transport, Limits(in_flight=1)) as it:
        it.submit(bind("a"), status("b"), event("c"))
        await asyncio.sleep(1)
        assert [(lane, outcome, round(seconds, 1)) for lane, outcome, seconds in it.observed] == [
            ("bind", "bound", 0.2),
            ("status", "written", 0.4),
            ("event", "written", 0.6),
        ]


async def test_what_deliver_raises_ends_the_dispatcher() -> None:
    def deliver(_: Any) -> None:
        raise RuntimeError("a bug")

    dispatcher = Dispatcher(ScriptedTransport(created()), deliver, hostname="h", timing=virtual_timing())
    dispatcher.submit(bind("a"))
    with pytest.raises(RuntimeError, match="a bug"):
        await dispatcher.run()


# ------------------------------------------------------------------------------------------------------------------- drain


async def test_drain_finishes_what_was_submitted() -> None:
    transport = ScriptedTransport(otherwise=ok(), latency_seconds=0.1)
    async with dispatching(transport, Limits(in_flight=2)) as it:
        it.submit(*(bind(f"pod-{index}") for index in range(10)), *(event(f"e-{index}") for index in range(10)))
        assert await it.dispatcher.drain(30) == Unfinished(binds=0, status_patches=0, events=0)
        assert len(transport.requests) == 20
        assert asyncio.get_running_loop().time() < 2.0


async def test_drain_ends_at_its_deadline_and_says_what_is_left() -> None:
    transport = ScriptedTransport(otherwise=ok(), latency_seconds=10.0)
    async with dispatching(transport, Limits(in_flight=2)) as it:
        it.submit(*(bind(f"pod-{index}") for index in range(5)), status("x"), event("y"))
        assert await it.dispatcher.drain(3) == Unfinished(binds=5, status_patches=1, events=1)
        assert asyncio.get_running_loop().time() == pytest.approx(3.0)
        await asyncio.sleep(100)
        assert len(transport.requests) == 2


async def test_drain_gives_up_events_whose_next_attempt_is_far_away() -> None:
    transport = ScriptedTransport(otherwise=refusal(500, "no"))
    async with dispatching(transport) as it:
        it.submit(event("a"))
        await asyncio.sleep(1)
        it.submit(event("b"))
        assert await it.dispatcher.drain(60) == Unfinished(binds=0, status_patches=0, events=0)
        assert asyncio.get_running_loop().time() == pytest.approx(1.0)
        assert it.dispatcher.events.counters.gave_up == 2


async def test_drain_waits_for_a_bind_in_doubt() -> None:
    transport = ScriptedTransport(LOST, *[REFUSED] * 5, read_pod("node-1"))
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        assert (await it.dispatcher.drain(60)).binds == 0
        assert it.answers() == [("bound", "uid-a", "node-1")]
