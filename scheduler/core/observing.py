"""What the core observes of plugins: rows always, durations in cycles that are timed (kube-scheduler 1.37: metrics)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import ParamSpec, TypeVar

from scheduler.core.measurements import Measurements
from scheduler.framework.status import Code
from scheduler.profile.failure import Stage
from scheduler.profile.observing import UNTIMED, Observer, Rows, Run, code_of

EVERY = 10
"""One of so many cycles is timed, as with kube-scheduler, which draws lots where we count."""

ParametersT = ParamSpec("ParametersT")
AnswerT = TypeVar("AnswerT")


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

    def plugin(self, plugin: str, stage: Stage) -> Run:
        return self.timed(plugin, stage) if self.is_timing else UNTIMED

    def timed(self, plugin: str, stage: Stage) -> Run:
        """Time a plugin."""
        return partial(_timed, self._measurements, partial(self._measurements.plugin_took, plugin, stage))

    def point(self, stage: Stage) -> Run:
        return self.every_time(stage) if self.is_timing else UNTIMED

    def every_time(self, stage: Stage) -> Run:
        """Time an extension point."""
        return partial(_timed, self._measurements, partial(self._point_took, stage))

    def _point_took(self, stage: Stage, code: Code, seconds: float) -> None:
        self._measurements.point_took(stage, code, self._scheduler_name, seconds)


class Observers(dict[str, ProfileObserver]):
    """By schedulerName; made when first asked for."""

    def __init__(self, measurements: Measurements) -> None:
        super().__init__()
        self._measurements = measurements

    def __missing__(self, scheduler_name: str) -> ProfileObserver:
        made = self[scheduler_name] = ProfileObserver(self._measurements, scheduler_name)
        return made


def _timed(
    measurements: Measurements,
    took: Callable[[Code, float], object],
    call: Callable[ParametersT, AnswerT],
    *args: ParametersT.args,
    **kwargs: ParametersT.kwargs,
) -> AnswerT:
    began = measurements.stopwatch()
    code = Code.ERROR
    try:
        answer = call(*args, **kwargs)
        code = code_of(answer)
        return answer
    finally:
        took(code, measurements.stopwatch() - began)
