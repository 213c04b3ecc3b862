"""``reprise bench decide``: how long a decision takes, without any API server.

A decision is one call of ``schedule_one`` on a queued pod. Decoding, queueing and the rendering of the log line are left
out; the garbage collector is on, set as ``reprise run`` sets it.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import islice
from typing import Any

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from scheduler.app.allocator import keep_freed_blocks
from scheduler.app.bench_cases import CASES, Case, Step, build_node
from scheduler.app.garbage import spare_what_is_loaded
from scheduler.batch.options import BatchOptions
from scheduler.config.configuration import load
from scheduler.core.cycle import CycleResult
from scheduler.core.scheduler import Scheduler
from scheduler.core.stimulus import NodeApplied, PodApplied, PodBound, StorageObjectApplied

NOW = 1_000_000.0
SEED = 1
COLD_DECISIONS = 200
TURN = 50
"""Decisions in a row."""


def run(options: argparse.Namespace) -> int:
    """Prints one line a case as it is done."""
    keep_freed_blocks()
    table = Table("CASE", "COLD US P50", "WARM US P50", "WARM US P99", "HIT RATIO", box=box.SIMPLE)
    for case in CASES:
        print(f"bench decide: {case.name}, {options.nodes} nodes", file=sys.stderr)
        result = measure(case, options.nodes, options.pods)
        if options.output == "json":
            print(msgspec.json.encode(result).decode(), flush=True)
        else:
            table.add_row(*(str(result[name]) for name in ("case", *_FIGURES)))
    if options.output != "json":
        Console().print(table)
    return 0


_FIGURES = ("cold_us_p50", "warm_us_p50", "warm_us_p99", "hit_ratio")


def measure(case: Case, nodes: int, pods: int) -> dict[str, Any]:
    """Cold: every node evaluated for each pod, the cache switched off. Warm: the same pods with the cache on."""
    cold, _ = _decide(case, nodes, min(pods, COLD_DECISIONS), BatchOptions(enabled=False))
    warm, scheduler = _decide(case, nodes, pods, BatchOptions(max_age_seconds=0.0))
    return {
        "nodes": nodes,
        "case": case.name,
        "cold_us_p50": _quantile(cold, 0.5),
        "warm_us_p50": _quantile(warm, 0.5),
        "warm_us_p99": _quantile(warm, 0.99),
        "hit_ratio": round(scheduler.state.batching.counters.hit_ratio(), 4),
    }


def _decide(case: Case, nodes: int, pods: int, batching: BatchOptions) -> tuple[list[int], Scheduler]:
    configuration = load(None)
    profiles = {one.scheduler_name: one for one in configuration.profiles}
    scheduler = Scheduler(profiles, seed=SEED, backoff=configuration.backoff, batching=batching)
    for index in range(nodes):
        scheduler.handle(NodeApplied(now=NOW, node=build_node(index, case)))
    for subject in () if case.storage is None else case.storage(nodes, pods):
        scheduler.handle(StorageObjectApplied(now=NOW, subject=subject))
    for pod in () if case.there is None else case.there(nodes):
        scheduler.handle(PodApplied(now=NOW, pod=pod))
    spare_what_is_loaded()
    took: list[int] = []
    steps = iter(case.steps(nodes, pods, NOW))
    while turn := list(islice(steps, TURN)):
        _take_turn(scheduler, turn, took)
    return took, scheduler


def _take_turn(scheduler: Scheduler, turn: list[Step], took: list[int]) -> None:
    """As the server's loop does: what has come in first, then some decisions in a row, then the answers to the binds."""
    clock = time.perf_counter_ns
    for step in turn:
        scheduler.handle(PodApplied(now=NOW, pod=step.pod))
    placed: list[CycleResult] = []
    for step in turn:
        if step.before is not None:
            scheduler.handle(step.before)
        began = clock()
        result = scheduler.schedule_one(NOW)
        took.append(clock() - began)
        if result is not None and result.node_name:
            placed.append(result)
    for result in placed:
        scheduler.handle(PodBound(now=NOW, uid=result.uid, node_name=result.node_name))


def _quantile(took: list[int], share: float) -> float:
    ordered = sorted(took)
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))] / 1000, 1)
