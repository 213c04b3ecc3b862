"""A program that runs beside the tests: started, watched, ended by its own id, its log at hand."""

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

GUARD = Path(__file__).with_name("guard.py")


class DaemonError(Exception):
    """A program did not start, ended too early, or was not ready in time; the message ends with its last log lines."""


class Daemon:
    """One running program, guarded: it ends with this process, however this process ends."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        folder: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start `command`, an absolute program and its arguments, with its output in `folder/name.log`.

        `folder` is removed when this process dies without a `stop`.

        Raises:
            DaemonError: the guard could not start it.
        """
        self.name = name
        self.log = folder / f"{name}.log"
        self.exit_code: int | None = None
        arguments = [sys.executable, "-I", "-S", str(GUARD), str(self.log), str(folder), *map(str, command)]
        self._guard = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=None if environment is None else dict(environment),
            start_new_session=True,  # Ctrl-C at the terminal is for the tests; they end their programs in order
            bufsize=0,
        )
        assert self._guard.stdout is not None
        words = self._guard.stdout.readline().split()
        if len(words) != 2 or words[0] != b"pid":
            self._collect()
            raise DaemonError(f"{name}: the guard ended before it started the program")
        self.pid = int(words[1])

    @property
    def running(self) -> bool:
        """Whether the program has not ended."""
        if self.exit_code is None and self._guard.poll() is not None:
            self._collect()
        return self.exit_code is None

    def stop(self) -> None:
        """Ask the program to end, kill it after ten seconds, and wait until it is gone."""
        self._order(b"T")

    def kill(self) -> None:
        """Kill the program as a crash would, and wait until it is gone."""
        self._order(b"K")

    def tail(self, lines: int = 40) -> str:
        """The last lines of its log, under a heading."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join([f"--- {self.name}, last lines of its log:", *text.splitlines()[-lines:]])

    def wait_ready(self, check: Callable[[], bool], *, seconds: float) -> float:
        """Ask `check` until it says yes; returns the seconds that took.

        Raises:
            DaemonError: the program ended, or time ran out.
        """
        began = time.monotonic()
        pause = threading.Event()  # never set: a poll needs an interval
        while not check():
            if not self.running:
                raise DaemonError(f"{self.name} ended with code {self.exit_code} before it was ready\n{self.tail()}")
            if time.monotonic() - began > seconds:
                raise DaemonError(f"{self.name} was not ready after {seconds:g} s\n{self.tail()}")
            pause.wait(0.02)
        return time.monotonic() - began

    def _order(self, letter: bytes) -> None:
        if self.exit_code is not None:
            return
        assert self._guard.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it may have ended by itself
            self._guard.stdin.write(letter)
        self._collect()

    def _collect(self) -> None:
        """Wait for the guard, which ends when the program has, and read the program's exit code."""
        assert self._guard.stdin is not None
        assert self._guard.stdout is not None
        words = self._guard.stdout.read().split()
        self._guard.wait()
        self._guard.stdin.close()
        self._guard.stdout.close()
        self.exit_code = int(words[1]) if len(words) == 2 else self._guard.returncode

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
