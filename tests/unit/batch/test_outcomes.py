"""Counts of the batch cache. Labels: the closed sets of the metrics' documentation."""

from __future__ import annotations

from scheduler.batch.outcomes import Attempt, BatchCounters, Bypass, Flush


def test_the_labels_are_closed_sets() -> None:
    assert set(Attempt) == {"hint_used", "hint_not_used", "no_hint", "fit_error"}
    assert set(Bypass) == {"pod_not_batchable", "pod_nominated", "disabled"}
    assert set(Flush) == {
        "expired",
        "node_event",
        "cluster_event",
        "evicted",
        "config_changed",
        "verification_failed",
        "filter_error",
        "prescore_error",
        "rescore_error",
        "normalize_error",
    }


def test_nothing_was_decided_yet() -> None:
    counters = BatchCounters()

    assert counters.hit_ratio() == 0.0
    assert counters.as_document() == {
        "hint_used": 0,
        "hint_not_used": 0,
        "no_hint": 0,
        "fit_error": 0,
        "flushed": {},
        "bypassed": {},
        "verified": 0,
        "mismatched": 0,
    }


def test_hits_are_hints_and_fit_errors_among_all_that_may_have_come_from_an_entry() -> None:
    """A bypassed pod is not an attempt."""
    counters = BatchCounters()
    counters.attempts["a", Attempt.HINT_USED] = 5
    counters.attempts["b", Attempt.HINT_USED] = 1
    counters.attempts["a", Attempt.FIT_ERROR] = 2
    counters.attempts["a", Attempt.HINT_NOT_USED] = 1
    counters.attempts["a", Attempt.NO_HINT] = 1
    counters.bypasses["a", Bypass.DISABLED] = 90
    counters.bypasses["b", Bypass.DISABLED] = 9
    counters.flushes["b", Flush.NODE_EVENT] = 3
    counters.verified["a"] = 4
    counters.mismatched["b"] = 1

    assert counters.hit_ratio() == 0.8
    assert counters.as_document() == {
        "hint_used": 6,
        "hint_not_used": 1,
        "no_hint": 1,
        "fit_error": 2,
        "flushed": {"node_event": 3},
        "bypassed": {"disabled": 99},
        "verified": 4,
        "mismatched": 1,
    }
