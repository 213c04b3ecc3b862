"""Pods that have to make room are told so and deleted, on virtual time, against a scripted API server."""

import asyncio

import msgspec
import pytest

from scheduler.core.instruction import PreemptPod
from scheduler.core.stimulus import PodPreempted, PreemptPodFailed, Stimulus
from tests.edge.kube.dispatching import bind, condition, dispatching, reference
from tests.edge.kube.scripted import EPOCH, LOST, REFUSED, Answer, ScriptedTransport, ok, refusal

pytestmark = pytest.mark.looptime
POD = "/api/v1/namespaces/default/pods/a"


def preempt(number: int = 7, *, told: bool = False) -> PreemptPod:
    """One whose pod is told why, unless it was ``told`` before."""
    order = [] if told else ["Ready", "DisruptionTarget"]
    return PreemptPod(
        number=number, pod=reference("a"), condition=None if told else condition("make room"), condition_order=order
    )


async def answers_of(*answers: Answer, told: bool = False) -> tuple[list[Stimulus], list[str]]:
    """What is delivered when the API server answers so, and the methods that it was asked with."""
    transport = ScriptedTransport(*answers)
    async with dispatching(transport) as it:
        it.submit(preempt(told=told))
        await asyncio.sleep(200.0)
        delivered: list[Stimulus] = [msgspec.structs.replace(one, now=0.0) for one in it.stimuli]
        return delivered, [request.method for request in transport.requests]


DONE = PodPreempted(now=0.0, number=7)
GONE = PodPreempted(now=0.0, number=7, is_gone=True)


async def test_the_condition_is_written_first_and_then_the_pod_is_deleted() -> None:
    transport = ScriptedTransport(ok(), ok())
    async with dispatching(transport) as it:
        it.submit(preempt())
        await asyncio.sleep(0.01)
        patch, delete = transport.requests
        assert (patch.method, patch.path) == ("PATCH", f"{POD}/status")
        assert patch.body == {
            "metadata": {"uid": "uid-a"},
            "status": {
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "make room",
                        "observedGeneration": 3,
                        "lastTransitionTime": "2026-01-01T00:00:00Z",
                    }
                ],
                "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "DisruptionTarget"}],
            },
        }
        assert (delete.method, delete.path) == ("DELETE", POD)
        assert delete.body == {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "uid-a"}}
        assert it.stimuli == [PodPreempted(now=EPOCH, number=7)]
        assert it.observed == [("bind", "deleted", 0.0)]


async def test_a_pod_that_was_told_before_is_deleted_at_once() -> None:
    assert await answers_of(ok(), told=True) == ([DONE], ["DELETE"])


UID_CONFLICT = refusal(409, "Precondition failed: UID in precondition: uid-a, UID in object meta: uid-b")
OTHER_UID = refusal(422, 'Pod "a" is invalid: metadata.uid: Invalid value: "uid-a": field is immutable')


@pytest.mark.parametrize(
    ("answers", "methods"),
    [
        ((refusal(404, "not found"),), ["PATCH"]),
        ((OTHER_UID,), ["PATCH"]),
        ((ok(), refusal(404, "not found")), ["PATCH", "DELETE"]),
        ((ok(), UID_CONFLICT), ["PATCH", "DELETE"]),
    ],
)
async def test_a_pod_that_is_not_there_any_more_or_is_another_one_is_gone(
    answers: tuple[Answer, ...], methods: list[str]
) -> None:
    assert await answers_of(*answers) == ([GONE], methods)


@pytest.mark.parametrize(
    "failure", [REFUSED, LOST, refusal(500, "etcd"), refusal(503, "busy"), refusal(409, "changed")]
)
async def test_what_may_be_repeated_is_repeated_and_the_condition_is_written_once(failure: Answer) -> None:
    assert await answers_of(failure, ok(), failure, ok()) == ([DONE], ["PATCH", "PATCH", "DELETE", "DELETE"])


async def test_a_server_that_throttles_is_waited_for() -> None:
    transport = ScriptedTransport(ok(), refusal(429, "slow down", retry_after="3"), ok())
    async with dispatching(transport) as it:
        it.submit(preempt())
        await asyncio.sleep(2.9)
        assert len(transport.requests) == 2
        await asyncio.sleep(0.2)
        assert it.stimuli == [PodPreempted(now=EPOCH + 3.0, number=7)]


async def test_what_the_server_forbids_is_told() -> None:
    error = 'pods "a" is forbidden'

    assert await answers_of(ok(), refusal(403, error)) == (
        [PreemptPodFailed(now=0.0, number=7, error=error)],
        ["PATCH", "DELETE"],
    )


async def test_it_is_given_up_after_four_failures_of_either_request() -> None:
    failed = PreemptPodFailed(now=0.0, number=7, error="etcd")

    assert await answers_of(*[refusal(500, "etcd")] * 4) == ([failed], ["PATCH"] * 4)
    assert await answers_of(ok(), *[refusal(500, "etcd")] * 4) == ([failed], ["PATCH"] + ["DELETE"] * 4)


async def test_each_request_has_four_attempts_of_its_own() -> None:
    failures = [refusal(500, "etcd")] * 3

    assert await answers_of(*failures, ok(), *failures, ok()) == ([DONE], ["PATCH"] * 4 + ["DELETE"] * 4)


async def test_a_pod_whose_bind_is_under_way_is_deleted_when_that_has_been_answered() -> None:
    transport = ScriptedTransport(ok(), ok(), ok(), latency_seconds=1.0)
    async with dispatching(transport) as it:
        it.submit(bind("a"), preempt())
        await asyncio.sleep(0.5)
        assert it.sent() == [("POST", "a/binding")]
        await asyncio.sleep(3.0)
        assert it.sent() == [("POST", "a/binding"), ("PATCH", "a/status"), ("DELETE", "a")]
