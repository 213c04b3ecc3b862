"""MicroTime: points in time as ``meta/v1`` writes them, to the microsecond."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

_MICRO = 1_000_000


def micro_time(seconds: float) -> str:
    """``2026-01-31T23:59:59.000001Z`` for seconds since the epoch.

    Many in a row fall into one second, so that is written once: it takes ten times as long as the rest.
    """
    whole, micro = divmod(round(seconds * _MICRO), _MICRO)
    return f"{_second(whole)}.{micro:06}Z"


@lru_cache(maxsize=8)
def _second(whole: int) -> str:
    return datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")
