"""Who is measured: each a process of its own, with rights of its own, started when the pods are there."""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import msgspec

from bench.process_meter import cpu_seconds
from tests.support.control_plane import ControlPlane
from tests.support.daemons import Daemon, DaemonError
from tests.support.kube_scheduler import KubeScheduler

READY_SECONDS = 60.0
_POLL_SECONDS = 0.005
_SYNCED = b'"caches are synced"'
_CONFIGURATION = (
    {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},  # as for kube-scheduler
    },
    {"apiVersion": "reprise.dev/v1alpha1", "kind": "RepriseConfiguration", "serving": {"port": 0}},
)
# Default spread constraints make each pod unsignable, so that kube-scheduler never batches with its default configuration.
_TUNED = {
    "profiles": [
        {
            "pluginConfig": [
                {"name": "PodTopologySpread", "args": {"defaultingType": "List", "defaultConstraints": []}},
            ]
        }
    ]
}


@dataclass(frozen=True)
class Ready:
    """The moment from which a contestant schedules: seconds and CPU seconds since it was started."""

    seconds: float
    cpu_seconds: float


class Contestant(Protocol):
    """One scheduler, started and ended once."""

    def start(self) -> Ready:
        """Start it and wait until its caches are synced.

        Raises:
            DaemonError: it ended or was not ready in time; the message has the last lines of its log.
        """

    @property
    def daemon(self) -> Daemon: ...

    def stop(self) -> None: ...


class OwnProcess:
    """`reprise run`, or what runs in its place; it says in its log when its caches are synced."""

    daemon: Daemon

    def __init__(self, control_plane: ControlPlane, name: str, command: Sequence[str | Path]) -> None:
        self._name = name
        self._folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=control_plane.folder))
        configuration = self._folder / "configuration.yaml"
        configuration.write_text("\n---\n".join(json.dumps(document) for document in _CONFIGURATION))
        kubeconfig = control_plane.kubeconfig("reprise", self._folder / "kubeconfig")
        self._command = [*command, f"--config={configuration}", f"--kubeconfig={kubeconfig}"]

    def start(self) -> Ready:
        began, deadline = time.time(), time.monotonic() + READY_SECONDS
        self.daemon = Daemon(self._name, self._command, folder=self._folder)
        pause = threading.Event()  # never set: a poll needs an interval
        while (line := self._synced_line()) is None:
            if not self.daemon.running:
                raise DaemonError(f"{self._name} ended with code {self.daemon.exit_code}\n{self.daemon.tail()}")
            if time.monotonic() > deadline:
                self.daemon.kill()
                raise DaemonError(f"{self._name} was not ready after {READY_SECONDS:g} s\n{self.daemon.tail()}")
            pause.wait(_POLL_SECONDS)
        used = cpu_seconds(self.daemon.pid)
        synced_at = datetime.fromisoformat(msgspec.json.decode(line, type=_LogLine).timestamp).timestamp()
        # It is seen a moment late. What was used meanwhile counts for scheduling; that it was a whole core is assumed against us.
        late = max(0.0, time.time() - synced_at)
        return Ready(seconds=synced_at - began, cpu_seconds=max(0.0, used - late))

    def stop(self) -> None:
        self.daemon.stop()

    def _synced_line(self) -> bytes | None:
        if not self.daemon.log.exists():
            return None
        for line in self.daemon.log.read_bytes().splitlines(keepends=True):
            if _SYNCED in line and line.endswith(b"\n"):
                return line
        return None


class _LogLine(msgspec.Struct):
    timestamp: str


class KubeSchedulerProcess:
    """The real kube-scheduler. It is ready when its own /readyz says so, which is seen up to 20 ms late: to its advantage."""

    def __init__(self, control_plane: ControlPlane, name: str, configuration: Mapping[str, Any]) -> None:
        self._scheduler = KubeScheduler(control_plane, configuration, name=name)

    def start(self) -> Ready:
        self._scheduler.start()
        return Ready(seconds=self._scheduler.start_seconds, cpu_seconds=cpu_seconds(self._scheduler.pid))

    @property
    def daemon(self) -> Daemon:
        return self._scheduler.daemon

    def stop(self) -> None:
        self._scheduler.stop()


NAMES = ("reprise", "default", "tuned", "null")

DESCRIPTIONS = {
    "reprise": "`reprise run` with its default configuration",
    "default": "kube-scheduler 1.37.2, default plugins, client limits raised to 5,000 requests a second",
    "tuned": "the same with PodTopologySpread's default constraints off, so that its batching works",
    "null": "Reprise's process with a decision of no cost: the next pod goes to the next node, nothing is kept or checked",
}


def scheduler_name(name: str) -> str:
    """What the pods say that this contestant is to bind."""
    return "default-scheduler" if name in {"default", "tuned"} else "reprise"


def make(name: str, control_plane: ControlPlane) -> Contestant:
    """A contestant of NAMES, not yet started."""
    match name:
        case "reprise":
            return OwnProcess(control_plane, name, [Path(sys.executable).with_name("reprise"), "run"])
        case "null":
            return OwnProcess(control_plane, name, [sys.executable, "-m", "bench.null_scheduler"])
        case "default":
            return KubeSchedulerProcess(control_plane, name, {})
        case "tuned":
            return KubeSchedulerProcess(control_plane, name, _TUNED)
        case _:
            raise ValueError(name)
