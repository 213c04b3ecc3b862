"""Numbers that the core keeps for whoever asks."""

from __future__ import annotations

import pytest

from scheduler.core.measurements import ATTEMPTS_BOUNDS, Histogram, Measurements


def test_a_value_on_a_bound_belongs_below_it() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.0, 2.5):
        histogram.observe(value)

    assert histogram.buckets == [2, 2, 1]
    assert histogram.sum == 7.5


# trap: attempts-end-with-the-bind
def test_a_decision_that_found_a_node_ends_its_attempt_later() -> None:
    measurements = Measurements()
    measurements.cycle_took("assumed", "reprise", 0.5)

    assert measurements.algorithm_seconds.sum == 0.5
    assert measurements.attempt_seconds == {}


@pytest.mark.parametrize("outcome", ["unschedulable", "error"])
def test_a_failed_decision_ends_its_attempt(outcome: str) -> None:
    measurements = Measurements()
    measurements.cycle_took(outcome, "reprise", 0.25)
    measurements.cycle_took(outcome, "reprise", 0.5)

    assert measurements.algorithm_seconds.sum == 0.75
    assert measurements.attempt_seconds[outcome, "reprise"].sum == 0.75


def test_a_pod_that_was_skipped_was_not_decided_on() -> None:
    measurements = Measurements()
    measurements.cycle_took("skipped", "reprise", 0.5)

    assert measurements.algorithm_seconds.buckets == [0] * 16
    assert measurements.attempt_seconds == {}


@pytest.mark.parametrize(("attempts", "label"), [(1, "1"), (14, "14"), (15, "15+"), (99, "15+")])
def test_many_attempts_share_a_label(attempts: int, label: str) -> None:
    measurements = Measurements()
    measurements.scheduled(attempts, 2.0, after_flush=False)

    assert list(measurements.sli_seconds) == [label]
    assert measurements.pod_attempts.sum == attempts
    assert len(measurements.pod_attempts.buckets) == len(ATTEMPTS_BOUNDS) + 1


def test_a_pod_that_the_flush_had_woken_counts() -> None:
    measurements = Measurements()
    measurements.scheduled(1, 0.0, after_flush=False)
    assert measurements.scheduled_after_flush == 0

    measurements.scheduled(1, 0.0, after_flush=True)
    assert measurements.scheduled_after_flush == 1


def test_decisions_are_told_apart_by_how_they_were_come_to() -> None:
    measurements = Measurements()
    measurements.decision_took("reprise", "hint_used", 0.00002)
    measurements.decision_took("reprise", "no_hint", 0.001)
    measurements.decision_took("reprise", "hint_used", 0.00004)

    assert {key: found.sum for key, found in measurements.decision_seconds.items()} == {
        ("reprise", "hint_used"): pytest.approx(0.00006),
        ("reprise", "no_hint"): 0.001,
    }
    assert measurements.decision_seconds["reprise", "hint_used"].buckets[:4] == [0, 1, 1, 0]


def test_a_hint_counts_with_the_time_that_its_plugin_took() -> None:
    """kube-scheduler 1.37: queueing_hint_execution_duration_seconds has 20 bounds from 10 us on, each half as much again."""
    measurements = Measurements()
    shown = iter((10.00004, 20.5))
    measurements.stopwatch = lambda: next(shown)
    measurements.hint_answered("Fit", "NodeAdd", "Queue", since=10.0)
    measurements.hint_answered("Fit", "NodeAdd", "Queue", since=20.0)

    assert measurements.hints == {("Fit", "NodeAdd", "Queue"): 2}
    found = measurements.hint_seconds["Fit", "NodeAdd", "Queue"]
    assert found.sum == pytest.approx(0.50004)
    assert found.bounds[:3] == pytest.approx((0.00001, 0.000015, 0.0000225))
    assert len(found.bounds) == 20
    assert found.bounds[-1] == pytest.approx(0.0221684)
    assert [index for index, count in enumerate(found.buckets) if count] == [4, 20]
