"""How long a pod waits after a failed attempt (kube-scheduler 1.37: backoffQ)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scheduler.queue.queued_pod import QueuedPod


@dataclass(frozen=True, kw_only=True)
class Backoff:
    """Doubles with each failure, from ``initial_seconds`` up to ``max_seconds``; 0 as maximum switches it off."""

    initial_seconds: float = 1.0
    max_seconds: float = 10.0

    def duration(self, queued: QueuedPod) -> float:
        """Seconds to wait after the last failure: errors in a row count if there are any, else rejections."""
        count = queued.consecutive_errors or queued.unschedulable_count
        if count == 0:
            return 0.0
        # Compared by dividing the maximum: doubling the initial value could overflow in other languages, and the
        # boundary has to fall on the same attempt.
        shift = min(count - 1, 62)
        if self.initial_seconds > self.max_seconds / (1 << shift):
            return self.max_seconds
        return self.initial_seconds * (1 << shift)

    def expiration(self, queued: QueuedPod) -> float | None:
        """The whole second at which the wait ends; None when there is nothing to wait for."""
        duration = self.duration(queued)
        return float(math.floor(queued.timestamp + duration)) if duration else None

    def is_backing_off(self, queued: QueuedPod, now: float) -> bool:
        """Whether the wait still lasts; it does in the very second of its end."""
        expiration = self.expiration(queued)
        return expiration is not None and expiration >= math.floor(now)
