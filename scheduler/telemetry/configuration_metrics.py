"""What became of configurations that were loaded while the scheduler runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

APPLIED = "applied"
REJECTED = "rejected"


class ConfigurationCollector(Collector):
    """Loads by result and reason, and which configuration is in force.

    Args:
        counts: loads so far by (APPLIED or REJECTED, reason).
        reasons: those that are shown from the start, at 0.
        active: number and hash of the configuration in force.
        is_well: whether the last one that was found is in force.
    """

    def __init__(
        self,
        counts: Counter[tuple[str, str]],
        reasons: tuple[str, ...],
        active: Callable[[], tuple[int, str]],
        is_well: Callable[[], bool],
    ) -> None:
        self._counts = counts
        self._reasons = reasons
        self._active = active
        self._is_well = is_well

    def collect(self) -> Iterator[Metric]:
        loads = CounterMetricFamily(
            "scheduler_configuration_reloads",
            "Configurations that were found while the scheduler runs, by what became of them.",
            labels=["result", "reason"],
        )
        for result, reason in sorted({(APPLIED, ""), *((REJECTED, one) for one in self._reasons), *self._counts}):
            loads.add_metric([result, reason], self._counts[result, reason])
        yield loads
        number, digest = self._active()
        generation = GaugeMetricFamily(
            "scheduler_configuration_generation",
            "How often a configuration has been put in force, the first one included; the hash is equal for equal ones.",
            labels=["hash"],
        )
        generation.add_metric([digest], number)
        yield generation
        yield GaugeMetricFamily(
            "scheduler_configuration_last_reload_successful",
            "1 while the configuration that was found last is the one in force.",
            value=float(self._is_well()),
        )
