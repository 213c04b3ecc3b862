from __future__ import annotations

from scheduler.framework.pod_info import PodInfo
from scheduler.plugins.priority_sort import PrioritySort
from tests.support.builders import make_pod


def key(priority: int | None, timestamp: float) -> tuple[int, float]:
    return PrioritySort().sort_key(PodInfo(make_pod(priority=priority)), timestamp)


def test_a_higher_priority_goes_first_however_late_it_came() -> None:
    assert key(10, 99.0) < key(9, 1.0)


def test_of_one_priority_the_earlier_goes_first() -> None:
    assert key(5, 1.0) < key(5, 2.0)


def test_no_priority_is_priority_0() -> None:
    assert key(1, 9.0) < key(None, 1.0) < key(-1, 0.0)
    assert key(None, 3.0) == key(0, 3.0)
