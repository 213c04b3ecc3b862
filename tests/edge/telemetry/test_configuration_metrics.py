"""Configurations that were found while the scheduler runs, in the exposition format."""

from __future__ import annotations

from collections import Counter

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from scheduler.telemetry.configuration_metrics import ConfigurationCollector


def samples(counts: Counter[tuple[str, str]], *, is_well: bool = True) -> dict[str, float]:
    registry = CollectorRegistry()
    registry.register(ConfigurationCollector(counts, ("Invalid", "InUse"), lambda: (3, "abc"), lambda: is_well))
    lines = generate_latest(registry).decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def test_every_reason_is_there_from_the_start() -> None:
    assert samples(Counter()) == {
        'scheduler_configuration_reloads_total{reason="",result="applied"}': 0.0,
        'scheduler_configuration_reloads_total{reason="Invalid",result="rejected"}': 0.0,
        'scheduler_configuration_reloads_total{reason="InUse",result="rejected"}': 0.0,
        'scheduler_configuration_generation{hash="abc"}': 3.0,
        "scheduler_configuration_last_reload_successful": 1.0,
    }


def test_what_was_counted_is_shown() -> None:
    found = samples(Counter({("rejected", "InUse"): 2, ("applied", ""): 4}), is_well=False)
    assert found['scheduler_configuration_reloads_total{reason="InUse",result="rejected"}'] == 2.0
    assert found['scheduler_configuration_reloads_total{reason="",result="applied"}'] == 4.0
    assert found["scheduler_configuration_last_reload_successful"] == 0.0
