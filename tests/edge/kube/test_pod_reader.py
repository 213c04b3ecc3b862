"""Reads of pods that have ended, on virtual time, against a scripted API server."""

import asyncio
from typing import Any

import pytest
import structlog.testing

from scheduler.core.instruction import ReadPod
from scheduler.core.stimulus import PodRead
from scheduler.kube.transport import Response
from tests.edge.kube.dispatching import dispatching, reference
from tests.edge.kube.scripted import REFUSED, ScriptedTransport, ok, refusal

pytestmark = pytest.mark.looptime


def ended(uid: str = "uid-a") -> Response:
    status = {"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected", "startTime": None}
    return ok({"metadata": {"name": "a", "uid": uid}, "spec": {"nodeName": "n1"}, "status": status})


async def answers(*script: Any) -> tuple[list[tuple[str, str]], list[Any]]:
    """What was sent, and what was delivered, of one read."""
    async with dispatching(ScriptedTransport(*script)) as it:
        it.submit(ReadPod(pod=reference("a")))
        await asyncio.sleep(30)
        assert it.dispatcher.unfinished == (0, 0, 0)
        return it.sent(), it.stimuli


def told(stimuli: list[Any]) -> tuple[str, str, str, str]:
    (answer,) = stimuli
    assert isinstance(answer, PodRead)
    return answer.uid, answer.phase, answer.reason, answer.message


async def test_the_pods_end_is_told() -> None:
    sent, stimuli = await answers(ended())
    assert sent == [("GET", "a")]
    assert told(stimuli) == ("uid-a", "Failed", "OutOfcpu", "Pod was rejected")


@pytest.mark.parametrize("found", [refusal(404, 'pods "a" not found'), ended("uid-of-its-successor")])
async def test_of_a_pod_that_is_gone_nothing_is_told(found: Response) -> None:
    _, stimuli = await answers(found)
    assert told(stimuli) == ("uid-a", "", "", "")


@pytest.mark.parametrize("first", [REFUSED, refusal(500, "etcd is slow"), refusal(429, "slow down")])
async def test_what_may_pass_is_tried_again(first: Any) -> None:
    sent, stimuli = await answers(first, ended())
    assert sent == [("GET", "a"), ("GET", "a")]
    assert told(stimuli)[1] == "Failed"


@pytest.mark.parametrize(("script", "requests"), [([REFUSED] * 4, 4), ([refusal(403, "forbidden")], 1), ([ok([])], 1)])
async def test_what_cannot_be_read_is_given_up_with_a_line_and_an_answer(script: list[Any], requests: int) -> None:
    with structlog.testing.capture_logs() as lines:
        sent, stimuli = await answers(*script)
    assert len(sent) == requests
    assert told(stimuli) == ("uid-a", "", "", "")
    assert [line["event"] for line in lines] == ["Cannot read how a pod ended"]
