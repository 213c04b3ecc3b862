"""``python -m bench decide``: ``reprise bench decide`` at several numbers of nodes, in rounds, each time in a new process."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench import machine
from bench.decisions import DECIDE_HEADINGS, CaseFigures, DecideRound, Decisions, decide_rows
from bench.process_meter import machine_time
from bench.table import plain

FILE = "decide.json"
EXIT_FAILURE = 1
BUSY_CORES = 0.2
"""With more than so much work for others, what was measured says little."""

_CASES = msgspec.json.Decoder(CaseFigures)


class DecideError(Exception):
    """``reprise bench decide`` failed."""


def run(options: argparse.Namespace) -> int:
    """Print the medians, and write all figures where they are wanted."""
    rounds: list[DecideRound] = []
    try:
        for number in range(1, options.rounds + 1):
            # Each round begins with another one, so that whatever changes with time changes for all.
            first = (number - 1) % len(options.nodes)
            for nodes in options.nodes[first:] + options.nodes[:first]:
                rounds.append(measure(number, nodes, options.pods))
                _say(f"round {number} of {options.rounds}: {nodes} nodes")
    except DecideError as error:
        _say(f"bench: {error}")
        return EXIT_FAILURE
    result = Decisions(
        pods=options.pods,
        command=_command(options),
        recorded_on=datetime.now(UTC).date().isoformat(),
        machine=machine.describe(""),
        rounds=rounds,
    )
    if options.results is not None:
        _say(f"written: {write(result, options.results)}")
    print(plain(DECIDE_HEADINGS, decide_rows(result)))
    if result.others_cores > BUSY_CORES:
        _say(
            f"the machine worked for others meanwhile ({result.others_cores:.2f} cores at worst): "
            "take these figures as provisional"
        )
    return 0


def measure(number: int, nodes: int, pods: int, *, command: tuple[str, ...] = ()) -> DecideRound:
    """All cases at one number of nodes.

    Raises:
        DecideError: the command failed, or printed something else.
    """
    words = command or (sys.executable, "-m", "scheduler.app.cli")
    arguments = ["bench", "decide", f"--nodes={nodes}", f"--pods={pods}", "--output=json"]
    before, began, own = machine_time(), time.monotonic(), _own_seconds()
    done = subprocess.run([*words, *arguments], check=False, capture_output=True)  # noqa: S603 - a command of ours
    after, ended, own = machine_time(), time.monotonic(), _own_seconds() - own
    if done.returncode != 0:
        raise DecideError(f"reprise {' '.join(arguments)} ended with code {done.returncode}\n{done.stderr.decode()}")
    try:
        cases = [_CASES.decode(line) for line in done.stdout.splitlines()]
    except msgspec.DecodeError as error:
        raise DecideError(f"reprise {' '.join(arguments)} printed something else: {error}") from error
    others = after.busy - before.busy + after.stolen - before.stolen - own
    return DecideRound(number=number, cases=cases, others_cores=round(max(0.0, others) / (ended - began), 3))


def write(result: Decisions, folder: Path) -> Path:
    """Write a result to its file, in place of an older one."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / FILE
    file.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
    return file


def _own_seconds() -> float:
    """CPU time of this process and of the ended ones that it started."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _command(options: argparse.Namespace) -> str:
    nodes = ",".join(map(str, options.nodes))
    return f"python -m bench decide --nodes {nodes} --pods {options.pods} --rounds {options.rounds}"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
