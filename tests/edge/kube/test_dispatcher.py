"""The dispatcher, its binder and its status writer on virtual time, against a scripted API server."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import structlog

from scheduler.core.instruction import BindPod, Condition, Instruction, PatchPodStatus, PodReference, RecordEvent
from scheduler.core.stimulus import BindFailed, PodBound
from scheduler.kube.dispatcher import Dispatcher, Limits, Unfinished
from scheduler.kube.transport import Response
from tests.edge.kube.scripted import (
    EPOCH,
    LOST,
    REFUSED,
    TIMED_OUT,
    Request,
    ScriptedTransport,
    created,
    ok,
    refusal,
    virtual_timing,
)

pytestmark = pytest.mark.looptime


def reference(name: str, uid: str | None = None, version: str = "1") -> PodReference:
    return PodReference(namespace="default", name=name, uid=uid or f"uid-{name}", resource_version=version)


def bind(name: str, node: str = "node-1", uid: str | None = None) -> BindPod:
    return BindPod(pod=reference(name, uid), node_name=node)


def condition(message: str = "0/1 nodes are available", at: float | None = EPOCH, status: str = "False") -> Condition:
    return Condition(
        type="PodScheduled",
        status=status,
        reason="Unschedulable",
        message=message,
        observed_generation=3,
        last_transition_time=at,
    )


def status(name: str, message: str = "0/1 nodes are available", nominated: str | None = None) -> PatchPodStatus:
    return PatchPodStatus(pod=reference(name), condition=condition(message), nominated_node_name=nominated)


def event(name: str) -> RecordEvent:
    return RecordEvent(
        pod=reference(name),
        type="Normal",
        reason="Scheduled",
        action="Binding",
        note=f"Successfully assigned default/{name} to node-1",
        controller="reprise",
        now=EPOCH,
    )


def read_pod(node: str | None, uid: str = "uid-a") -> Response:
    """A pod as a read finds it; extra fields are there to be skipped."""
    spec: dict[str, Any] = {"containers": [{"name": "c"}], "schedulerName": "reprise"}
    if node is not None:
        spec["nodeName"] = node
    return ok({"metadata": {"name": "a", "uid": uid}, "spec": spec, "status": {"phase": "Pending"}})


class Dispatching:
    """A running dispatcher, what it delivered and what it observed."""

    def __init__(self, transport: ScriptedTransport, limits: Limits | None, chance: float) -> None:
        self.transport = transport
        self.stimuli: list[PodBound | BindFailed] = []
        self.observed: list[tuple[str, str, float]] = []
        self.dispatcher = Dispatcher(
            transport,
            self.stimuli.append,  # type: ignore[arg-type]  # it delivers no others
            hostname="host-1",
            timing=virtual_timing(chance),
            limits=limits,
            observe=lambda *job: self.observed.append(job),
        )

    def submit(self, *instructions: Instruction) -> None:
        for instruction in instructions:
            self.dispatcher.submit(instruction)

    def answers(self) -> list[tuple[str, ...]]:
        return [
            ("bound", stimulus.uid, stimulus.node_name)
            if isinstance(stimulus, PodBound)
            else ("failed", stimulus.uid, stimulus.node_name, stimulus.error)
            for stimulus in self.stimuli
        ]

    def sent(self) -> list[tuple[str, str]]:
        """Methods and the ends of the paths."""
        return [(request.method, "/".join(request.path.split("/")[6:])) for request in self.transport.requests]


@asynccontextmanager
async def dispatching(
    transport: ScriptedTransport, limits: Limits | None = None, *, chance: float = 0.0
) -> AsyncIterator[Dispatching]:
    dispatching = Dispatching(transport, limits, chance)
    task = asyncio.create_task(dispatching.dispatcher.run())
    try:
        yield dispatching
        assert not task.done(), task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await dispatching.dispatcher.close()


# ------------------------------------------------------------------------------------------------------------------- binds


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


async def test_a_conflict_on_an_unbound_pod_is_not_repeated() -> None:
    transport = ScriptedTransport(refusal(409, "pod a is being deleted, cannot be assigned to a host"), read_pod(None))
    async with dispatching(transport) as it:
        it.submit(bind("a"))
        await asyncio.sleep(5)
        assert it.answers() == [("failed", "uid-a", "node-1", "pod a is being deleted, cannot be assigned to a host")]
        assert len(transport.requests) == 2


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


# ---------------------------------------------------------------------------------------------------------- status patches


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
