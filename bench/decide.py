"""``python -m bench decide``: ``reprise bench decide`` at several numbers of nodes, in rounds, each time in a new process."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench import machine
from bench.decisions import DECIDE_HEADINGS, CaseFigures, DecideRound, Decisions, decide_rows
from bench.own_command import CommandError, lines_of, say, say_if_busy
from bench.table import plain

FILE = "decide.json"
EXIT_FAILURE = 1


def run(options: argparse.Namespace) -> int:
    """Print the medians, and write all figures where they are wanted."""
    rounds: list[DecideRound] = []
    try:
        for number in range(1, options.rounds + 1):
            # Each round begins with another one, so that whatever changes with time changes for all.
            first = (number - 1) % len(options.nodes)
            for nodes in options.nodes[first:] + options.nodes[:first]:
                rounds.append(measure(number, nodes, options.pods))
                say(f"round {number} of {options.rounds}: {nodes} nodes")
    except CommandError as error:
        say(f"bench: {error}")
        return EXIT_FAILURE
    result = Decisions(
        pods=options.pods,
        command=_command(options),
        recorded_on=datetime.now(UTC).date().isoformat(),
        machine=machine.describe(""),
        rounds=rounds,
    )
    if options.results is not None:
        say(f"written: {write(result, options.results)}")
    print(plain(DECIDE_HEADINGS, decide_rows(result)))
    say_if_busy(result.others_cores)
    return 0


def measure(number: int, nodes: int, pods: int, *, command: tuple[str, ...] = ()) -> DecideRound:
    """All cases at one number of nodes.

    Raises:
        CommandError: the command failed, or printed something else.
    """
    arguments = ["bench", "decide", f"--nodes={nodes}", f"--pods={pods}"]
    cases, others_cores = lines_of(arguments, CaseFigures, command=command)
    return DecideRound(number=number, cases=cases, others_cores=others_cores)


def write(result: Decisions, folder: Path) -> Path:
    """Write a result to its file, in place of an older one."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / FILE
    file.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
    return file


def _command(options: argparse.Namespace) -> str:
    nodes = ",".join(map(str, options.nodes))
    return f"python -m bench decide --nodes {nodes} --pods {options.pods} --rounds {options.rounds}"
