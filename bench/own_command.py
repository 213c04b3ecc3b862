"""Benchmarks of Reprise's own command line, each run in a process of its own: what they print, and how busy the machine was."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from bench.process_meter import machine_time

BUSY_CORES = 0.2
"""With more than so much work for others, what was measured says little."""

Line = TypeVar("Line")


class CommandError(Exception):
    """A command failed, or printed something else."""


def lines_of(arguments: Sequence[str], line: type[Line], *, command: Sequence[str] = ()) -> tuple[list[Line], float]:
    """What ``reprise ARGUMENTS --output=json`` prints, and the number of cores that worked for others meanwhile.

    Args:
        line: what each line is.
        command: the words before the arguments, in place of those that start Reprise.

    Raises:
        CommandError: the command failed, or printed something else.
    """
    words = command or (sys.executable, "-m", "scheduler.app.cli")
    arguments = [*arguments, "--output=json"]
    before, began, own = machine_time(), time.monotonic(), _own_seconds()
    done = subprocess.run([*words, *arguments], check=False, capture_output=True)  # noqa: S603 - a command of ours
    after, ended, own = machine_time(), time.monotonic(), _own_seconds() - own
    if done.returncode != 0:
        raise CommandError(f"reprise {' '.join(arguments)} ended with code {done.returncode}\n{done.stderr.decode()}")
    try:
        found = [msgspec.json.decode(one, type=line) for one in done.stdout.splitlines()]
    except msgspec.DecodeError as error:
        raise CommandError(f"reprise {' '.join(arguments)} printed something else: {error}") from error
    others = after.busy - before.busy + after.stolen - before.stolen - own
    return found, round(max(0.0, others) / (ended - began), 3)


def _own_seconds() -> float:
    """CPU time of this process and of the ended ones that it started."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def say_if_busy(others_cores: float) -> None:
    if others_cores > BUSY_CORES:
        say(
            f"the machine worked for others meanwhile ({others_cores:.2f} cores at worst): "
            "take these figures as provisional"
        )
