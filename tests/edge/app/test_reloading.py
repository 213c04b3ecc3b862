"""What becomes of configurations that are found while a scheduler runs, on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from scheduler.app.reloading import IN_USE, INVALID, MISSING_PERMISSION, RESTART_REQUIRED, Candidate, Reloading, Verdict
from scheduler.config.configuration import Configuration, ConfigurationError, from_object
from scheduler.core.generation import Reload
from scheduler.kube.access import REQUIRED, RIGHTS_TO_ASK_WHO, Right
from scheduler.kube.transport import Response
from tests.edge.kube.scripted import REFUSED, Request, ScriptedTransport

pytestmark = pytest.mark.looptime
VOLUMES = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "DefaultPreemption")
WITHOUT = {"multiPoint": {"disabled": [{"name": name} for name in VOLUMES]}}


def made(**fields: Any) -> Configuration:
    return from_object({"profiles": [{"schedulerName": "reprise", "plugins": WITHOUT}], **fields})


class Running:
    """A scheduler, as far as configurations are put in force; ``refuses`` is what the core says of each."""

    def __init__(self) -> None:
        self.configuration = made()
        self.rights: tuple[Right, ...] = (*REQUIRED, *RIGHTS_TO_ASK_WHO)
        self.refuses: list[str] = []
        self.switched: list[Configuration] = []
        self.is_known = asyncio.Event()
        self.is_known.set()

    async def prepare(self, configuration: Configuration) -> None:
        await self.is_known.wait()

    async def switch(self, configuration: Configuration) -> Reload:
        refused = self.refuses.pop(0) if self.refuses else ""
        if not refused:
            self.configuration = configuration
            self.switched.append(configuration)
        return Reload(2, refused)


class Answers:
    """What the API server grants: all, but for some resources."""

    def __init__(self, *denied: str) -> None:
        self.denied = set(denied)

    def __call__(self, request: Request) -> Response:
        if request.path.endswith("selfsubjectrulesreviews"):
            return Response(201, {}, msgspec.json.encode({"status": {"incomplete": True}}))
        resource = request.body["spec"]["resourceAttributes"]["resource"]
        return Response(201, {}, msgspec.json.encode({"status": {"allowed": resource not in self.denied}}))


@asynccontextmanager
async def reloading(
    running: Running, transport: ScriptedTransport | None = None
) -> AsyncIterator[tuple[Reloading, Callable[..., list[Verdict]]]]:
    it = Reloading(running, transport or ScriptedTransport(otherwise=Answers()))
    task = asyncio.create_task(it.run())

    def offer(read: Callable[[Configuration], Configuration]) -> list[Verdict]:
        verdicts: list[Verdict] = []
        it.offer(Candidate(source="test", read=read, answer=verdicts.append))
        return verdicts

    try:
        yield it, offer
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()


async def test_a_good_one_is_in_force_and_its_profiles_are_named() -> None:
    running, wanted = Running(), made(podMaxBackoffSeconds=20)
    async with reloading(running) as (it, offer):
        verdicts = offer(lambda _: wanted)
        await asyncio.sleep(1)

    assert running.switched == [wanted]
    assert [(one.reason, one.is_accepted) for one in verdicts] == [("Applied", True)]
    assert verdicts[0].message.startswith("in force with profiles reprise (hash ")
    assert it.counts == {("applied", ""): 1}


async def test_one_that_comes_to_the_same_changes_nothing() -> None:
    """Nothing that is kept for reuse is dropped for it."""
    running = Running()
    async with reloading(running) as (_, offer):
        verdicts = offer(lambda _: made(podMaxBackoffSeconds=10))
        await asyncio.sleep(1)

    assert running.switched == []
    assert [one.is_accepted for one in verdicts] == [True]


async def test_an_invalid_one_is_answered_with_its_errors() -> None:
    def read(_: Configuration) -> Configuration:
        raise ConfigurationError(["a: wrong", "b: too"])

    running = Running()
    async with reloading(running) as (it, offer):
        verdicts = offer(read)
        await asyncio.sleep(60)

    assert verdicts == [Verdict(INVALID, "a: wrong\nb: too")]
    assert it.counts == {("rejected", INVALID): 1}
    assert running.switched == []


async def test_one_that_needs_a_restart_is_not_even_prepared() -> None:
    running = Running()
    running.is_known.clear()
    async with reloading(running) as (_, offer):
        verdicts = offer(lambda _: made(delayCacheUntilActive=True, podMaxBackoffSeconds=20))
        await asyncio.sleep(1)

    assert verdicts == [
        Verdict(
            RESTART_REQUIRED,
            "delayCacheUntilActive: takes effect when a process starts; nothing of it is in force",
        )
    ]


async def test_one_that_is_in_use_is_tried_again_and_told_of_once() -> None:
    running = Running()
    running.refuses = ["2 pods wait", "2 pods wait", "1 pod waits", ""]
    async with reloading(running) as (it, offer):
        verdicts = offer(lambda _: made(podMaxBackoffSeconds=20))
        await asyncio.sleep(7)

    assert [(one.reason, one.message) for one in verdicts[:2]] == [(IN_USE, "2 pods wait"), (IN_USE, "1 pod waits")]
    assert verdicts[2].is_accepted
    assert it.counts == {("rejected", IN_USE): 1, ("applied", ""): 1}


async def test_rights_are_asked_for_before_anything_is_watched_and_again_until_they_are_there() -> None:
    running, answers = Running(), Answers("storageclasses")
    running.is_known.clear()
    async with reloading(running, ScriptedTransport(otherwise=answers)) as (_, offer):
        verdicts = offer(lambda _: from_object({"profiles": [{"schedulerName": "reprise"}]}))
        await asyncio.sleep(1)
        assert verdicts == [
            Verdict(
                MISSING_PERMISSION,
                "this identity may not: list storageclasses.storage.k8s.io; watch storageclasses.storage.k8s.io",
            )
        ]
        answers.denied.clear()
        running.is_known.set()
        await asyncio.sleep(10)

    assert verdicts[-1].is_accepted
    assert len(verdicts) == 2


async def test_an_api_server_that_does_not_answer_is_asked_again() -> None:
    running = Running()
    transport = ScriptedTransport(REFUSED, otherwise=Answers())
    async with reloading(running, transport) as (_, offer):
        verdicts = offer(lambda _: from_object({"profiles": [{"schedulerName": "reprise"}]}))
        await asyncio.sleep(5)

    assert [one.is_accepted for one in verdicts] == [True]


async def test_it_is_put_in_force_only_when_all_that_it_needs_is_known_and_the_newest_counts() -> None:
    running = Running()
    running.is_known.clear()
    async with reloading(running) as (_, offer):
        first = offer(lambda _: made(podMaxBackoffSeconds=20))
        await asyncio.sleep(30)
        assert first == []
        second = offer(lambda _: made(podMaxBackoffSeconds=30))
        await asyncio.sleep(1)
        running.is_known.set()
        await asyncio.sleep(1)

    assert first == []
    assert [one.is_accepted for one in second] == [True]
    assert [one.kube.pod_max_backoff_seconds for one in running.switched] == [30]


async def test_what_fails_here_ends_the_process() -> None:
    def read(_: Configuration) -> Configuration:
        raise RuntimeError("a bug")

    it = Reloading(Running(), ScriptedTransport(otherwise=Answers()))
    it.offer(Candidate(source="test", read=read))
    with pytest.raises(RuntimeError, match="a bug"):
        await it.run()
