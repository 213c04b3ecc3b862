"""What health checks said when they were asked (component-base 0.37: health SLIs)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector


class Health(Protocol):
    """See ``serving.health``."""

    @property
    def latest(self) -> Mapping[tuple[str, str], bool]: ...

    @property
    def answers(self) -> Counter[tuple[str, str, str]]: ...


class HealthCollector(Collector):
    """By check, and by the endpoint at which it was asked."""

    def __init__(self, health: Health) -> None:
        self._health = health

    def collect(self) -> Iterator[Metric]:
        latest = GaugeMetricFamily(
            "kubernetes_healthcheck", "Whether the check was well when it was last asked.", labels=["name", "type"]
        )
        for labels, is_well in sorted(dict(self._health.latest).items()):
            latest.add_metric(list(labels), float(is_well))
        yield latest
        answers = CounterMetricFamily(
            "kubernetes_healthchecks", "Answers of the check.", labels=["name", "type", "status"]
        )
        for key, count in sorted(dict(self._health.answers).items()):
            answers.add_metric(list(key), count)
        yield answers
