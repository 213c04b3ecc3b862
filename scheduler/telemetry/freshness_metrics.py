"""Gauges of how old what the scheduler knows may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector


class FreshnessCollector(Collector):
    """How long the API server has been silent, by resource, and what waits to be taken note of.

    Args:
        silences: seconds by resource.
        lag_seconds: the age of the oldest change that waits.
        waiting: how many changes wait.
    """

    def __init__(
        self,
        *,
        silences: Callable[[], Mapping[str, float]],
        lag_seconds: Callable[[], float],
        waiting: Callable[[], int],
    ) -> None:
        self._silences = silences
        self._lag_seconds = lag_seconds
        self._waiting = waiting

    def collect(self) -> Iterator[Metric]:
        silence = GaugeMetricFamily(
            "scheduler_watch_silence_seconds",
            "Since the API server last said anything of a resource: an object, a bookmark, an answer when asked after silence.",
            labels=["resource"],
        )
        for resource, seconds in self._silences().items():
            silence.add_metric([resource], seconds)
        yield silence
        yield GaugeMetricFamily(
            "scheduler_inbox_lag_seconds",
            "Age of the oldest change that has been received and not yet taken note of.",
            value=self._lag_seconds(),
        )
        yield GaugeMetricFamily(
            "scheduler_inbox_length",
            "Changes that have been received and not yet taken note of.",
            value=self._waiting(),
        )
