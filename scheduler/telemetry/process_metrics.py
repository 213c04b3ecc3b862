"""Gauges of the process: what is under way at the edge (nothing when nothing is to be done, or something leaks), threads, memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

# What a container sees of its own control group, version 2 and version 1.
LIMIT_FILES = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
NO_LIMIT = 1 << 62
"""Version 1 writes "no limit" as the largest multiple of a page in 63 bits."""
THREADS = Path("/proc/self/task")


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


class LimitsCollector(Collector):
    """Threads of the process, and how much memory its container may use, where there is a limit."""

    def __init__(self, *, limit_files: Iterable[Path] = LIMIT_FILES, threads: Path = THREADS) -> None:
        self._limit_files = tuple(limit_files)
        self._threads = threads

    def collect(self) -> Iterator[Metric]:
        if self._threads.is_dir():
            count = sum(1 for _ in self._threads.iterdir())
            yield GaugeMetricFamily("process_threads", "Threads, also those of libraries.", value=count)
        limit = next(filter(None, map(_limit, self._limit_files)), None)
        if limit is not None:
            yield GaugeMetricFamily(
                "scheduler_memory_limit_bytes",
                "Memory that the container may use before it is killed; absent without a limit.",
                value=limit,
            )


def _limit(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() and int(text) < NO_LIMIT else None
