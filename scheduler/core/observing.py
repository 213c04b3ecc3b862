"""What the core observes of plugins: rows always, durations in cycles that are timed (kube-scheduler 1.37: metrics)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from scheduler.core.measurements import Measurements
from scheduler.framework.status import Code
from scheduler.profile.failure import Stage
from scheduler.profile.observing import CallT, Observer, Rows, code_of

EVERY = 10
"""One of so many cycles is timed, as with kube-scheduler, which draws lots where we count."""


class ProfileObserver(Observer):
    """Writes down what the plugins of one profile do; how long they take only within ``timing``."""

    def __init__(self, measurements: Measurements, scheduler_name: str) -> None:
        self._measurements = measurements
        self._scheduler_name = scheduler_name
        self.is_timing = False

    @contextmanager
    def timing(self) -> Iterator[None]:
        """Time what runs within; evaluations that were made before have to ``observe`` at either end."""
        self.is_timing = True
        try:
            yield
        finally:
            self.is_timing = False

    def rows_of(self, plugin: str, stage: Stage) -> Rows:
        return self._measurements.plugin_rows.setdefault((plugin, stage, self._scheduler_name), Rows())

    def plugin(self, plugin: str, stage: Stage, call: CallT) -> CallT:
        return self.timed(plugin, stage, call) if self.is_timing else call

    def point(self, stage: Stage, call: CallT) -> CallT:
        return self.timed_point(stage, call) if self.is_timing else call

    def timed(self, plugin: str, stage: Stage, call: CallT) -> CallT:
        """The method of a plugin, and how long it takes is written down."""
        measurements = self._measurements
        return _timed(measurements, call, partial(measurements.plugin_took, plugin, stage))

    def timed_point(self, stage: Stage, call: CallT) -> CallT:
        """All of an extension point, and how long it takes is written down."""
        measurements = self._measurements
        return _timed(measurements, call, partial(measurements.point_took, stage, self._scheduler_name))


class Observers(dict[str, ProfileObserver]):
    """By schedulerName; made when first asked for."""

    def __init__(self, measurements: Measurements) -> None:
        super().__init__()
        self._measurements = measurements

    def __missing__(self, scheduler_name: str) -> ProfileObserver:
        made = self[scheduler_name] = ProfileObserver(self._measurements, scheduler_name)
        return made


def _timed(measurements: Measurements, call: CallT, took: Callable[[Code, float], object]) -> CallT:
    def timed(*args: Any) -> Any:
        began = measurements.stopwatch()
        code = Code.ERROR
        try:
            answer = call(*args)
            code = code_of(answer)
            return answer
        finally:
            took(code, measurements.stopwatch() - began)

    return timed  # type: ignore[return-value]
