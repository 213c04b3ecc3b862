"""``python -m bench preempt``: ``reprise bench preempt`` at several numbers of nodes, in rounds, each time in a new process."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import msgspec

from bench import machine
from bench.machine import Machine
from bench.own_command import CommandError, lines_of, say, say_if_busy
from bench.table import plain

FILE = "preempt.json"
HEADINGS = ("case", "nodes", "pods a node", "nodes looked at", "victims", "decision p50", "decision p99", "its CPU p50")


class PreemptFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``reprise bench preempt --output json``; times in milliseconds."""

    case: str
    nodes: int
    pods_a_node: int
    candidates: int
    victims: int
    ms_p50: float
    ms_p99: float
    cpu_ms_p50: float


class PreemptRound(msgspec.Struct, frozen=True, kw_only=True):
    """All cases at one number of nodes, from one process. ``others_cores``: cores that worked for others meanwhile."""

    number: int
    cases: list[PreemptFigures]
    others_cores: float


class Preempting(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="preempt"):
    """A run of all rounds, as it is written to a file. ``pods``: decisions a case."""

    pods: int
    command: str
    recorded_on: str
    machine: Machine
    rounds: list[PreemptRound]

    @property
    def others_cores(self) -> float:
        """At worst."""
        return max(one.others_cores for one in self.rounds)

    @property
    def round_count(self) -> int:
        return len({one.number for one in self.rounds})


def run(options: argparse.Namespace) -> int:
    """Print the medians, and write all figures where they are wanted."""
    rounds: list[PreemptRound] = []
    try:
        for number in range(1, options.rounds + 1):
            for nodes in options.nodes:
                arguments = ["bench", "preempt", f"--nodes={nodes}", f"--pods={options.pods}"]
                cases, others_cores = lines_of(arguments, PreemptFigures)
                rounds.append(PreemptRound(number=number, cases=cases, others_cores=others_cores))
                say(f"round {number} of {options.rounds}: {nodes} nodes")
    except CommandError as error:
        say(f"bench: {error}")
        return 1
    sizes = ",".join(map(str, options.nodes))
    result = Preempting(
        pods=options.pods,
        command=f"python -m bench preempt --nodes {sizes} --pods {options.pods} --rounds {options.rounds}",
        recorded_on=datetime.now(UTC).date().isoformat(),
        machine=machine.describe(""),
        rounds=rounds,
    )
    if options.results is not None:
        say(f"written: {write(result, options.results)}")
    print(plain(HEADINGS, rows(result)))
    say_if_busy(result.others_cores)
    return 0


def write(result: Preempting, folder: Path) -> Path:
    """Write a result to its file, in place of an older one."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / FILE
    file.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
    return file


def rows(result: Preempting) -> list[list[str]]:
    """All cases under HEADINGS, in their order and from the fewest nodes to the most; medians of the rounds, milliseconds."""
    found: dict[tuple[str, int, int], list[PreemptFigures]] = {}
    for one in result.rounds:
        for figures in one.cases:
            found.setdefault((figures.case, figures.pods_a_node, figures.nodes), []).append(figures)
    cases = list(dict.fromkeys((case, pods) for case, pods, _ in found))
    ordered = sorted(found, key=lambda key: (cases.index(key[:2]), key[2]))
    return [
        [
            case,
            f"{nodes:,}",
            str(pods_a_node),
            str(of_case[0].candidates),
            str(of_case[0].victims),
            f"{median(one.ms_p50 for one in of_case):,.1f}",
            f"{median(one.ms_p99 for one in of_case):,.1f}",
            f"{median(one.cpu_ms_p50 for one in of_case):,.1f}",
        ]
        for case, pods_a_node, nodes in ordered
        if (of_case := found[case, pods_a_node, nodes])
    ]
