"""The fence: whether this process may still write, asked by each write just before its bytes leave.

A leader that cannot renew its Lease, or was stopped and goes on later, must not bind what another leader has decided about by then.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable


def steady_seconds() -> float:
    """A clock that nobody sets and that goes on while the machine is suspended, where there is one."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class FenceClosed(Exception):
    """A write was held back: this process does not lead, or cannot know that it still does. It has to end."""


class Fence:
    """Closed, until it is opened up to a point in time, again and again; it closes by itself.

    It is opened by the thread that renews the Lease and asked by the one that writes; one number is all they share.
    """

    def __init__(self, clock: Callable[[], float] = steady_seconds) -> None:
        self._clock = clock
        self._closes_at = -math.inf

    def open_until(self, closes_at: float) -> None:
        """Allow writes before that time of the clock."""
        self._closes_at = closes_at

    def close(self) -> None:
        """Allow nothing any more."""
        self._closes_at = -math.inf

    @property
    def remaining_seconds(self) -> float:
        """For how long it stays open; not above 0 when it is closed."""
        return self._closes_at - self._clock()

    def check(self) -> None:
        """Raises: FenceClosed, when nothing may be written."""
        if self._clock() >= self._closes_at:
            raise FenceClosed("the Lease was not renewed in time: nothing is written any more")
