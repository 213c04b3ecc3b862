"""Gauges of what is under way at the edge: it is nothing when nothing is to be done, or something leaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector


class UnderWayCollector(Collector):
    """Tasks of the event loop, and requests that wait or are under way, by lane."""

    def __init__(self, *, tasks: Callable[[], int], jobs: Callable[[], Mapping[str, int]]) -> None:
        self._tasks = tasks
        self._jobs = jobs

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "scheduler_event_loop_tasks",
            "Tasks of the event loop, that of this very scrape among them.",
            value=self._tasks(),
        )
        jobs = GaugeMetricFamily(
            "scheduler_pending_api_writes", "Writes to the API server that wait or are under way.", labels=["lane"]
        )
        for lane, count in self._jobs().items():
            jobs.add_metric([lane], count)
        yield jobs
