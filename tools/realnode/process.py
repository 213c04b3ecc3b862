"""The one process that is the node, told from any other that may have got its pid since."""

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tools.realnode.settings import Settings

END_SECONDS = 20.0


@dataclass(frozen=True)
class NodeProcess:
    """The first process of the node's namespaces, as the machine sees it."""

    pid: int
    started: str  # clock ticks since the machine booted

    @classmethod
    def of(cls, pid: int) -> Self:
        """The process that has this pid now.

        Raises:
            ProcessLookupError: there is none.
        """
        started = _started(pid)
        if started is None:
            raise ProcessLookupError(f"there is no process {pid}")
        return cls(pid, started)

    @classmethod
    def recorded(cls, settings: Settings) -> Self | None:
        """The one that the node's folder names, whether it still runs or not."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            pid, started = settings.pid_file.read_text().split()
            return cls(int(pid), started)
        return None

    def record(self, settings: Settings) -> None:
        """Write it down in the node's folder."""
        settings.pid_file.write_text(f"{self.pid} {self.started}\n")

    def runs(self) -> bool:
        """Whether it is still there and not another one under its pid."""
        return _started(self.pid) == self.started

    def end(self) -> None:
        """Kill it, and with it every process of its namespaces.

        Raises:
            TimeoutError: it was still there after a while.
        """
        deadline = time.monotonic() + END_SECONDS
        if self.runs():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        while self.runs():
            if time.monotonic() > deadline:
                raise TimeoutError(f"process {self.pid} of the node did not end within {END_SECONDS:.0f} s")
            time.sleep(0.05)


def child_of(pid: int) -> int | None:
    """The only child of a process."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(children[0]) if children else None


def _started(pid: int) -> str | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] == "Z" else fields[19]
