"""``python -m bench crowd``: how often two schedulers that share nearly full nodes take the same place."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from bench.machine import Machine, describe
from tests.support.control_plane import ControlPlane
from tests.support.crowded_nodes import PAIRS, Crowd, crowd

FILE = Path(__file__).parent / "results" / "beside" / "crowded-nodes.json"
BLOCK_ROUNDS = 5
"""A pair of schedulers is started anew after so many rounds, and the pairs take turns, so that none has the quieter machine."""


class Crowds(msgspec.Struct, frozen=True, kw_only=True):
    """Every round of every pair, and where they were run."""

    machine: Machine
    nodes: int
    pairs: dict[str, list[Crowd]]


def run(options: argparse.Namespace) -> int:
    """Measure and print; the exit code."""
    found: dict[str, list[Crowd]] = {name: [] for name in PAIRS}
    control_plane = ControlPlane().start()
    try:
        kubernetes: str = control_plane.client().call("GET", "/version")["gitVersion"]
        for _ in range(options.blocks):
            for name, pair in PAIRS.items():
                control_plane.reset()
                found[name] += crowd(control_plane, pair, nodes=options.nodes, rounds=BLOCK_ROUNDS)
                print(f"{name}: {[one.too_many for one in found[name][-BLOCK_ROUNDS:]]}", flush=True)
    finally:
        control_plane.stop()
    crowds = Crowds(machine=describe(kubernetes), nodes=options.nodes, pairs=found)
    print(render(crowds), end="")
    if options.results is not None:
        options.results.mkdir(parents=True, exist_ok=True)
        (options.results / FILE.name).write_bytes(msgspec.json.format(msgspec.json.encode(crowds)) + b"\n")
    return 0


def read() -> Crowds:
    """The result that is kept."""
    return msgspec.json.decode(FILE.read_bytes(), type=Crowds)


def render(crowds: Crowds) -> str:
    """A table of it."""
    lines = [
        "| | rounds | pods bound | pods too many | share | rounds without any |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, rounds in crowds.pairs.items():
        pods, too_many = sum(one.pods for one in rounds), sum(one.too_many for one in rounds)
        none = sum(not one.too_many for one in rounds)
        lines.append(f"| {name} | {len(rounds)} | {pods} | {too_many} | {100 * too_many / pods:.1f} % | {none} |")
    return "\n".join(lines) + "\n"
