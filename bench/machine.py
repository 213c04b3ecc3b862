"""What a run was measured on, in words that tell nothing about whose machine it was."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path

import msgspec


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Hardware and versions."""

    cpu: str
    cores: int
    memory_gib: float
    system: str
    python: str
    reprise: str
    kubernetes: str


def describe(kubernetes: str) -> Machine:
    """This machine, with the version of the API server given."""
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Machine(
        cpu=found[1].strip() if found else platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        memory_gib=round(memory / 2**30, 1),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        reprise=version("reprise-scheduler"),
        kubernetes=kubernetes,
    )
