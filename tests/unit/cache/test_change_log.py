"""The last changes of a number by row."""

from __future__ import annotations

from scheduler.cache.change_log import MOST, ChangeLog


def log_of(count: int) -> ChangeLog:
    """Versions 11, 12, ...: of each one was added to the row of that number."""
    log = ChangeLog(10)
    for version in range(11, 11 + count):
        log.note(version, version, 1)
    return log


def test_what_led_to_a_version_is_no_change_since_then() -> None:
    assert sorted(log_of(3).since(11) or ()) == [(12, 1), (13, 1)]
    assert log_of(3).since(13) == []


def test_all_is_known_since_the_beginning_and_nothing_before_it() -> None:
    log = log_of(2)
    assert sorted(log.since(10) or ()) == [(11, 1), (12, 1)]
    assert log.since(9) is None


def test_what_is_too_long_ago_is_known_no_more() -> None:
    log = log_of(MOST + 1)
    assert log.since(10) is None
    assert len(log.since(11) or ()) == MOST


def test_versions_may_leave_gaps() -> None:
    log = ChangeLog(10)
    log.note(20, 1, 1)
    log.note(30, 2, -1)

    assert log.since(25) == [(2, -1)]
