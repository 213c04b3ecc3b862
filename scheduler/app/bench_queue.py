"""``reprise bench queue``: many parked pods of some shapes, and events of nodes that each help one shape, without any API server.

Half of the shapes wait for a label on a node, the others for an extended resource of it. In each round a node gets what one
shape waits for, with room for one pod: all pods of the shape are woken, one is placed, and the others are parked again.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from scheduler.api.objects import Node, Pod
from scheduler.app.allocator import keep_freed_blocks
from scheduler.app.bench_cases import build_pod
from scheduler.app.garbage import spare_what_is_loaded
from scheduler.batch.options import BatchOptions
from scheduler.config.configuration import load
from scheduler.core.measurements import ASSUMED
from scheduler.core.scheduler import Scheduler
from scheduler.core.stimulus import NodeApplied, PodApplied, PodBound

NOW = 1_000_000.0
SEED = 1
ROUNDS = 20
BETWEEN_SECONDS = 100.0
"""Between rounds: more than any back-off, less than the flush of pods that were parked for long."""
MOST_HINTS_A_SHAPE = 2
"""A shape is rejected by one plugin and an event of a node is up to two changes."""
TARGET_MS = 100

_FIGURES = ("pods", "shapes", "hints_an_event", "woken", "first_ms_p50", "first_ms_p99", "all_ms_p50", "bytes_a_pod")


def run(options: argparse.Namespace) -> int:
    """Print one line, and what it comes to beside what it should.

    The exit code is 1 when an event asked more hints than the shapes account for; times hang on the machine.
    """
    keep_freed_blocks()
    if options.shapes > options.pods:
        print(
            f"bench queue: --shapes {options.shapes} is more than --pods {options.pods}: give more pods",
            file=sys.stderr,
        )
        return 2
    print(f"bench queue: parking {options.pods} pods of {options.shapes} shapes", file=sys.stderr)
    result = measure(options.pods, options.shapes, options.nodes)
    if options.output == "json":
        print(msgspec.json.encode(result).decode(), flush=True)
    else:
        table = Table(*(name.replace("_", " ").upper() for name in _FIGURES), box=box.SIMPLE)
        table.add_row(*(str(result[name]) for name in _FIGURES))
        Console().print(table)
    most = MOST_HINTS_A_SHAPE * options.shapes
    if result["hints_an_event"] > most:
        print(
            f"bench queue: an event asked {result['hints_an_event']} hints, and {options.shapes} shapes account for {most}",
            file=sys.stderr,
        )
        return 1
    if options.output != "json":
        print(f"hints an event: {result['hints_an_event']} of at most {most}")
        is_met = result["first_ms_p50"] < TARGET_MS
        print(
            f"event to decision p50: {result['first_ms_p50']} ms, target < {TARGET_MS} ms: {'met' if is_met else 'not met'}"
        )
    return 0


def measure(pods: int, shapes: int, nodes: int) -> dict[str, Any]:
    """Times are of events that helped a shape.

    ``hints_an_event``: the most plugins that were asked for one; ``woken``: the most pods that were tried again. ``first_ms``: from
    the event to the decision that places a pod; ``all_ms``: to the last decision. ``bytes_a_pod``: resident memory of a parked pod.
    """
    scheduler = _scheduler()
    for index in range(nodes):
        scheduler.handle(NodeApplied(now=NOW, node=_node(index)))
    before = _resident_bytes()
    _park(scheduler, pods, shapes)
    bytes_a_pod = (_resident_bytes() - before) / pods
    spare_what_is_loaded()
    hints, woken, first, everything = [], [], [], []
    for number in range(min(ROUNDS, shapes)):
        asked = _asked(scheduler)
        shape = number * shapes // min(ROUNDS, shapes)
        took, tried = _help(
            scheduler, _node(number % nodes, shape, version=number + 2), NOW + BETWEEN_SECONDS * (number + 1)
        )
        hints.append(sum((_asked(scheduler) - asked).values()))
        woken.append(tried)
        first.append(took[0])
        everything.append(took[1])
    return {
        "pods": pods,
        "shapes": shapes,
        "nodes": nodes,
        "hints_an_event": max(hints),
        "woken": max(woken),
        "first_ms_p50": _quantile(first, 0.5),
        "first_ms_p99": _quantile(first, 0.99),
        "all_ms_p50": _quantile(everything, 0.5),
        "bytes_a_pod": round(bytes_a_pod),
    }


def _scheduler() -> Scheduler:
    configuration = load(None)
    profiles = {one.scheduler_name: one for one in configuration.profiles}
    return Scheduler(
        profiles,
        seed=SEED,
        backoff=configuration.backoff,
        batching=BatchOptions(max_age_seconds=0.0, verify_fraction=0.0),
    )


def _park(scheduler: Scheduler, pods: int, shapes: int) -> None:
    """Shape by shape, as the controllers of as many Deployments would make them."""
    for index in range(pods):
        scheduler.handle(PodApplied(now=NOW, pod=_pod(index, index * shapes // pods)))
        scheduler.schedule_one(NOW)


def _help(scheduler: Scheduler, node: Node, now: float) -> tuple[tuple[int, int], int]:
    """Nanoseconds from the event to the first decision that places a pod and to the last of all, and how many there were."""
    clock = time.perf_counter_ns
    began = clock()
    scheduler.handle(NodeApplied(now=now, node=node))
    first = tried = 0
    placed = []
    while (result := scheduler.schedule_one(now)) is not None:
        tried += 1
        if result.outcome == ASSUMED:
            first = first or clock() - began
            placed.append(result)
    ended = clock() - began
    for result in placed:
        scheduler.handle(PodBound(now=now, uid=result.uid, node_name=result.node_name))
    return (first, ended), tried


def _asked(scheduler: Scheduler) -> Counter[tuple[str, str, str]]:
    return Counter(scheduler.state.measurements.hints)


def _waits_for_label(shape: int) -> bool:
    return shape % 2 == 0


def _pod(index: int, shape: int) -> Pod:
    name = f"shape-{shape:04}"
    if _waits_for_label(shape):
        return build_pod(index, prefix="parked", labels={"app": name}, nodeSelector={f"example.com/{name}": "yes"})
    return build_pod(index, prefix="parked", labels={"app": name}, requests={f"example.com/{name}": "1"})


def _node(index: int, shape: int | None = None, *, version: int = 1) -> Node:
    """A node with what a shape waits for, or one that nobody waits for; each version of it has room for one pod more."""
    name = f"node-{index:06}"
    labels = {"kubernetes.io/hostname": name}
    allocatable = {"cpu": "64", "memory": "256Gi", "pods": "1000"}
    if shape is not None:
        if _waits_for_label(shape):
            labels[f"example.com/shape-{shape:04}"] = "yes"
            allocatable["pods"] = "1"
        else:
            allocatable[f"example.com/shape-{shape:04}"] = "1"
    raw = {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels, "resourceVersion": str(version)},
        "status": {"allocatable": allocatable},
    }
    return msgspec.convert(raw, Node)


def _resident_bytes() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _quantile(took: list[int], share: float) -> float:
    ordered = sorted(took)
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))] / 1e6, 2)
