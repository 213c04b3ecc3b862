"""How often and how soon a request to the API server is repeated."""

from __future__ import annotations

from collections.abc import Callable

# kube-scheduler 1.37: binding cycle, status patches: 4 attempts, 10 ms apart, then 50 and 250, each up to a tenth longer.
ATTEMPTS = 4
_FIRST_SECONDS = 0.01
_FACTOR = 5.0
_JITTER = 0.1
# A server that throttles says when to come back; it is believed this often.
THROTTLED_ATTEMPTS = 10
THROTTLED_SECONDS = 1.0
LONGEST_RETRY_AFTER_SECONDS = 60.0


class Retries:
    """What is left of one job's patience. Being throttled is counted apart from failing."""

    def __init__(self, chance: Callable[[], float], *, attempts: int = ATTEMPTS) -> None:
        self.failed = 0
        self._attempts = attempts
        self._throttled = 0
        self._chance = chance

    def after_failure(self) -> float | None:
        """Seconds to wait; None when the last attempt has failed."""
        self.failed += 1
        if self.failed >= self._attempts:
            return None
        return _FIRST_SECONDS * _FACTOR ** (self.failed - 1) * (1.0 + _JITTER * self._chance())

    def after_throttling(self, retry_after_seconds: float | None) -> float | None:
        """Seconds to wait, at least as many as the server asked for; None when it has been asked too often."""
        self._throttled += 1
        if self._throttled >= THROTTLED_ATTEMPTS:
            return None
        seconds = THROTTLED_SECONDS if retry_after_seconds is None else retry_after_seconds
        return min(seconds, LONGEST_RETRY_AFTER_SECONDS) * (1.0 + _JITTER * self._chance())
