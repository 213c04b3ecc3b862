"""Scripted plugins that sign pods, so that decisions with them are reused; and how a cache was used."""

from __future__ import annotations

from typing import Any

from scheduler.batch.options import BatchOptions
from scheduler.framework.plugin import SignPlugin, Unsignable
from scheduler.framework.pod_info import PodInfo
from tests.support.core_run import Core
from tests.support.scripted_plugins import Crowding, Filter, Normalized, PreFilter, PreScore, Score

FOREVER = BatchOptions(max_age_seconds=0.0, verify_fraction=0.0)
"""Entries do not expire, and nothing is checked."""
ALL_CHECKED = BatchOptions(max_age_seconds=0.0, verify_fraction=1.0)


class _Signing(SignPlugin):
    """``fragment`` is what every pod is signed by; an exception is raised."""

    fragment: Any = ()

    def sign(self, pod: PodInfo) -> tuple[Any, ...] | Unsignable:
        if isinstance(self.fragment, Exception):
            raise self.fragment
        return self.fragment  # type: ignore[no-any-return]


class SignedPreFilter(PreFilter, _Signing):
    pass


class SignedFilter(Filter, _Signing):
    pass


class SignedPreScore(PreScore, _Signing):
    pass


class SignedScore(Score, _Signing):
    pass


class SignedNormalized(Normalized, _Signing):
    pass


class SignedCrowding(Crowding, _Signing):
    pass


def batch_of(core: Core) -> dict[str, Any]:
    """How the cache was used so far, without what is zero."""
    return {name: count for name, count in core.state.batching.counters.as_document().items() if count}
