"""What a clock that is set back does to those who wait: nothing.

Deadlines are kept as times of the wall clock, which somebody may set. Set back by an hour it would have everybody wait for an hour
more; so all that began, and all that is to end, is moved back with it. A clock that is set forwards ends waits early, which
costs an attempt and no more. (kube-scheduler 1.37 measures most of its waits on a monotonic clock.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scheduler.core.state import State  # which has a Ticks

LEAST_SECONDS = 2.0
"""Less is what clocks are corrected by all the time, and what stimuli may overtake each other by."""


class Ticks:
    """When the last Tick was; before there was one, when the first stimulus came."""

    def __init__(self) -> None:
        self._last: float | None = None

    def begin(self, now: float) -> None:
        """A stimulus came: what begins before the first Tick is on the clock as it is now."""
        if self._last is None:
            self._last = now

    def set_back_seconds(self, now: float) -> float:
        """By how much the clock was set back since the last Tick, or the first stimulus; 0.0 if it was not."""
        last, self._last = self._last, now
        seconds = 0.0 if last is None else last - now
        return seconds if seconds >= LEAST_SECONDS else 0.0


def set_back(state: State, seconds: float) -> None:
    """The clock was set back by so many seconds. Deadlines that PreBind plugins gave stay: they note them on their own."""
    state.queue.set_back(seconds)
    for binding in state.bindings.values():
        binding.started -= seconds
        binding.queued.set_back(seconds)
    for cycle in state.binding_cycles.before_bind.values():
        if cycle.wait is not None:
            cycle.wait.since -= seconds
    if state.extending is not None:
        state.extending.queued.set_back(seconds)
    state.kubelet_rejections.cooling.set_back(seconds)
