"""Gauges of how old what is known may be."""

from scheduler.telemetry.freshness_metrics import FreshnessCollector
from scheduler.telemetry.metrics import registry, render


def test_silence_and_what_waits_are_read_at_scrape_time() -> None:
    silences = {"pods": 1.0, "nodes": 2.0}
    made = registry(FreshnessCollector(silences=lambda: silences, lag_seconds=lambda: 0.25, waiting=lambda: 7))
    silences["nodes"] = 91.5

    lines = render(made).decode().splitlines()

    assert [line for line in lines if line.startswith("scheduler_")] == [
        'scheduler_watch_silence_seconds{resource="pods"} 1.0',
        'scheduler_watch_silence_seconds{resource="nodes"} 91.5',
        "scheduler_inbox_lag_seconds 0.25",
        "scheduler_inbox_length 7.0",
    ]
