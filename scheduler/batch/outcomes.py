"""How the batch cache is used, as closed sets of labels, and their counts."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any


class Attempt(enum.StrEnum):
    """How a pod that may use the cache was decided (scheduler_batch_attempts_total)."""

    HINT_USED = "hint_used"
    """The best node of an entry."""
    HINT_NOT_USED = "hint_not_used"
    """An entry was there, and pods nominated to its best node took that from this pod."""
    NO_HINT = "no_hint"
    """There was no entry: every node was evaluated."""
    FIT_ERROR = "fit_error"
    """An entry said that no node fits."""


class Bypass(enum.StrEnum):
    """Why a pod did not use the cache at all (scheduler_batch_bypass_total); such a pod counts here only."""

    POD_NOT_BATCHABLE = "pod_not_batchable"
    POD_NOMINATED = "pod_nominated"
    DISABLED = "disabled"


class Flush(enum.StrEnum):
    """Why an entry was dropped (scheduler_batch_cache_flushed_total); counted once, when it really is."""

    EXPIRED = "expired"
    NODE_EVENT = "node_event"
    CLUSTER_EVENT = "cluster_event"
    EVICTED = "evicted"
    CONFIG_CHANGED = "config_changed"
    VERIFICATION_FAILED = "verification_failed"
    FILTER_ERROR = "filter_error"
    PRESCORE_ERROR = "prescore_error"
    RESCORE_ERROR = "rescore_error"
    NORMALIZE_ERROR = "normalize_error"


class BatchCounters:
    """Plain counts, by schedulerName and label.

    Args:
        scheduler_names: of all profiles.
    """

    def __init__(self, scheduler_names: Iterable[str] = ()) -> None:
        # With all of its keys from the start: to add to a Counter takes twice as long, and each reused decision does it.
        self.attempts: dict[tuple[str, Attempt], int] = {}
        self.add(scheduler_names)
        self.bypasses: Counter[tuple[str, Bypass]] = Counter()
        self.flushes: Counter[tuple[str, Flush]] = Counter()
        self.verified: Counter[str] = Counter()
        self.mismatched: Counter[str] = Counter()

    def add(self, scheduler_names: Iterable[str]) -> None:
        """Profiles of another configuration; counts of those that are gone are kept."""
        for name in scheduler_names:
            for attempt in Attempt:
                self.attempts.setdefault((name, attempt), 0)

    def as_document(self) -> dict[str, Any]:
        """All counts, over all profiles, by label."""
        return {
            **{attempt.value: _total(self.attempts, attempt) for attempt in Attempt},
            "flushed": _by_label(self.flushes),
            "bypassed": _by_label(self.bypasses),
            "verified": self.verified.total(),
            "mismatched": self.mismatched.total(),
        }

    def hit_ratio(self) -> float:
        """Decisions from an entry among all decisions that may have come from one; 0 without any."""
        total = sum(self.attempts.values())
        hits = sum(
            count for (_, result), count in self.attempts.items() if result in (Attempt.HINT_USED, Attempt.FIT_ERROR)
        )
        return hits / total if total else 0.0


def _total(counts: Mapping[tuple[str, Attempt], int], label: Attempt) -> int:
    return sum(count for (_, found), count in counts.items() if found is label)


def _by_label(counts: Counter[Any]) -> dict[str, int]:
    totals: Counter[str] = Counter()
    for (_, label), count in counts.items():
        totals[str(label)] += count
    return dict(sorted(totals.items()))
