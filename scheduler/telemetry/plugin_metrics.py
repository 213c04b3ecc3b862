"""Metrics of plugins, of the extension points that they run at, and of the events that wake pods (names: kube-scheduler 1.37)."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from scheduler.core.measurements import Histogram, Measurements
from scheduler.profile.failure import Stage
from scheduler.telemetry.histograms import add_histogram

_NAMES = {Stage.NORMALIZE: "ScoreExtensionNormalize"}
"""Of extension points that kube-scheduler's metrics call by another name than its errors."""


def plugin_metrics(measurements: Measurements) -> Iterator[Metric]:
    """What plugins did, and how long that took."""
    points = HistogramMetricFamily(
        "scheduler_framework_extension_point_duration_seconds",
        "Time of all plugins of an extension point; PreEnqueue to Score: for one of ten pods.",
        labels=["extension_point", "status", "profile"],
    )
    _add(
        points,
        {
            (_name(point), code.label, profile): one
            for (point, code, profile), one in measurements.point_seconds.items()
        },
    )
    yield points
    plugins = HistogramMetricFamily(
        "scheduler_plugin_execution_duration_seconds",
        "Time of a call of a plugin, for all nodes at once or those that changed, in one of ten cycles.",
        labels=["plugin", "extension_point", "status"],
    )
    _add(
        plugins,
        {(plugin, _name(point), code.label): one for (plugin, point, code), one in measurements.plugin_seconds.items()},
    )
    yield plugins
    evaluations = CounterMetricFamily(
        "scheduler_plugin_evaluation",
        "Nodes that a plugin looked at in Filter and Score; calls of PreFilter and PreScore.",
        labels=["plugin", "extension_point", "profile"],
    )
    rows = {(plugin, _name(point), profile): one for (plugin, point, profile), one in measurements.plugin_rows.items()}
    for labels, one in sorted(rows.items(), key=lambda item: item[0]):
        evaluations.add_metric(labels, one.count)
    yield evaluations
    events = HistogramMetricFamily(
        "scheduler_event_handling_duration_seconds",
        "From taking a change up to having woken the pods that its event may help.",
        labels=["event"],
    )
    _add(events, {(event.label,): one for event, one in measurements.event_seconds.items()})
    yield events


def _name(point: Stage) -> str:
    return _NAMES.get(point, point.value)


def _add(family: HistogramMetricFamily, histograms: dict[tuple[str, ...], Histogram]) -> None:
    for labels, histogram in sorted(histograms.items(), key=lambda item: item[0]):
        add_histogram(family, list(labels), histogram)
