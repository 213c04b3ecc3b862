"""Pods of other schedulers, and of none because the name is mistyped."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.api.objects import Pod, PodCondition, PodStatus
from scheduler.core.instruction import FindEvents, Instruction, RecordEvent
from scheduler.core.scheduler import Scheduler
from scheduler.core.stimulus import EventsFound
from scheduler.core.unserved import distance
from scheduler.queue.backoff import Backoff
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core, changed, default_profiles, on_node, reference

TOLD = (
    'No scheduler has looked at this pod for 5 minutes: spec.schedulerName is "repirse", and the scheduler that is here is '
    'named "reprise". If that one is meant, make the pod anew with its name.'
)


class WarningCore(Core):
    """A scheduler that warns of mistyped names."""

    def __init__(self, *, typo_warnings: bool = True) -> None:
        super().__init__()
        self.scheduler = Scheduler(default_profiles(), seed=1, backoff=Backoff(), typo_warnings=typo_warnings)
        self.state = self.scheduler.state

    def found(self, pod: Pod, *, has_events: bool, at: float) -> list[Instruction]:
        return self.scheduler.handle(EventsFound(now=at, uid=pod.metadata.uid, has_events=has_events))


def mistyped(name: str = "p", scheduler_name: str = "repirse", **fields: Any) -> Pod:
    return make_pod(name, scheduler_name=scheduler_name, **fields)


def asked(pod: Pod) -> list[FindEvents]:
    return [FindEvents(pod=reference(pod))]


def test_a_pod_that_nobody_looks_at_gets_one_event_after_five_minutes() -> None:
    core, pod = WarningCore(), mistyped()
    core.pods(pod, at=100.0)

    assert core.tick(399.0) == []
    assert core.tick(400.0) == asked(pod)
    assert core.found(pod, has_events=False, at=401.0) == [
        RecordEvent(
            pod=reference(pod),
            type="Warning",
            reason="UnknownSchedulerName",
            action="Scheduling",
            note=TOLD,
            controller="reprise",
            now=401.0,
        )
    ]
    assert core.found(pod, has_events=False, at=402.0) == []
    assert core.tick(10_000.0) == []


def test_a_pod_with_an_event_gets_none() -> None:
    core, pod = WarningCore(), mistyped()
    core.pods(pod)
    assert core.tick(300.0) == asked(pod)

    assert core.found(pod, has_events=True, at=300.0) == []
    assert core.tick(900.0) == []


@pytest.mark.parametrize("name", ["reprse", "rreprise", "reprize", "rep-rise", "repirse", "Reprise"])
def test_names_that_are_nearly_ours(name: str) -> None:
    core, pod = WarningCore(), mistyped(scheduler_name=name)
    core.pods(pod)
    assert core.tick(300.0) == asked(pod)


@pytest.mark.parametrize("name", ["default-scheduler", "volcano", "repr", "my-reprise", "reporters"])
def test_names_that_are_others(name: str) -> None:
    core = WarningCore()
    core.pods(mistyped(scheduler_name=name))
    assert core.tick(300.0) == []


def test_a_name_under_which_a_pod_was_bound_is_somebodys() -> None:
    core = WarningCore()
    core.nodes(make_node("n1"))
    core.pods(mistyped())
    core.pods(mistyped("other", node_name="n1"), at=200.0)

    assert core.tick(300.0) == []


def test_a_pod_with_a_condition_is_looked_after() -> None:
    core, pod = WarningCore(), mistyped()
    core.pods(pod)
    condition = PodCondition(type="PodScheduled", status="False", reason="SchedulingGated")
    core.pods(msgspec.structs.replace(pod, status=PodStatus(conditions=[condition])), at=10.0)

    assert core.tick(300.0) == []


@pytest.mark.parametrize("end", ["bound", "deleted", "terminating"])
def test_a_pod_that_waits_no_more_gets_no_event(end: str) -> None:
    core, pod = WarningCore(), mistyped()
    core.nodes(make_node("n1"))
    core.pods(pod)
    assert core.tick(300.0) == asked(pod)
    match end:
        case "bound":
            core.pods(on_node(pod, "n1"))
        case "deleted":
            core.pod_gone(pod)
        case _:
            core.pods(changed(pod, version="2", metadata={"deletion_timestamp": "2026-01-01T00:00:00Z"}))

    assert core.found(pod, has_events=False, at=301.0) == []
    assert len(core.state.unserved) == (end == "terminating")


def test_not_more_than_ten_a_minute() -> None:
    core = WarningCore()
    core.pods(*(mistyped(f"p{number}") for number in range(25)))

    assert len(core.tick(300.0)) == 10
    assert core.tick(359.0) == []
    assert len(core.tick(360.0)) == 10
    assert len(core.tick(420.0)) == 5
    assert core.tick(480.0) == []


def test_off_unless_it_is_asked_for() -> None:
    core = WarningCore(typo_warnings=False)
    core.pods(mistyped())
    assert core.tick(300.0) == []


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("", "", 0), ("abc", "abc", 0), ("abc", "acb", 2), ("abc", "abcd", 1), ("abc", "xyz", 3), ("a", "abcd", 3)],
)
def test_edit_distance(one: str, other: str, expected: int) -> None:
    """Levenshtein: letters put in, left out or replaced; 3 for anything above 2."""
    assert distance(one, other, 2) == expected
