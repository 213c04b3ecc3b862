"""``reprise demo``: the whole scheduler against an embedded API server, on this machine alone."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from rich.console import Console
from rich.live import Live

from scheduler.app.allocator import keep_freed_blocks
from scheduler.app.demo_tally import Decisions, Tally
from scheduler.app.demo_view import live_view, summary_view
from scheduler.app.demo_workload import NAMESPACE, build_pods
from scheduler.app.runtime import Runtime
from scheduler.config.configuration import load
from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import load_credentials
from scheduler.queue.queued_pod import Room
from scheduler.sim.fleet import build_nodes
from scheduler.sim.nodes import NodeSimulator
from scheduler.sim.server import ApiServer
from scheduler.telemetry import logs

POLL_SECONDS = 0.05
STALL_SECONDS = 60.0
EXIT_FAILURE = 1


def run(options: argparse.Namespace) -> int:
    """Exit code 1 when a pod was bound twice, a node is overcommitted, or pods were left in the middle."""
    keep_freed_blocks()
    logs.configure(form="console", level="warning")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        decisions = Decisions()
        summary = runner.run(_demo(options, decisions))
    if options.output == "json":
        print(msgspec.json.encode(summary).decode())
    else:
        Console().print(summary_view(options.nodes, summary, decisions))
    settled = summary["bound"] + summary["unschedulable"] == summary["pods"]
    return 0 if settled and not summary["bound_twice"] and not summary["overcommitted_nodes"] else EXIT_FAILURE


async def _demo(options: argparse.Namespace, decisions: Decisions) -> dict[str, Any]:
    # Progress goes to standard error, so that standard output holds nothing but the summary.
    console = Console(file=sys.stderr)
    server = ApiServer(chance=random.Random(options.seed))
    await server.start()
    nodes = NodeSimulator(server)
    nodes.start()
    try:
        console.print(f"embedded API server on {server.url}: {options.nodes} nodes, {options.pods} pods")
        for node in build_nodes(options.nodes):
            server.create(node)
        server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        tally = Tally(server)
        tally.start(time.perf_counter)
        async with _scheduler(server, options.seed, decisions) as runtime:
            return await _burst(options, console, server, tally, runtime)
    finally:
        nodes.stop()
        await server.stop()


@contextlib.asynccontextmanager
async def _scheduler(server: ApiServer, seed: int, decisions: Decisions) -> AsyncIterator[Runtime]:
    """A scheduler as `reprise run` starts it, connected over HTTP."""
    with tempfile.TemporaryDirectory(prefix="reprise-demo-") as folder:
        kubeconfig = server.kubeconfig(Path(folder) / "kubeconfig")
        async with ApiClient(load_credentials(kubeconfig), version=version("reprise-scheduler")) as client:
            runtime = Runtime(load(None), client, hostname=socket.gethostname(), seed=seed, on_cycle=decisions.took)
            stop = asyncio.Event()
            running = asyncio.create_task(runtime.run(stop))
            synced = asyncio.create_task(runtime.synced.wait())
            try:
                await asyncio.wait((synced, running), return_when=asyncio.FIRST_COMPLETED)
                yield runtime
            finally:
                synced.cancel()
                stop.set()
                await running


async def _burst(
    options: argparse.Namespace, console: Console, server: ApiServer, tally: Tally, runtime: Runtime
) -> dict[str, Any]:
    began = time.perf_counter()
    live = None if options.no_live or not console.is_terminal else Live(console=console, auto_refresh=False)
    with live or contextlib.nullcontext():
        moved_at, before = began, -1
        for number, pod in enumerate(build_pods(options.pods, seed=options.seed)):
            server.create(pod)
            if number % 200 == 0:
                # The burst is a burst, and the scheduler is at work while it lasts.
                await asyncio.sleep(0)
        while not _is_settled(runtime, options.pods):
            await asyncio.sleep(POLL_SECONDS)
            if live is not None:
                live.update(live_view(runtime, tally, options.pods, time.perf_counter() - began), refresh=True)
            progress = tally.bound + sum(runtime.state.measurements.attempts.values())
            if progress != before:
                moved_at, before = time.perf_counter(), progress
            elif time.perf_counter() - moved_at > STALL_SECONDS:
                break
    return _summary(options, runtime, tally)


def _is_settled(runtime: Runtime, pods: int) -> bool:
    """Every pod is bound, or was tried and waits for the cluster to change."""
    state = runtime.state
    counts = state.queue.counts()
    known = state.cache.pod_count + counts[Room.UNSCHEDULABLE]
    return known >= pods and not state.bindings and not counts[Room.ACTIVE] and not counts[Room.BACKOFF]


def _summary(options: argparse.Namespace, runtime: Runtime, tally: Tally) -> dict[str, Any]:
    seconds = (tally.last_bind or 0.0) - (tally.first_bind or 0.0)
    return {
        "pods": options.pods,
        "bound": tally.bound,
        "unschedulable": runtime.state.queue.counts()[Room.UNSCHEDULABLE],
        "bound_twice": tally.bound_twice,
        "overcommitted_nodes": tally.overcommitted_nodes(),
        "seconds": round(seconds, 3),
        "pods_per_second": round(tally.bound / seconds, 1) if seconds > 0 else float(tally.bound),
        "batch": runtime.state.batching.counters.as_document(),
    }
