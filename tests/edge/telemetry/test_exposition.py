"""Numbers are taken at once and written down later, each with a word on how stable its name is."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from scheduler.serving.health import HealthCounts
from scheduler.telemetry.exposition import joined, take
from scheduler.telemetry.health_metrics import HealthCollector


class Numbers(Collector):
    def __init__(self, **values: float) -> None:
        self.values = values

    def collect(self) -> Iterator[Metric]:
        for name, value in self.values.items():
            yield GaugeMetricFamily(name, "Some number.", value=value)


def test_what_is_written_is_what_was_taken() -> None:
    numbers = Numbers(scheduler_pending_pods=1)
    write = take(numbers)
    numbers.values["scheduler_pending_pods"] = 2

    assert write()[0].decode().splitlines()[-1] == "scheduler_pending_pods 1.0"
    assert write() == write()


def test_help_says_how_stable_a_metric_is() -> None:
    numbers = Numbers(
        scheduler_pending_pods=1, scheduler_unschedulable_pods=1, scheduler_batch_enabled=1, process_threads=1
    )
    text = take(numbers)()[0].decode()

    assert [line for line in text.splitlines() if line.startswith("# HELP")] == [
        "# HELP scheduler_pending_pods [STABLE] Some number.",
        "# HELP scheduler_unschedulable_pods [BETA] Some number.",
        "# HELP scheduler_batch_enabled [ALPHA] Some number.",
        "# HELP process_threads Some number.",
    ]


def test_a_counter_is_looked_up_without_its_suffix() -> None:
    class Counted(Collector):
        def collect(self) -> Iterator[Metric]:
            yield CounterMetricFamily("scheduler_preemption_attempts", "Attempts.", value=1)

    assert take(Counted())()[0].startswith(b"# HELP scheduler_preemption_attempts_total [STABLE] Attempts.\n")


def test_texts_are_put_one_behind_the_other() -> None:
    text = joined(take(Numbers(process_a=1)), take(Numbers(process_b=2)))()[0].decode()

    assert [line for line in text.splitlines() if not line.startswith("#")] == ["process_a 1.0", "process_b 2.0"]


def test_health_is_the_last_word_of_each_check_and_how_often_it_said_what() -> None:
    counts = HealthCounts()
    counts.seen("ping", "livez", is_well=True)
    counts.seen("sched-handler-sync", "readyz", is_well=True)
    counts.seen("sched-handler-sync", "readyz", is_well=False)
    text = take(HealthCollector(counts))()[0].decode().splitlines()

    assert [line for line in text if not line.startswith("#")] == [
        'kubernetes_healthcheck{name="ping",type="livez"} 1.0',
        'kubernetes_healthcheck{name="sched-handler-sync",type="readyz"} 0.0',
        'kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 1.0',
        'kubernetes_healthchecks_total{name="sched-handler-sync",status="error",type="readyz"} 1.0',
        'kubernetes_healthchecks_total{name="sched-handler-sync",status="success",type="readyz"} 1.0',
    ]
