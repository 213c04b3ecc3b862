"""What the core counts: plain numbers that it owns, rendered by whoever is asked for metrics."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from itertools import accumulate
from operator import mul

from scheduler.framework.cluster_event import ClusterEvent
from scheduler.framework.status import Code
from scheduler.profile.failure import Stage
from scheduler.profile.observing import Rows

SECONDS_BOUNDS = tuple(0.001 * 2**power for power in range(15))
SLI_BOUNDS = tuple(0.01 * 2**power for power in range(20))
# Multiplied one by one, as kube-scheduler does: the last digits are part of the label.
HINT_BOUNDS = PLUGIN_BOUNDS = tuple(accumulate([0.00001] + [1.5] * 19, mul))
POINT_BOUNDS = EVENT_BOUNDS = tuple(0.0001 * 2**power for power in range(12))
PLUGIN_BOUNDS = HINT_BOUNDS
DECISION_BOUNDS = tuple(0.00001 * 2**power for power in range(16))
ATTEMPTS_BOUNDS = (1.0, 2.0, 4.0, 8.0, 16.0)
VICTIMS_BOUNDS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)

SCHEDULED = "scheduled"
UNSCHEDULABLE = "unschedulable"
ERROR = "error"
ASSUMED = "assumed"
SKIPPED = "skipped"
ASKING = "asking"
FITS = "fits"
REFUSED = "refused"
CHECKED = "checked"


def _stopped() -> float:
    return 0.0


class Histogram:
    """Counts by upper bound; the last bucket has none."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.buckets = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.buckets[bisect_left(self.bounds, value)] += 1
        self.sum += value


class Measurements:
    """Counters and histograms of scheduling attempts; metric names are in ``telemetry``."""

    def __init__(self) -> None:
        self.attempts: Counter[tuple[str, str]] = Counter()
        """By (result, schedulerName)."""
        self.attempt_seconds: dict[tuple[str, str], Histogram] = {}
        """By (result, schedulerName), from pop to the bind's answer or to the failed decision."""
        self.algorithm_seconds = Histogram(SECONDS_BOUNDS)
        """Calls of ``schedule_one`` that decided something."""
        self.decision_seconds: dict[tuple[str, str], Histogram] = {}
        """By (schedulerName, how the batch cache was used, or CHECKED), of those that came from somewhere."""
        self.sli_seconds: dict[str, Histogram] = {}
        """By number of attempts ("1" to "15+"), from first entry into the active queue to confirmed bind."""
        self.pod_attempts = Histogram(ATTEMPTS_BOUNDS)
        self.scheduled_after_flush = 0
        self.permit_wait_seconds: dict[str, Histogram] = {}
        """By status code, of pods that Permit told to wait."""
        self.bind_checks: Counter[str] = Counter()
        """Nodes that were touched between decision and bind and so were filtered again, by FITS or REFUSED."""
        self.preemption_attempts = 0
        """Runs of PostFilter plugins that look for victims."""
        self.preemption_victims = Histogram(VICTIMS_BOUNDS)
        """Pods that had to go for one that was nominated."""
        self.preemption_runs: Counter[str] = Counter()
        """Preemptions that ended, by ``success`` or ``error``."""
        self.kubelet_rejections: Counter[str] = Counter()
        """Pods that we have bound and that their kubelet refused, by reason."""
        self.bad_objects: Counter[str] = Counter()
        """Objects that could not be understood, by kind."""
        self.hints: Counter[tuple[str, str, str]] = Counter()
        """Plugins asked whether an event helps a pod, by (plugin, event, answer): "Queue", "QueueSkip" or "Error"."""
        self.hint_seconds: dict[tuple[str, str, str], Histogram] = {}
        """How long each of these took, by the same."""
        self.point_seconds: dict[tuple[Stage, Code, str], Histogram] = {}
        """How long extension points took, by (extension point, status, schedulerName)."""
        self.plugin_seconds: dict[tuple[str, Stage, Code], Histogram] = {}
        """How long plugins took in cycles that are timed, by (plugin, extension point, status)."""
        self.plugin_rows: dict[tuple[str, Stage, str], Rows] = {}
        """Rows that plugins looked at, by (plugin, extension point, schedulerName)."""
        self.event_seconds: dict[ClusterEvent, Histogram] = {}
        """From when a stimulus was taken up to when its event had woken whom it may help."""
        self.taken_up = 0.0
        """What the stopwatch showed when the present stimulus was."""
        self.stopwatch: Callable[[], float] = _stopped
        """Seconds since whenever, from whoever has a clock: nothing is decided by it."""
        self.plugin_failures: Counter[str] = Counter()
        """By plugin."""
        self.stage_errors: Counter[tuple[str, str]] = Counter()
        """Attempts that a plugin ended with an error, by (plugin, extension point)."""

    def attempt(self, result: str, scheduler_name: str, seconds: float) -> None:
        """An attempt that got as far as a bind has ended."""
        self.attempts[result, scheduler_name] += 1
        self._attempt_took(result, scheduler_name, seconds)

    def cycle_took(self, outcome: str, scheduler_name: str, seconds: float) -> None:
        """How long a call of ``schedule_one`` took that ended so; told by its caller, who has a clock."""
        if outcome == SKIPPED:
            return
        self.algorithm_seconds.observe(seconds)
        if outcome != ASSUMED:
            self._attempt_took(outcome, scheduler_name, seconds)

    def decision_took(self, scheduler_name: str, batch: str, seconds: float) -> None:
        """How long it took to find a node in this way, or to find that there is none."""
        key = (scheduler_name, batch)
        if key not in self.decision_seconds:
            self.decision_seconds[key] = Histogram(DECISION_BOUNDS)
        self.decision_seconds[key].observe(seconds)

    def hint_answered(self, plugin: str, event: str, answer: str, since: float) -> None:
        """A plugin was asked, when the stopwatch showed ``since``, whether an event helps."""
        key = (plugin, event, answer)
        self.hints[key] += 1
        if key not in self.hint_seconds:
            self.hint_seconds[key] = Histogram(HINT_BOUNDS)
        self.hint_seconds[key].observe(self.stopwatch() - since)

    def point_took(self, point: Stage, scheduler_name: str, code: Code, seconds: float) -> None:
        """An extension point has run, with all its plugins."""
        key = (point, code, scheduler_name)
        histogram = self.point_seconds.get(key)
        if histogram is None:
            histogram = self.point_seconds[key] = Histogram(POINT_BOUNDS)
        histogram.observe(seconds)

    def plugin_took(self, plugin: str, point: Stage, code: Code, seconds: float) -> None:
        """One plugin has run at an extension point."""
        key = (plugin, point, code)
        histogram = self.plugin_seconds.get(key)
        if histogram is None:
            histogram = self.plugin_seconds[key] = Histogram(PLUGIN_BOUNDS)
        histogram.observe(seconds)

    def event_handled(self, event: ClusterEvent) -> None:
        """An event of the present stimulus has woken whom it may help."""
        histogram = self.event_seconds.get(event)
        if histogram is None:
            histogram = self.event_seconds[event] = Histogram(EVENT_BOUNDS)
        histogram.observe(self.stopwatch() - self.taken_up)

    def _attempt_took(self, result: str, scheduler_name: str, seconds: float) -> None:
        key = (result, scheduler_name)
        if key not in self.attempt_seconds:
            self.attempt_seconds[key] = Histogram(SECONDS_BOUNDS)
        self.attempt_seconds[key].observe(seconds)

    def permit_waited(self, result: str, seconds: float) -> None:
        """A pod has been let go or rejected after it waited on Permit."""
        if result not in self.permit_wait_seconds:
            self.permit_wait_seconds[result] = Histogram(SECONDS_BOUNDS)
        self.permit_wait_seconds[result].observe(seconds)

    def scheduled(self, attempts: int, since_first_entry: float, after_flush: bool) -> None:
        label = str(attempts) if attempts < 15 else "15+"
        self.sli_seconds.setdefault(label, Histogram(SLI_BOUNDS)).observe(since_first_entry)
        self.pod_attempts.observe(float(attempts))
        self.scheduled_after_flush += after_flush
