"""``python -m bench compare``: rounds, each with every contestant in turn, and what they come to."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench import machine, workload
from bench.figures import Result, Round, medians, summarize
from bench.measuring import BenchError, measure
from bench.observer import ObserverError
from bench.table import HEADINGS, RATIO_HEADINGS, plain, ratio_rows, row, rows
from tests.support.binaries import missing_binaries
from tests.support.control_plane import ControlPlane
from tests.support.daemons import DaemonError

EXIT_FAILURE = 1
BUSY_CORES = 0.2
"""With more than so much work for others, what was measured says little."""

BUILD = Path(__file__).parent.parent / "tools" / "control-plane" / "build.sh"
_NEEDED = ("etcd", "kube-apiserver", "kube-scheduler")


def run(options: argparse.Namespace) -> int:
    """Exit code 1 when a contestant failed, bound a pod twice or overcommitted a node."""
    if options.build and (code := build_missing()):
        return code
    if missing := missing_binaries(*_NEEDED):
        print(f"bench: needs the real {', '.join(missing)}: run `make control-plane`", file=sys.stderr)
        return EXIT_FAILURE
    began = time.monotonic()
    try:
        result = _measure_all(options)
    except (BenchError, DaemonError, ObserverError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return EXIT_FAILURE
    if options.results is not None:
        _say(f"written: {write(result, options.results)}")
    table = f"{plain(HEADINGS, rows(result))}\n\n{plain(RATIO_HEADINGS, ratio_rows(result))}"
    print(table, file=sys.stderr if options.output == "json" else sys.stdout)
    _say(f"{time.monotonic() - began:.0f} s in all")
    busy = max(one.others_cores for one in result.rounds)
    if busy > BUSY_CORES:
        _say(f"the machine worked for others meanwhile ({busy:.2f} cores at worst): take these figures as provisional")
    summary = summarize(result)
    if options.output == "json":
        print(msgspec.json.encode(summary).decode())
    return EXIT_FAILURE if summary.bound_twice or summary.overcommitted_nodes else 0


def write(result: Result, folder: Path) -> Path:
    """Write a result to its file, in place of an older one of the same size."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"compare-{result.workload}-{result.nodes}-nodes.json"
    file.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
    return file


def build_missing() -> int:
    """Here and not before this command, so that what is wrong with its arguments is not said after a quarter of an hour."""
    if not missing_binaries(*_NEEDED):
        return 0
    return subprocess.run([BUILD], stdout=subprocess.DEVNULL, check=False).returncode  # noqa: S603 - a script of ours


def _measure_all(options: argparse.Namespace) -> Result:
    rounds: list[Round] = []
    with ControlPlane() as control_plane:
        kubernetes: str = control_plane.client().call("GET", "/version")["gitVersion"]
        for number in range(1, options.rounds + 1):
            # Each round begins with another one, so that whatever changes with time changes for all.
            first = (number - 1) % len(options.contestants)
            for name in options.contestants[first:] + options.contestants[:first]:
                one = measure(
                    control_plane,
                    name,
                    number=number,
                    node_count=options.nodes,
                    pod_count=options.pods,
                    say=_say,
                )
                rounds.append(one)
                _say(_line(one, options.pods))
    return Result(
        workload=workload.NAME,
        nodes=options.nodes,
        pods=options.pods,
        command=_command(options),
        recorded_on=datetime.now(UTC).date().isoformat(),
        machine=machine.describe(kubernetes),
        rounds=rounds,
    )


def _line(one: Round, pods: int) -> str:
    single = Result(
        workload="",
        nodes=0,
        pods=pods,
        command="",
        recorded_on="",
        machine=machine.describe(""),
        rounds=[one],
    )
    (found,) = medians(single).values()
    figures = dict(zip(HEADINGS, row(found), strict=True))
    return (
        f"round {one.number}: {one.contestant}: {figures['pods/s to last bind']} pods/s to the last bind, "
        f"{figures['pods/s to last Event']} to the last Event, {figures['CPU ms/pod']} ms CPU a pod"
    )


def _command(options: argparse.Namespace) -> str:
    words = [f"--nodes {options.nodes}", f"--pods {options.pods}", f"--rounds {options.rounds}"]
    return f"make bench-compare ARGS='{' '.join(words)}'"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
