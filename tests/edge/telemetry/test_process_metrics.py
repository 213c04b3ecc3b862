"""Gauges of what is under way at the edge, of threads and of memory."""

from pathlib import Path

import pytest

from scheduler.telemetry.metrics import registry, render
from scheduler.telemetry.process_metrics import LimitsCollector, UnderWayCollector


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


def of_limits(folder: Path, **files: str) -> list[str]:
    """What is shown where the control group has these files, and the process two threads."""
    for name in ("1", "2"):
        (folder / "task" / name).mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    made = registry(LimitsCollector(limit_files=[folder / "v2", folder / "v1"], threads=folder / "task"))
    shown = ("process_threads", "scheduler_memory")
    return [line for line in render(made).decode().splitlines() if line.startswith(shown)]


@pytest.mark.parametrize("version", ["v2", "v1"])
def test_the_memory_limit_of_the_container_shows_whatever_the_version_of_control_groups(
    tmp_path: Path, version: str
) -> None:
    shown = of_limits(tmp_path, **{version: "268435456\n"})

    assert shown == ["process_threads 2.0", "scheduler_memory_limit_bytes 2.68435456e+08"]


@pytest.mark.parametrize("files", [{}, {"v2": "max\n"}, {"v1": "9223372036854771712\n"}])
def test_without_a_memory_limit_none_is_shown(tmp_path: Path, files: dict[str, str]) -> None:
    assert of_limits(tmp_path, **files) == ["process_threads 2.0"]
