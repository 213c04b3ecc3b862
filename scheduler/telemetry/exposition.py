"""Metrics as text: numbers are taken where they live, and written down elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from scheduler.telemetry.catalogue import stability_of

__all__ = ["CONTENT_TYPE", "Collector", "CollectorRegistry", "Metric", "joined", "take"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class _Taken(Collector):
    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families


def take(collector: Collector) -> Callable[[], tuple[bytes, str]]:
    """Take the numbers now, for which their owner must not be at work. What is returned gives text and content type, on any thread."""
    families = list(collector.collect())

    def write() -> tuple[bytes, str]:
        for family in families:
            stability = stability_of(family.name)
            if stability and not family.documentation.startswith("["):
                family.documentation = f"[{stability}] {family.documentation}"
        return generate_latest(_Taken(families)), CONTENT_TYPE

    return write


def joined(*writes: Callable[[], tuple[bytes, str]]) -> Callable[[], tuple[bytes, str]]:
    """One text of several, which have no metric in common."""
    return lambda: (b"".join(write()[0] for write in writes), CONTENT_TYPE)
