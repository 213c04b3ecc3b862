"""A scheduler that runs has a clock to time hints by; one that is only asked or replayed has none."""

from __future__ import annotations

from scheduler.app.runtime import Runtime
from scheduler.config.configuration import from_object
from scheduler.core.measurements import Measurements
from tests.edge.kube.scripted import ScriptedTransport
from tests.support.scheduler_configurations import HEADER


def test_a_running_scheduler_times_what_plugins_answer() -> None:
    runtime = Runtime(from_object(HEADER), ScriptedTransport(), hostname="host", seed=1)
    measurements = runtime.state.measurements
    measurements.hint_answered("Fit", "NodeAdd", "Queue", since=measurements.stopwatch())

    assert measurements.hint_seconds["Fit", "NodeAdd", "Queue"].sum > 0


def test_without_a_clock_a_hint_takes_no_time() -> None:
    measurements = Measurements()
    measurements.hint_answered("Fit", "NodeAdd", "Queue", since=measurements.stopwatch())

    assert measurements.hint_seconds["Fit", "NodeAdd", "Queue"].sum == 0
