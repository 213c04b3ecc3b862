"""``python -m bench report``: docs/benchmarks.md from bench/results/*.json, so that no figure in it was typed."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec

from bench import parking, preempting
from bench.contestants import DESCRIPTIONS
from bench.decisions import DECIDE_HEADINGS, Decisions, decide_rows
from bench.figures import Result, medians
from bench.machine import Machine
from bench.parking import Parking
from bench.preempting import Preempting
from bench.table import HEADINGS, RATIO_HEADINGS, markdown, ratio_rows, rows

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
DOCUMENT = ROOT / "docs" / "benchmarks.md"
COMMAND = "python -m bench report"
EXIT_FAILURE = 1

_INTRODUCTION = f"""\
# Benchmarks

This page is generated: `{COMMAND}` writes it from the files in `bench/results/`, which `make bench-compare`
and the other commands of `python -m bench` wrote with `--results bench/results`. Figures of one table were measured in one run on one machine; across
tables only ratios mean anything.
"""

_METHOD = """\
## What is compared, and how

`make bench-compare` starts one etcd and one kube-apiserver on loopback and lets each contestant in turn, in rounds, bind the same
pods: `make bench-compare ARGS='--quick'` for one round, medians of three without. For each the cluster is made anew: nodes and
pods are there before it starts. The workload is SchedulingBasic of kube-scheduler's own benchmarks: nodes of 4 CPUs, 32Gi and 110
pods, pods of 100m CPU and 500Mi; all pods carry the same label, so that they can be batched, and none run beforehand.

{contestants}

Who is measured is not asked. The benchmark's own watches of pods and of Events say when each pod was bound and its Event delivered.

| figure | meaning |
| --- | --- |
| pods/s to last bind | from the first pod seen on a node to the last |
| pods/s to last Event | from the first pod seen on a node to the last `Scheduled` Event seen |
| Events | pods whose Event was seen; a dropped one counts as delivered for the rate, to the advantage of who dropped it |
| CPU ms/pod | user and system time of the contestant from synced caches to the last Event, by pods |
| start-up CPU s, ready s | CPU and time from start to synced caches, with all nodes and pods in them |
| RSS MB | resident memory at the last Event |
| apiserver, etcd ms/pod | their CPU in the same window as the contestant's |
| bound twice, overcommitted | pods seen on two nodes; nodes that hold more than is allocatable. Both must be 0 |
| others' cores | cores that worked for somebody else meanwhile: when it is not near 0, absolute figures are worth little |
"""


class ReportError(Exception):
    """A result cannot be read."""


_DECISIONS = """\
## Decisions

One decision is what happens to one pod from the queue to the instructions, the content of its log line included; reading from
the API server, queueing and writing are not. *Cold*: the batch cache is off and every node is evaluated. *Warm*: with the cache.
"""

_PREEMPTING = """\
## Preemption

One decision on a pod for which nothing is free, from the queue to the victims: all nodes are evaluated, pods of lower priority are
found on as many nodes as are enough to choose from (a tenth of all, or 100), and the node is chosen whose victims hurt least. Each
pod is of a shape that was not seen before. With anti-affinity to other pods each of these nodes is tried by itself; in the other cases all are
tried together. *CPU*: of the thread that decides; a decision takes no longer where nobody else wants the CPU.
"""

_PARKING = """\
## Parked pods

Pods of some shapes wait, half of the shapes for a label and half for a resource of a node, and a node gets what one shape waits for, with
room for one pod. Then the event, the questions to plugins whether it helps (*hints*), and the decisions on all pods that are woken; *bytes a
pod*: resident memory of the process by parked pods. No API server is part of it.
"""

_PARKED_MEMORY = """\
Such pods with an API server: `reprise run`, and kube-scheduler 1.37.2 with its default plugins, each on a fresh cluster of 100 nodes. *RSS before*: without any
pod; *RSS after*: ten seconds after each pod was told that it fits nowhere; *KB a pod*: the difference by pods.
"""

AnyResult = Result | Decisions | Preempting | Parking


def render(results: Iterable[AnyResult]) -> str:
    """The document."""
    results = list(results)
    described = "\n".join(f"- **{name}**: {text}" for name, text in DESCRIPTIONS.items())
    decided = [_decisions(one) for one in results if isinstance(one, Decisions)]
    preempted = [_preempting(one) for one in results if isinstance(one, Preempting)]
    parked = [_parking(one) for one in results if isinstance(one, Parking)]
    compared = [_section(one) for one in results if isinstance(one, Result)]
    parts = [_INTRODUCTION, *decided, *preempted, *parked, *compared, _METHOD.format(contestants=described)]
    return "\n".join(parts)


def read_results(folder: Path = RESULTS) -> list[AnyResult]:
    """All results, comparisons in the order of workload and size.

    Raises:
        ReportError: a file has another form.
    """
    found: list[AnyResult] = []
    for file in sorted(folder.glob("*.json")):
        try:
            found.append(msgspec.json.decode(file.read_bytes(), type=AnyResult))
        except msgspec.DecodeError as error:
            raise ReportError(f"{file.name}: {error}; write it again with --results") from error
    return sorted(found, key=lambda one: (one.workload, one.nodes) if isinstance(one, Result) else ("", 0))


def run(*, check: bool) -> int:
    """Write the document, or with ``check`` say whether it is up to date."""
    try:
        text = render(read_results())
    except ReportError as error:
        print(f"bench: {error}", file=sys.stderr)
        return EXIT_FAILURE
    name = DOCUMENT.relative_to(ROOT)
    is_current = DOCUMENT.exists() and DOCUMENT.read_text(encoding="utf-8") == text
    if check:
        print(f"{name} is up to date" if is_current else f"{name} is not what the results say: run `{COMMAND}`")
        return 0 if is_current else EXIT_FAILURE
    DOCUMENT.write_text(text, encoding="utf-8")
    print(f"{name} is written")
    return 0


def _section(result: Result) -> str:
    busy = max(one.others_cores for one in medians(result).values())
    made = _made(result.command, result.recorded_on, len({one.number for one in result.rounds}), result.machine, busy)
    return f"""\
## {result.workload}, {result.nodes:,} nodes, {result.pods:,} pods

{markdown(HEADINGS, rows(result))}

{markdown(RATIO_HEADINGS, ratio_rows(result))}

{made}
"""


def _decisions(result: Decisions) -> str:
    made = _made(result.command, result.recorded_on, result.round_count, result.machine, result.others_cores)
    return f"""\
{_DECISIONS}
{markdown(DECIDE_HEADINGS, decide_rows(result))}

Microseconds; {result.pods:,} pods a case.

{made}
"""


def _preempting(result: Preempting) -> str:
    made = _made(result.command, result.recorded_on, result.round_count, result.machine, result.others_cores)
    return f"""\
{_PREEMPTING}
{markdown(preempting.HEADINGS, preempting.rows(result))}

Milliseconds; {result.pods:,} decisions a case.

{made}
"""


def _parking(result: Parking) -> str:
    made = _made(result.command, result.recorded_on, len(result.rounds), result.machine, result.others_cores)
    memory = (
        f"{_PARKED_MEMORY}\n{markdown(parking.MEMORY_HEADINGS, parking.memory_rows(result))}\n\n"
        if result.memory
        else ""
    )
    return f"""\
{_PARKING}
{markdown(parking.HEADINGS, parking.rows(result))}

Milliseconds. {parking.verdict(result)}

{memory}{made}
"""


def _made(command: str, recorded_on: str, rounds: int, machine: Machine, busy: float) -> str:
    """How a table came to be."""
    counted = "one round" if rounds == 1 else f"medians of {rounds} rounds"
    kubernetes = f", Kubernetes {machine.kubernetes}" if machine.kubernetes else ""
    return (
        f"`{command}` on {recorded_on}, {counted}: {machine.cpu}, {machine.cores} cores, {machine.memory_gib:g} GiB, "
        f"{machine.system}, Python {machine.python}{kubernetes}, Reprise {machine.reprise}. "
        f"Others used up to {busy:.2f} cores meanwhile."
    )
