"""Pods and nodes come and go for a long time: memory stays where it was after the warm-up, and in the end nothing is held."""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from bench.compare import build_missing
from bench.process_meter import PROC, resident_bytes
from tests.support.api_client import ApiClient, ApiError, run_all
from tests.support.burst import series
from tests.support.control_plane import ControlPlane
from tests.support.kwok import Kwok
from tests.support.manifests import node_manifest, pod_manifest
from tests.support.reprise_process import RepriseProcess
from tests.support.resources import NODES, PODS, Object

NODE_COUNT = 40
WAVE = 60
"""Pods that come together; those of the wave so many waves ago go then."""
WAVES_ALIVE = 8
WAVE_SECONDS = 1.5
SAMPLE_SECONDS = 2.0
END_SECONDS = 120.0
WARM_UP = 1 / 3
"""Of the time: queues, caches and the memory of past Events fill up to their bounds. It is a minute at least."""
GROWTH = 0.05
GROWTH_BYTES = 6 << 20
"""What an allocator may take more in one quarter than in another, whatever the size of the process."""
MIB = 1 << 20
HELD = (
    'scheduler_cache_size{type="pods"}',
    'scheduler_cache_size{type="assumed_pods"}',
    "scheduler_pending_pods",
    "scheduler_pending_api_writes",
)
"""Series, or the beginnings of their names, that are at zero when there is no pod."""


@dataclass(frozen=True)
class Sample:
    """What the process held at a time, in seconds since the start of the soak."""

    at: float
    resident: int
    files: int
    threads: int


@dataclass(frozen=True)
class Idle:
    """What it holds while there are no pods."""

    tasks: float
    files: int
    threads: int
    held: dict[str, float]


def run(options: argparse.Namespace) -> int:
    """The exit code: 1 when something grew, or was left behind."""
    if options.build and (code := build_missing()):
        return code
    with ControlPlane() as control_plane, Kwok(control_plane):
        control_plane.client().create_all(node_manifest(f"node-{index}") for index in range(NODE_COUNT))
        election = {"leaderElection": {"leaderElect": True}}
        with RepriseProcess(control_plane, election) as reprise:
            reprise.wait_for_line("acquired the leader Lease")
            before = idle(reprise)
            samples = _soak(control_plane.client(), reprise, options.minutes * 60.0)
            after = _empty(control_plane.client(), reprise, before)
            decisions = len(reprise.lines("scheduling cycle"))
            complaints = reprise.complaints()
        print(
            f"{decisions} decisions; with no pods {before.tasks:g} tasks, {before.files} files before, and after {shown(after)}"
        )
        problems = [*grown(samples), *left_behind(before, after), *(f"complaint: {each}" for each in complaints[:5])]
        if reprise.daemon.exit_code != 0:
            problems.append(f"it ended with code {reprise.daemon.exit_code}")
    for problem in problems:
        print(f"FAILED: {problem}")
    if not problems:
        print("nothing grew and nothing was left behind")
    return 1 if problems else 0


def _soak(client: ApiClient, reprise: RepriseProcess, seconds: float) -> list[Sample]:
    """Let pods and nodes come and go for so many seconds."""
    began = time.monotonic()
    samples: list[Sample] = []
    alive: deque[list[str]] = deque()
    pause = threading.Event()  # never set
    wave = 0
    while (at := time.monotonic() - began) < seconds:
        names = [f"wave-{wave}-{index}" for index in range(WAVE)]
        client.create_all(shape(name, index) for index, name in enumerate(names))
        alive.append(names)
        if len(alive) > WAVES_ALIVE:
            run_all(partial(_delete, client), alive.popleft())
        if wave % 10 == 9:
            _replace_node(client, f"node-{wave // 10 % NODE_COUNT}")
        if not samples or at - samples[-1].at >= SAMPLE_SECONDS:
            samples.append(sample(reprise, at))
            if len(samples) % 15 == 1:
                print(
                    f"{at:6.0f} s: {samples[-1].resident / MIB:.1f} MiB, {samples[-1].files} files, wave {wave}",
                    flush=True,
                )
        wave += 1
        pause.wait(max(0.0, wave * WAVE_SECONDS - (time.monotonic() - began)))
    return samples


def shape(name: str, index: int) -> Object:
    """One of several kinds of pods; some fit nowhere, some wait at a gate."""
    kind = index % 6
    if kind == 0:
        return pod_manifest(name, requests={"cpu": "100"})
    if kind == 1:
        return pod_manifest(name, schedulingGates=[{"name": "example.com/wait"}])
    if kind == 2:
        return pod_manifest(name, labels={"app": "spread"}, topologySpreadConstraints=[_SPREAD])
    return pod_manifest(name, requests={"cpu": ("50m", "100m", "150m")[kind - 3]})


_SPREAD = {
    "maxSkew": 5,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": {"app": "spread"}},
}


def _delete(client: ApiClient, name: str) -> None:
    try:
        client.delete(PODS, name, "default", grace_seconds=0)
    except ApiError as error:
        if error.status != 404:
            raise


def _replace_node(client: ApiClient, name: str) -> None:
    """A node goes, with the pods on it, and comes back empty."""
    client.delete(NODES, name)
    for pod in client.list_objects(PODS, fields=f"spec.nodeName={name}", metadata_only=True):
        _delete(client, pod["metadata"]["name"])
    client.create(node_manifest(name))


def sample(reprise: RepriseProcess, at: float) -> Sample:
    """What the process holds now."""
    pid = reprise.daemon.pid
    files, threads = (sum(1 for _ in (PROC / str(pid) / kind).iterdir()) for kind in ("fd", "task"))
    return Sample(at, resident_bytes(pid), files, threads)


def idle(reprise: RepriseProcess) -> Idle:
    """What it holds, when it should hold nothing."""
    metrics = series(reprise.page("/metrics").body.decode())
    held = {name: value for name, value in metrics.items() if name.startswith(HELD)}
    now = sample(reprise, 0.0)
    return Idle(metrics["scheduler_event_loop_tasks"], now.files, now.threads, held)


def _empty(client: ApiClient, reprise: RepriseProcess, before: Idle) -> Idle:
    """Delete all pods and wait for the process to let go of them."""
    client.delete_collection(PODS, "default")
    pause = threading.Event()
    deadline = time.monotonic() + END_SECONDS
    while left_behind(before, after := idle(reprise)) and time.monotonic() < deadline:
        pause.wait(1.0)
    return after


def shown(held: Idle) -> str:
    return f"{held.tasks:g} tasks, {held.files} files, {sum(held.held.values()):g} of {len(held.held)} gauges"


def left_behind(before: Idle, after: Idle) -> list[str]:
    """What is held that was not before. Connections are kept for a while, so their number may differ, up to what is used at once."""
    found = [f"{name} is {value:g} without any pod" for name, value in sorted(after.held.items()) if value]
    if after.tasks > before.tasks:
        found.append(f"{after.tasks:g} tasks, and {before.tasks:g} before")
    if after.files > before.files + 64:
        found.append(f"{after.files} open files, and {before.files} before")
    return found


def grown(samples: list[Sample]) -> list[str]:
    """What grew between the quarter of the time after the warm-up and the last quarter."""
    return list(_grown(samples))


def _grown(samples: list[Sample]) -> Iterator[str]:
    end = samples[-1].at
    first = max(60.0, end * WARM_UP)
    rest = [each for each in samples if each.at >= first]
    if len(rest) < 8:
        yield f"{len(rest)} samples after the warm-up are too few to tell"
        return
    quarter = len(rest) // 4
    early = statistics.mean(each.resident for each in rest[:quarter])
    late = statistics.mean(each.resident for each in rest[-quarter:])
    minutes = (rest[-1].at - rest[0].at) / 60
    print(f"memory {early / MIB:.1f} MiB after the warm-up, {late / MIB:.1f} MiB {minutes:.1f} minutes later")
    if late > early + max(GROWTH_BYTES, early * GROWTH):
        yield f"memory grew from {early / MIB:.1f} to {late / MIB:.1f} MiB"
    if max(each.threads for each in rest) > max(each.threads for each in samples if each.at < first) + 1:
        yield "threads became more"
