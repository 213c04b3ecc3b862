"""The comparison of hints tells what differs from what is listed, and draws the same changes for the same seed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.oracle.hints import answer, differences, lines


def line(**pod_spec: Any) -> dict[str, Any]:
    pod = {"metadata": {"name": "p", "namespace": "default", "uid": "u"}, "spec": {"containers": [], **pod_spec}}
    return {"hint": {"kind": "Node", "old": None, "new": None}, "objects": [], "pod": pod, "config": None}


def told(event: str, **hints: str) -> dict[str, Any]:
    return {"events": [{"event": event, "hints": hints}], "rejecting": ["InterPodAffinity", "NodeResourcesFit"]}


def test_the_same_seed_draws_the_same_changes() -> None:
    assert list(lines(7, 3)) == list(lines(7, 3))
    assert list(lines(7, 3)) != list(lines(7, 4))


def test_equal_answers_do_not_differ_and_an_error_queues() -> None:
    for right in ("Queue", "Error"):
        assert (
            differences(
                line(), told("NodeAdd", NodeResourcesFit=right), told("NodeAdd", NodeResourcesFit="Queue"), Counter()
            )
            == []
        )


@pytest.mark.parametrize(("right", "mine"), [("Queue", "QueueSkip"), ("QueueSkip", "Queue")])
def test_other_answers_differ(right: str, mine: str) -> None:
    found = differences(
        line(), told("NodeAdd", NodeResourcesFit=right), told("NodeAdd", NodeResourcesFit=mine), Counter()
    )

    assert found == [f"NodeResourcesFit NodeAdd: {right} expected, not {mine}"]


def test_other_events_differ() -> None:
    assert len(differences(line(), told("NodeAdd"), told("NodeDelete"), Counter())) == 1


def test_a_wake_up_that_is_listed_is_counted_and_a_missing_one_is_not() -> None:
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}, "podAntiAffinity": {"x": 1}}
    missed: Counter[str] = Counter()
    asked = line(affinity=affinity)
    event = "AssignedPodDelete"
    woken = differences(asked, told(event, InterPodAffinity="QueueSkip"), told(event, InterPodAffinity="Queue"), missed)
    asleep = differences(
        asked, told(event, InterPodAffinity="Queue"), told(event, InterPodAffinity="QueueSkip"), missed
    )

    assert (woken, missed) == ([], {f"InterPodAffinity {event}": 1})
    assert asleep == [f"InterPodAffinity {event}: Queue expected, not QueueSkip"]


def test_a_drawn_change_is_answered_with_its_events() -> None:
    answered = [answer(one) for one in lines(1, 0)]

    assert answered
    assert all(one["events"] is not None and "NodeResourcesFit" in one["rejecting"] for one in answered)
