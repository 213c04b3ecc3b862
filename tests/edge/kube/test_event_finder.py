"""Whether there is any Event about a pod, on virtual time, against a scripted API server."""

import asyncio
from typing import Any

import pytest
import structlog.testing

from scheduler.core.instruction import FindEvents
from scheduler.core.stimulus import EventsFound
from tests.edge.kube.dispatching import dispatching, reference
from tests.edge.kube.scripted import REFUSED, ScriptedTransport, ok, refusal

pytestmark = pytest.mark.looptime

ONE = ok({"items": [{"metadata": {"name": "e"}}], "metadata": {"continue": "more"}})
NONE = ok({"items": [], "metadata": {}})


async def found(*script: Any) -> tuple[list[Any], bool]:
    """What was asked for, and the answer."""
    transport = ScriptedTransport(*script)
    async with dispatching(transport) as it:
        it.submit(FindEvents(pod=reference("a")))
        await asyncio.sleep(60)
        (answer,) = it.stimuli
        assert isinstance(answer, EventsFound)
        assert answer.uid == "uid-a"
        return transport.requests, answer.has_events


@pytest.mark.parametrize(("script", "has_events"), [([ONE], True), ([NONE], False), ([ok({})], False)])
async def test_the_pods_own_events_are_looked_for_and_one_is_enough(script: list[Any], has_events: bool) -> None:
    asked, answer = await found(*script)
    assert answer is has_events
    assert [(one.method, one.path, one.query) for one in asked] == [
        ("GET", "/api/v1/namespaces/default/events", {"fieldSelector": "involvedObject.uid=uid-a", "limit": "1"})
    ]


@pytest.mark.parametrize("first", [REFUSED, refusal(500, "etcd is slow"), refusal(429, "slow down")])
async def test_what_may_pass_is_tried_again(first: Any) -> None:
    asked, answer = await found(first, NONE)
    assert (len(asked), answer) == (2, False)


@pytest.mark.parametrize("script", [[refusal(403, "events is forbidden")], [ok(b"no JSON")]])
async def test_who_does_not_know_of_any_warns_of_nothing_and_says_so(script: list[Any]) -> None:
    with structlog.testing.capture_logs() as lines:
        _, answer = await found(*script)
    assert answer is True
    assert [line["log_level"] for line in lines] == ["warning"]
