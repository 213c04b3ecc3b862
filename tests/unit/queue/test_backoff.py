"""Expected values: kube-scheduler 1.37, backoffQ (1 s initial, 10 s maximum, ends on whole seconds)."""

from __future__ import annotations

import pytest

from scheduler.api.objects import Pod
from scheduler.framework.pod_info import PodInfo
from scheduler.queue.backoff import Backoff
from scheduler.queue.queued_pod import QueuedPod


def failed(rejections: int = 0, errors: int = 0, at: float = 100.0) -> QueuedPod:
    return QueuedPod(PodInfo(Pod()), at, unschedulable_count=rejections, consecutive_errors=errors)


@pytest.mark.parametrize(
    ("rejections", "seconds"), [(0, 0.0), (1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (5, 10.0), (6, 10.0), (500, 10.0)]
)
def test_the_wait_doubles_up_to_the_maximum(rejections: int, seconds: float) -> None:
    assert Backoff().duration(failed(rejections)) == seconds


def test_errors_in_a_row_count_before_rejections() -> None:
    assert Backoff().duration(failed(rejections=4, errors=1)) == 1.0


def test_a_maximum_of_zero_switches_waiting_off() -> None:
    assert Backoff(max_seconds=0).duration(failed(3)) == 0.0
    assert not Backoff(max_seconds=0).is_backing_off(failed(3), 100.0)


def test_an_initial_wait_above_the_maximum_is_cut() -> None:
    assert Backoff(initial_seconds=20, max_seconds=10).duration(failed(1)) == 10.0


def test_the_wait_ends_on_a_whole_second() -> None:
    assert Backoff().expiration(failed(1, at=100.7)) == 101.0


# trap: back-off-in-whole-seconds
@pytest.mark.parametrize(("now", "waits"), [(100.7, True), (101.0, True), (101.999, True), (102.0, False)])
def test_the_second_of_the_end_still_waits(now: float, waits: bool) -> None:
    assert Backoff().is_backing_off(failed(1, at=100.7), now) is waits
