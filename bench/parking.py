"""``python -m bench queue``: ``reprise bench queue`` in rounds, and the memory of parked pods beside kube-scheduler's."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import msgspec

from bench import machine, parked_memory
from bench.machine import Machine
from bench.own_command import CommandError, lines_of, say, say_if_busy
from bench.parked_memory import ParkedMemory, ParkingError
from bench.table import plain
from tests.support.binaries import missing_binaries
from tests.support.control_plane import ControlPlane
from tests.support.daemons import DaemonError

FILE = "queue.json"
MOST_HINTS_A_SHAPE = 2
TARGET_MS = 100
_NEEDED = ("etcd", "kube-apiserver", "kube-scheduler")

HEADINGS = (
    "parked pods",
    "shapes",
    "hints an event",
    "woken",
    "event to decision p50",
    "p99",
    "to the last decision p50",
    "bytes a pod",
)
MEMORY_HEADINGS = ("scheduler", "parked pods", "RSS before MB", "RSS after MB", "KB a pod", "parked after s")


class QueueFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The line of ``reprise bench queue --output json``; times in milliseconds."""

    pods: int
    shapes: int
    nodes: int
    hints_an_event: int
    woken: int
    first_ms_p50: float
    first_ms_p99: float
    all_ms_p50: float
    bytes_a_pod: float


class QueueRound(msgspec.Struct, frozen=True, kw_only=True):
    """One process. ``others_cores``: cores that worked for others meanwhile."""

    number: int
    figures: QueueFigures
    others_cores: float


class Parking(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="queue"):
    """A run of all rounds, as it is written to a file. ``memory``: of schedulers on the real API server."""

    command: str
    recorded_on: str
    machine: Machine
    rounds: list[QueueRound]
    memory: list[ParkedMemory]

    @property
    def others_cores(self) -> float:
        """At worst."""
        return max(one.others_cores for one in self.rounds)

    @property
    def most_hints(self) -> int:
        return max(one.figures.hints_an_event for one in self.rounds)

    @property
    def hints_allowed(self) -> int:
        return MOST_HINTS_A_SHAPE * self.rounds[0].figures.shapes

    @property
    def first_ms_p50(self) -> float:
        return median(one.figures.first_ms_p50 for one in self.rounds)


def run(options: argparse.Namespace) -> int:
    """Exit code 1 when an event asked more hints than the shapes account for, or a scheduler did not park its pods."""
    if options.memory_pods and (missing := missing_binaries(*_NEEDED)):
        say(f"bench: needs the real {', '.join(missing)}: run `make control-plane`, or give --memory-pods 0")
        return 1
    rounds: list[QueueRound] = []
    try:
        for number in range(1, options.rounds + 1):
            found, others_cores = lines_of(["bench", "queue", f"--pods={options.pods}"], QueueFigures)
            rounds.append(QueueRound(number=number, figures=found[0], others_cores=others_cores))
            say(f"round {number} of {options.rounds}")
        memory = _measure_memory(options.memory_pods) if options.memory_pods else []
    except (CommandError, DaemonError, ParkingError) as error:
        say(f"bench: {error}")
        return 1
    result = Parking(
        command=f"python -m bench queue --pods {options.pods} --rounds {options.rounds} --memory-pods {options.memory_pods}",
        recorded_on=datetime.now(UTC).date().isoformat(),
        machine=machine.describe(""),
        rounds=rounds,
        memory=memory,
    )
    if options.results is not None:
        say(f"written: {write(result, options.results)}")
    print(plain(HEADINGS, rows(result)))
    print(plain(MEMORY_HEADINGS, memory_rows(result)))
    print(verdict(result))
    say_if_busy(result.others_cores)
    return 1 if result.most_hints > result.hints_allowed else 0


def _measure_memory(pods: int) -> list[ParkedMemory]:
    control_plane = ControlPlane().start()
    try:
        found = []
        for name in parked_memory.NAMES:
            found.append(parked_memory.measure(control_plane, name, pods))
            say(f"{name}: {pods} pods parked after {found[-1].parked_seconds} s")
        return found
    finally:
        control_plane.stop()


def write(result: Parking, folder: Path) -> Path:
    """Write a result to its file, in place of an older one."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / FILE
    file.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
    return file


def rows(result: Parking) -> list[list[str]]:
    """One row under HEADINGS, of medians; the most hints of all."""
    figures = [one.figures for one in result.rounds]
    return [
        [
            f"{figures[0].pods:,}",
            str(figures[0].shapes),
            str(result.most_hints),
            str(figures[0].woken),
            f"{result.first_ms_p50:.1f}",
            f"{median(one.first_ms_p99 for one in figures):.1f}",
            f"{median(one.all_ms_p50 for one in figures):.1f}",
            f"{median(one.bytes_a_pod for one in figures):,.0f}",
        ]
    ]


def memory_rows(result: Parking) -> list[list[str]]:
    """Each scheduler under MEMORY_HEADINGS."""
    return [
        [
            one.contestant,
            f"{one.pods:,}",
            f"{one.before_bytes / 1e6:.0f}",
            f"{one.after_bytes / 1e6:.0f}",
            f"{one.bytes_a_pod / 1e3:.1f}",
            f"{one.parked_seconds:.0f}",
        ]
        for one in result.memory
    ]


def verdict(result: Parking) -> str:
    """What was found beside what should be."""
    is_met = result.first_ms_p50 < TARGET_MS
    return (
        f"An event asked at most {result.most_hints} hints, of {result.hints_allowed} allowed. From the event to the decision p50 "
        f"{result.first_ms_p50:.1f} ms, target < {TARGET_MS} ms: {'met' if is_met else 'not met'}."
    )
