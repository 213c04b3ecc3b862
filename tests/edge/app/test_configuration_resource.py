"""The SchedulerConfiguration that a release obeys: what is made of it, and what is written into its status, on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest
import structlog.testing

from scheduler.app.configuration_resource import ConfigurationResource, configuration_of
from scheduler.app.reloading import IN_USE, Candidate, Reloading, Verdict
from scheduler.config.configuration import ConfigurationError, from_object
from scheduler.kube.scheduler_configurations import ConfigurationClient, Unavailable

pytestmark = pytest.mark.looptime
EPOCH = 1_767_225_600.0  # 2026-01-01T00:00:00Z
GOOD = Verdict("Applied", "in force")


class Client:
    """An API server with these resources; ``writes`` are (name, status, resourceVersion)."""

    def __init__(self) -> None:
        self.found: dict[str, Any] | None = None
        self.writes: list[tuple[str, Mapping[str, Any], str]] = []
        self.is_down = False

    async def get(self, name: str) -> dict[str, Any] | None:
        if self.is_down:
            raise Unavailable("connection refused")
        return self.found

    async def write_status(self, name: str, status: Mapping[str, Any], *, resource_version: str = "") -> bool:
        if self.is_down:
            raise Unavailable("connection refused")
        self.writes.append((name, status, resource_version))
        return True


class Offers:
    """What was offered; the last one can be answered."""

    def __init__(self) -> None:
        self.all: list[Candidate] = []

    def offer(self, candidate: Candidate) -> None:
        self.all.append(candidate)


def found(generation: int = 1, *, uid: str = "u", name: str = "ours", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "uid": uid, "generation": generation, "resourceVersion": "7"}
    return {"metadata": metadata, "spec": {}, **fields}


class Obeying:
    def __init__(self) -> None:
        self.client, self.offers = Client(), Offers()
        self.is_leader = True
        self.ratio = 0.5
        loop = asyncio.get_running_loop()
        self.resource = ConfigurationResource(
            "ours",
            cast(ConfigurationClient, self.client),
            cast(Reloading, self.offers),
            is_leader=lambda: self.is_leader,
            hit_ratio=lambda: self.ratio,
            names=lambda: ["reprise", "second"],
            wall=lambda: EPOCH + loop.time(),
            monotonic=loop.time,
        )
        self._tasks = [asyncio.create_task(self.resource.write())]

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)

    def statuses(self) -> list[tuple[str, str, int]]:
        """Status, reason and generation of each condition that was written."""
        conditions = [status["conditions"][0] for _, status, _ in self.client.writes]
        return [(one["status"], one["reason"], one["observedGeneration"]) for one in conditions]


async def test_each_generation_is_offered_once_and_its_verdict_written() -> None:
    it = Obeying()
    it.resource.heard("ADDED", found())
    it.resource.heard("MODIFIED", found(status={"conditions": []}))
    assert len(it.offers.all) == 1
    it.offers.all[0].answer(GOOD)
    await asyncio.sleep(1)

    assert it.client.writes == [
        (
            "ours",
            {
                "observedGeneration": 1,
                "conditions": [
                    {
                        "type": "Accepted",
                        "status": "True",
                        "reason": "Applied",
                        "message": "in force",
                        "observedGeneration": 1,
                        "lastTransitionTime": "2026-01-01T00:00:00Z",
                    }
                ],
                "profiles": "reprise, second",
                "hitRatio": "0.50",
            },
            "",
        )
    ]
    await it.end()


async def test_a_verdict_on_an_older_generation_is_not_written() -> None:
    it = Obeying()
    it.resource.heard("ADDED", found())
    it.resource.heard("MODIFIED", found(2))
    it.offers.all[0].answer(Verdict(IN_USE, "pods wait"))
    await asyncio.sleep(3)
    assert it.client.writes == []
    it.offers.all[1].answer(GOOD)
    await asyncio.sleep(3)
    assert it.statuses() == [("True", "Applied", 2)]
    await it.end()


async def test_an_older_state_that_was_on_its_way_changes_nothing() -> None:
    it = Obeying()
    it.resource.heard("MODIFIED", found(2))
    it.resource.heard("", found(1))
    assert len(it.offers.all) == 1
    it.offers.all[0].answer(GOOD)
    await asyncio.sleep(1)
    assert it.statuses() == [("True", "Applied", 2)]
    await it.end()


async def test_who_does_not_lead_writes_nothing_until_he_does() -> None:
    it = Obeying()
    it.is_leader = False
    it.resource.heard("ADDED", found())
    it.offers.all[0].answer(GOOD)
    await asyncio.sleep(30)
    assert it.client.writes == []
    it.is_leader = True
    await asyncio.sleep(3)
    assert it.statuses() == [("True", "Applied", 1)]
    await it.end()


async def test_the_hit_ratio_is_written_once_a_minute_at_most() -> None:
    it = Obeying()
    it.resource.heard("ADDED", found())
    it.offers.all[0].answer(GOOD)
    for _ in range(50):
        it.ratio += 0.01
        await asyncio.sleep(2.5)
    assert [status["hitRatio"] for _, status, _ in it.client.writes] == ["0.51", "0.75", "0.99"]
    await it.end()


async def test_a_write_that_fails_is_tried_again() -> None:
    it = Obeying()
    it.client.is_down = True
    it.resource.heard("ADDED", found())
    it.offers.all[0].answer(GOOD)
    await asyncio.sleep(5)
    it.client.is_down = False
    await asyncio.sleep(5)
    assert it.statuses() == [("True", "Applied", 1)]
    await it.end()


async def test_the_time_of_the_transition_stays_while_the_status_does() -> None:
    it = Obeying()
    it.resource.heard("ADDED", found())
    it.offers.all[0].answer(GOOD)
    await asyncio.sleep(10)
    it.resource.heard("MODIFIED", found(2))
    it.offers.all[1].answer(GOOD)
    await asyncio.sleep(10)
    it.resource.heard("MODIFIED", found(3))
    it.offers.all[2].answer(Verdict("Invalid", "wrong"))
    await asyncio.sleep(1)
    times = [status["conditions"][0]["lastTransitionTime"] for _, status, _ in it.client.writes]
    assert times == ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:20Z"]
    await it.end()


async def test_one_that_is_deleted_is_told_of_and_obeyed_again_when_it_is_made_anew() -> None:
    it = Obeying()
    it.resource.heard("ADDED", found())
    it.offers.all[0].answer(GOOD)
    assert it.resource.trouble == ""
    with structlog.testing.capture_logs() as lines:
        it.resource.heard("DELETED", found())
        it.resource.heard("DELETED", found())
    assert [line["log_level"] for line in lines] == ["error"]
    assert it.resource.trouble.endswith("the last good configuration stays in force")
    assert it.resource.rules
    it.resource.heard("ADDED", found(1, uid="another"))
    assert len(it.offers.all) == 2
    await it.end()


async def test_one_that_vanished_unseen_is_found_to_be_gone() -> None:
    it = Obeying()
    it.client.found = found()
    reading = asyncio.create_task(it.resource.read())
    await asyncio.sleep(1)
    it.offers.all[0].answer(GOOD)
    it.client.found = None
    await asyncio.sleep(31)
    assert it.resource.trouble.startswith('SchedulerConfiguration "ours" is not there')
    reading.cancel()
    await it.end()


async def test_the_first_decision_waits_for_the_verdict_but_not_for_ever() -> None:
    it = Obeying()
    loop = asyncio.get_running_loop()
    it.resource.heard("ADDED", found())
    loop.call_later(3.0, it.offers.all[0].answer, GOOD)
    await it.resource.first()
    assert loop.time() == pytest.approx(3.0)
    await it.end()

    late = Obeying()
    await late.resource.first()
    assert loop.time() == pytest.approx(18.0)
    await late.end()


async def test_another_resource_is_told_that_nobody_obeys_it_unless_somebody_has_answered_it() -> None:
    it = Obeying()
    it.resource.heard("ADDED", found(name="theirs", status={"conditions": [{"type": "Accepted"}]}))
    it.resource.heard("ADDED", found(name="nobodys"))
    await asyncio.sleep(30)
    ((name, status, version),) = it.client.writes
    assert (name, version) == ("nobodys", "7")
    assert it.statuses() == [("Unknown", "NotObeyed", 1)]
    assert '"ours"' in status["conditions"][0]["message"]
    assert it.offers.all == []
    await it.end()


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (None, "spec: Required value: an object"),
        ({"other": {}}, "spec.other: unknown field"),
        ({"kubeSchedulerConfiguration": {"profils": []}}, "profils: unknown field; did you mean profiles?"),
        (
            {"repriseConfiguration": {"apiVersion": "reprise.dev/v1beta1"}},
            'apiVersion: Unsupported value: "reprise.dev/v1beta1": supported values: "reprise.dev/v1alpha1"',
        ),
    ],
)
def test_what_is_wrong_with_a_spec(spec: Any, error: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        configuration_of(spec, from_object(None), replace_kube_scheduler=False)
    assert raised.value.errors == [error]
