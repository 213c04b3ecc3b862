"""Gauges of what is under way at the edge."""

from scheduler.telemetry.metrics import registry, render
from scheduler.telemetry.process_metrics import UnderWayCollector


def test_tasks_and_writes_are_read_at_scrape_time() -> None:
    jobs = {"binds": 0, "events": 0}
    made = registry(UnderWayCollector(tasks=lambda: 12, jobs=lambda: jobs))
    jobs["binds"] = 3

    lines = render(made).decode().splitlines()

    assert [line for line in lines if line.startswith("scheduler_")] == [
        "scheduler_event_loop_tasks 12.0",
        'scheduler_pending_api_writes{lane="binds"} 3.0',
        'scheduler_pending_api_writes{lane="events"} 0.0',
    ]
