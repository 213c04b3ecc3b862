"""The cgroups below which the node's pods run: one of the node's name in every hierarchy of version 1."""

import contextlib
import os
from pathlib import Path

from tools.realnode.settings import Settings

ROOT = Path("/sys/fs/cgroup")
NEEDED = ("cpu", "cpuacct", "cpuset", "devices", "memory", "pids")


def missing_hierarchies() -> list[str]:
    """What this machine lacks of cgroup version 1, as kubelet needs it."""
    return [name for name in NEEDED if not (ROOT / name / "cgroup.procs").exists()]


def make_cgroups(settings: Settings) -> None:
    """Make the node's cgroup everywhere."""
    for hierarchy in _hierarchies():
        (hierarchy / settings.name).mkdir(exist_ok=True)
    # A cpuset takes no process before it has processors and memory.
    for name in ("cpuset.cpus", "cpuset.mems"):
        (ROOT / "cpuset" / settings.name / name).write_text((ROOT / "cpuset" / name).read_text())


def remove_cgroups(settings: Settings) -> list[Path]:
    """Remove the node's cgroups and all below them; returns those that stayed because a process is still in them."""
    left = []
    for hierarchy in _hierarchies():
        for folder, _, _ in os.walk(hierarchy / settings.name, topdown=False):
            with contextlib.suppress(FileNotFoundError):
                try:
                    Path(folder).rmdir()
                except OSError:
                    left.append(Path(folder))
    return left


def _hierarchies() -> list[Path]:
    return sorted(path for path in ROOT.iterdir() if (path / "cgroup.procs").exists() and not path.is_symlink())
