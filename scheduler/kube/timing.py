"""Time and chance of the edge, as values that are passed in, and the two things made of them: back-off and a token bucket."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """Where time and chance come from.

    ``now`` is seconds since the epoch, for stamps; ``monotonic`` is for durations and must advance with ``sleep`` and
    with the event loop's own clock; ``chance`` is uniform in [0, 1).
    """

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random


class Backoff:
    """Growing, jittered delays: the n-th is ``initial * factor**n``, at most ``maximum``, times 1 to ``1 + jitter``."""

    def __init__(
        self,
        timing: Timing,
        *,
        initial_seconds: float,
        maximum_seconds: float,
        factor: float = 2.0,
        jitter: float = 1.0,
        reset_after_seconds: float = float("inf"),
    ) -> None:
        """Start anew when ``reset_after_seconds`` went by without a call of ``next_seconds``."""
        self._timing = timing
        self._initial = initial_seconds
        self._maximum = maximum_seconds
        self._factor = factor
        self._jitter = jitter
        self._reset_after = reset_after_seconds
        self._base = initial_seconds
        self._last = float("-inf")

    def next_seconds(self) -> float:
        now = self._timing.monotonic()
        if now - self._last > self._reset_after:
            self._base = self._initial
        base = min(self._base, self._maximum)
        self._base = min(self._base * self._factor, self._maximum)
        delay = base * (1.0 + self._jitter * self._timing.chance())
        self._last = now + delay
        return delay


class TokenBucket:
    """Allows ``per_second`` on average and ``burst`` at once."""

    def __init__(self, timing: Timing, *, per_second: float, burst: int) -> None:
        self._monotonic = timing.monotonic
        self._per_second = per_second
        self._burst = float(burst)
        self._tokens = float(burst)
        self._at = timing.monotonic()

    def take(self) -> bool:
        """Take one token if there is one."""
        self._fill()
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def wait_seconds(self) -> float:
        """How long until ``take`` can succeed; 0 when it can now."""
        self._fill()
        return max(0.0, (1.0 - self._tokens) / self._per_second)

    def _fill(self) -> None:
        now = self._monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._per_second)
        self._at = now
