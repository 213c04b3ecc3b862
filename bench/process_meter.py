"""What a process, and the machine, have used: CPU time and memory as Linux counts them in /proc."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_TICK_SECONDS = 1.0 / os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int, *, proc: Path = PROC) -> float:
    """User and system time of a process and all its threads, ended ones included; Linux counts in hundredths of a second.

    Raises:
        FileNotFoundError: there is no such process.
    """
    fields = _fields(pid, proc)
    return (int(fields[11]) + int(fields[12])) * _TICK_SECONDS


def resident_bytes(pid: int, *, proc: Path = PROC) -> int:
    """Memory of a process that is in RAM now.

    Raises:
        FileNotFoundError: there is no such process.
    """
    return int(_fields(pid, proc)[21]) * _PAGE_BYTES


def _fields(pid: int, proc: Path) -> list[str]:
    """The fields of /proc/PID/stat after the program's name, which may hold spaces and parentheses: the first is field 3."""
    return (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()


@dataclass(frozen=True)
class MachineTime:
    """CPU seconds of all cores since the machine started: worked for somebody, and taken away by the hypervisor."""

    busy: float
    stolen: float


def machine_time(*, proc: Path = PROC) -> MachineTime:
    """As /proc/stat has it."""
    first = (proc / "stat").read_text().partition("\n")[0].split()
    user, nice, system, _idle, _waiting, irq, soft_irq, steal = (int(word) * _TICK_SECONDS for word in first[1:9])
    return MachineTime(busy=user + nice + system + irq + soft_irq, stolen=steal)
