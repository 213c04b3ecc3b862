"""One contestant on one fresh cluster: what there is to do, how long it took, what it cost, and whether it was right."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench import contestants, workload
from bench.figures import Round
from bench.observer import Observer
from bench.process_meter import MachineTime, cpu_seconds, machine_time, resident_bytes
from tests.support.control_plane import ControlPlane
from tests.support.daemons import Daemon, DaemonError
from tests.support.plain_account import overcommitted
from tests.support.resources import NODES, PODS

STALLED_SECONDS = 30.0
"""Without a bind for so long, a contestant has failed."""

QUIET_SECONDS = 5.0
"""kube-scheduler drops Events that it cannot keep: without one for so long after the last bind, no more are expected."""

_SETTLED_WINDOW_SECONDS = 0.5
_SETTLED_SHARE = 0.1
_SETTLED_TRIES = 20

Say = Callable[[str], None]


class BenchError(Exception):
    """A contestant did not do its work, so there is nothing to compare."""


@dataclass(frozen=True)
class _Usage:
    """CPU seconds so far, and memory now."""

    at: float
    contestant: float
    rss_bytes: int
    apiserver: float
    etcd: float
    own: float
    machine: MachineTime


def measure(control_plane: ControlPlane, name: str, *, number: int, node_count: int, pod_count: int, say: Say) -> Round:
    """Empty the cluster, fill it, let the contestant bind all pods, and measure.

    Raises:
        BenchError: it did not bind all pods.
        DaemonError: it did not start.
        ObserverError: what it did could not be seen.
    """
    control_plane.reset()
    admin = control_plane.client()
    admin.create_all(workload.nodes(node_count))
    made = admin.create_all(workload.pods(pod_count, contestants.scheduler_name(name)))
    _settle(control_plane)
    say(f"round {number}: {name}: {node_count} nodes and {pod_count} pods are there")
    contestant = contestants.make(name, control_plane)
    with Observer(control_plane, [pod["metadata"]["uid"] for pod in made]) as observer:
        try:
            ready = contestant.start()
            before = _usage(contestant.daemon, control_plane)
            after = _follow(observer, contestant.daemon, control_plane, pod_count)
        except DaemonError as error:
            raise BenchError(f"{name}: {error}") from error
        finally:
            contestant.stop()
        record = observer.record
    bound = [pod for pod in admin.list_objects(PODS, workload.NAMESPACE) if pod["spec"].get("nodeName")]
    for pod in bound:
        record.saw(pod["metadata"]["uid"], pod["spec"]["nodeName"], record.last_bind_at)
    return Round(
        contestant=name,
        number=number,
        ready_seconds=ready.seconds,
        startup_cpu_seconds=ready.cpu_seconds,
        bind_seconds=record.last_bind_at - record.first_bind_at,
        event_seconds=record.last_event_at - record.first_bind_at,
        events=len(record.told),
        cpu_ms_per_pod=1000 * (after.contestant - ready.cpu_seconds) / pod_count,
        apiserver_cpu_ms_per_pod=1000 * (after.apiserver - before.apiserver) / pod_count,
        etcd_cpu_ms_per_pod=1000 * (after.etcd - before.etcd) / pod_count,
        rss_mb=after.rss_bytes / 1e6,
        bound_twice=record.bound_twice,
        overcommitted_nodes=len(overcommitted(admin.list_objects(NODES), bound)),
        others_cores=_others_cores(before, after),
    )


def _follow(observer: Observer, daemon: Daemon, control_plane: ControlPlane, pod_count: int) -> _Usage:
    """Wait until all is bound and told; what had been used when the last of it was seen."""
    usage = _usage(daemon, control_plane)
    seen, since = (0, 0), time.monotonic()
    while seen != (pod_count, pod_count):
        now_seen = observer.wait(0.05)
        if now_seen != seen:
            seen, since = now_seen, time.monotonic()
            usage = _usage(daemon, control_plane)
            continue
        quiet = time.monotonic() - since
        if seen[0] == pod_count and seen[1] and quiet > QUIET_SECONDS:
            break
        if not daemon.running:
            raise BenchError(f"{daemon.name} ended with code {daemon.exit_code}\n{daemon.tail()}")
        if quiet > STALLED_SECONDS:
            raise BenchError(
                f"{daemon.name}: nothing for {STALLED_SECONDS:g} s; {seen[0]} of {pod_count} pods are bound, "
                f"{seen[1]} have an Event\n{daemon.tail()}"
            )
    return usage


def _usage(daemon: Daemon, control_plane: ControlPlane) -> _Usage:
    return _Usage(
        at=time.monotonic(),
        contestant=cpu_seconds(daemon.pid),
        rss_bytes=resident_bytes(daemon.pid),
        apiserver=cpu_seconds(control_plane.apiserver.pid),
        etcd=cpu_seconds(control_plane.etcd.pid),
        own=time.process_time(),
        machine=machine_time(),
    )


def _others_cores(before: _Usage, after: _Usage) -> float:
    """How many cores worked for others meanwhile, those included that the hypervisor took away."""
    ours = (
        (after.contestant - before.contestant)
        + (after.apiserver - before.apiserver)
        + (after.etcd - before.etcd)
        + (after.own - before.own)
    )
    machine = after.machine.busy - before.machine.busy + after.machine.stolen - before.machine.stolen
    return max(0.0, machine - ours) / (after.at - before.at)


def _settle(control_plane: ControlPlane) -> None:
    """Let the API server finish what filling the cluster left it to do."""
    daemons = (control_plane.apiserver, control_plane.etcd)
    pause = threading.Event()  # never set
    for _ in range(_SETTLED_TRIES):
        before = sum(cpu_seconds(daemon.pid) for daemon in daemons)
        pause.wait(_SETTLED_WINDOW_SECONDS)
        used = sum(cpu_seconds(daemon.pid) for daemon in daemons) - before
        if used < _SETTLED_SHARE * _SETTLED_WINDOW_SECONDS:
            return
