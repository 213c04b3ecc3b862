"""CPU time and memory of a process, read as Linux writes them."""

import os
import time
from pathlib import Path

import pytest

from bench.process_meter import cpu_seconds, machine_time, resident_bytes

TICKS = os.sysconf("SC_CLK_TCK")
# Fields 3 to 24 of proc_pid_stat(5): utime is 14, stime 15, rss 24.
STAT = "7 (a (b) c) S 1 1 1 0 -1 0 0 0 0 0 250 50 999 999 20 0 9 0 100 123456 25 0 0\n"


def proc_with(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return folder


def test_cpu_time_is_user_and_system_time_of_the_process_without_its_children(tmp_path: Path) -> None:
    assert cpu_seconds(7, proc=proc_with(tmp_path, "7/stat", STAT)) == pytest.approx(300 / TICKS)


def test_memory_is_counted_in_pages(tmp_path: Path) -> None:
    assert resident_bytes(7, proc=proc_with(tmp_path, "7/stat", STAT)) == 25 * os.sysconf("SC_PAGE_SIZE")


def test_a_machine_is_busy_with_all_but_idling_and_waiting(tmp_path: Path) -> None:
    # user nice system idle iowait irq softirq steal guest guest_nice
    found = machine_time(proc=proc_with(tmp_path, "stat", "cpu  100 20 30 5000 600 4 5 70 8 9\ncpu0 1 1\n"))

    assert found.busy == pytest.approx(159 / TICKS)
    assert found.stolen == pytest.approx(70 / TICKS)


def test_a_real_process_is_read_as_it_counts_itself() -> None:
    before = time.process_time()
    counted = cpu_seconds(os.getpid())
    after = time.process_time()

    assert before - 2 / TICKS <= counted <= after + 2 / TICKS
    assert resident_bytes(os.getpid()) > 1_000_000


def test_a_process_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        cpu_seconds(7, proc=tmp_path)
