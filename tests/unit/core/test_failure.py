"""Condition and Event of a failed attempt. Expected: kube-scheduler 1.37, handleSchedulingFailure and UpdatePodCondition."""

from __future__ import annotations

import pytest

from scheduler.api.objects import Pod, PodCondition, PodStatus
from scheduler.core.failure import failure_instructions, note
from scheduler.core.instruction import Condition, PatchPodStatus, RecordEvent
from tests.support.builders import make_pod
from tests.support.core_run import changed, reference

MESSAGE = "0/1 nodes are available: 1 Insufficient cpu."


def told(pod: Pod, message: str = MESSAGE, reason: str = "Unschedulable") -> tuple[RecordEvent, PatchPodStatus | None]:
    event, *patches = failure_instructions(pod, reason=reason, message=message, controller="reprise", now=50.0)
    assert isinstance(event, RecordEvent)
    assert len(patches) <= 1
    patch = patches[0] if patches else None
    assert patch is None or isinstance(patch, PatchPodStatus)
    return event, patch


def with_conditions(*conditions: PodCondition, nominated: str = "") -> Pod:
    return make_pod(status=PodStatus(conditions=list(conditions), nominated_node_name=nominated))


def condition(status: str = "False", reason: str = "Unschedulable", message: str = MESSAGE) -> PodCondition:
    return PodCondition(
        type="PodScheduled",
        status=status,
        reason=reason,
        message=message,
        last_transition_time="2026-01-01T00:00:00Z",
        observed_generation=1,
    )


READY = PodCondition(type="Ready", status="False")


def test_a_first_failure_writes_the_condition_with_its_generation_and_time() -> None:
    pod = changed(make_pod(), version="7", metadata={"generation": 4})
    _, patch = told(pod)

    assert patch == PatchPodStatus(
        pod=reference(pod),
        condition=Condition(
            type="PodScheduled",
            status="False",
            reason="Unschedulable",
            message=MESSAGE,
            observed_generation=4,
            last_transition_time=50.0,
        ),
        condition_order=["PodScheduled"],
        nominated_node_name=None,
    )


def test_an_equal_condition_is_not_written_again_whatever_its_generation() -> None:
    event, patch = told(changed(with_conditions(condition()), metadata={"generation": 4}))

    assert patch is None
    assert event.note == MESSAGE


@pytest.mark.parametrize(
    "old", [condition(reason="SchedulerError"), condition(message="another"), condition(message=MESSAGE + " ")]
)
def test_another_reason_or_message_keeps_the_time_of_the_transition(old: PodCondition) -> None:
    _, patch = told(with_conditions(old))

    assert patch is not None
    assert patch.condition is not None
    assert (patch.condition.message, patch.condition.reason) == (MESSAGE, "Unschedulable")
    assert patch.condition.last_transition_time is None


@pytest.mark.parametrize("status", ["True", "Unknown", ""])
def test_another_status_is_a_transition(status: str) -> None:
    _, patch = told(with_conditions(condition(status)))

    assert patch is not None
    assert patch.condition is not None
    assert patch.condition.last_transition_time == 50.0


def test_conditions_keep_their_order_and_a_new_one_goes_last() -> None:
    _, last = told(with_conditions(READY))
    _, first = told(with_conditions(condition(reason="SchedulerError"), READY))

    assert last is not None
    assert last.condition_order == ["Ready", "PodScheduled"]
    assert first is not None
    assert first.condition_order == ["PodScheduled", "Ready"]


def test_a_nomination_alone_is_cleared_without_writing_the_condition() -> None:
    pod = with_conditions(condition(), nominated="n1")
    _, patch = told(pod)

    assert patch == PatchPodStatus(pod=reference(pod), condition=None, condition_order=[], nominated_node_name="")


# trap: the-note-is-cut
def test_the_condition_has_the_whole_message_and_the_event_a_cut_one() -> None:
    long = "x" * 2000
    event, patch = told(make_pod(), long)

    assert patch is not None
    assert patch.condition is not None
    assert patch.condition.message == long
    assert event.note == "x" * 1020 + " ..."


def test_a_note_of_1024_bytes_is_not_cut() -> None:
    assert note("x" * 1024) == "x" * 1024
    assert note("x" * 1025) == "x" * 1020 + " ..."


@pytest.mark.parametrize(("letter", "kept"), [("é", 510), ("€", 340), ("😀", 255)])
def test_a_character_that_the_cut_would_split_is_dropped_whole(letter: str, kept: int) -> None:
    assert note(letter * 1000) == letter * kept + " ..."
    assert note("x" + letter * 1000) == "x" + letter * ((1020 - 1) // len(letter.encode())) + " ..."
    assert len(note("x" + letter * 1000).encode()) <= 1024


def test_a_message_that_fits_in_bytes_and_not_in_characters_is_counted_in_bytes() -> None:
    assert note("é" * 512) == "é" * 512
    assert note("é" * 513) == "é" * 510 + " ..."


def test_a_percent_sign_stays_what_it_is() -> None:
    event, patch = told(make_pod(), "100% of 5%s")

    assert event.note == "100% of 5%s"
    assert patch is not None
    assert patch.condition is not None
    assert patch.condition.message == "100% of 5%s"
