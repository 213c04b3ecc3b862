"""`reprise run` beside a test control plane: its own process, under its own identity and never as admin."""

import http.client
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from tests.support.api_client import Answer, ApiClient
from tests.support.control_plane import ControlPlane, free_ports
from tests.support.daemons import Daemon
from tests.support.resources import Object

START_SECONDS = 60.0
COMPARED = "cache compared"
MISMATCH = "cache mismatch"
COMMAND = Path(sys.executable).with_name("reprise")
KUBE_DOCUMENT = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
# Who follows one that was killed need not wait for the end of its Lease.
ALONE = {"leaderElection": {"leaderElect": False}}
REPRISE_DOCUMENT = {"apiVersion": "reprise.dev/v1alpha1", "kind": "RepriseConfiguration"}


_uncompared: dict[Path, list[str]] = {}
"""By the control plane's folder: those that knew the cluster and ended without a look at what they knew."""


def take_uncompared() -> list[str]:
    """Those that ended without a look at what they knew, and that nobody followed of whom it was looked at since."""
    names = [name for each in _uncompared.values() for name in each]
    _uncompared.clear()
    return names


class RepriseError(Exception):
    """The scheduler ended, or did not do in time what was waited for; the message ends with its last log lines."""


class RepriseProcess:
    """A running scheduler; use it in a `with`, or call `start` and `stop` or `kill`.

    Before it is stopped, and at the end of the `with`, what it knows has to be what there is. Of one that was killed, or ended by
    itself, nobody can say: then the one that follows it has to be compared (`take_uncompared`).

    `configuration` is a KubeSchedulerConfiguration as a mapping, which gets a free port for its pages and no leader election
    unless it says so; a file, which is taken as it is; or None for no `--config` at all. The last two serve where the product does by default.
    With a mapping the pages are on plain HTTP for everybody, unless `reprise`, the fields of a RepriseConfiguration, says otherwise.
    Pages that are not for everybody are asked for as somebody who may read all of them.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        configuration: Mapping[str, Any] | Path | None = KUBE_DOCUMENT,
        *,
        reprise: Mapping[str, Any] | None = None,
        user: str = "reprise",
        name: str = "reprise",
        seed: int | None = None,
        tells_story: bool = False,
        environment: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        """Prepare it; with `tells_story` it records to `story`. `environment` adds to this process' own."""
        assert user != "admin", "the scheduler has to do with the rights it says it needs"
        folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=control_plane.folder))
        self.name = name
        self.story = folder / "story.jsonl"
        self.start_seconds = 0.0
        self.port = 0
        self.url = ""
        self._token = control_plane.token("admin")
        self.daemon: Daemon
        self.stray_lines: list[str] = []
        self._client: ApiClient | None = None
        self._cluster = control_plane.folder
        self._was_ready = False
        self._has_ended = False
        self._folder = folder
        self._environment = {**os.environ, **(environment or {})}
        self._lines: list[Object] = []
        self._read_bytes = 0
        self._command: list[str | Path] = [COMMAND, "run"]
        self._command.append(f"--kubeconfig={control_plane.kubeconfig(user, folder / 'kubeconfig')}")
        if configuration is not None:
            self._command.append(f"--config={_configuration_file(configuration, reprise or {}, folder)}")
        if seed is not None:
            self._command.append(f"--seed={seed}")
        if tells_story:
            self._command.append(f"--story={self.story}")
        self._command += arguments

    def start(self, *, wait_ready: bool = True) -> Self:
        """Start it; wait until it serves its pages and, unless told otherwise, until /readyz says ok.

        Raises:
            RepriseError: it ended or was not ready in time.
        """
        began = time.monotonic()
        self.daemon = Daemon(self.name, self._command, folder=self._folder, environment=self._environment)
        try:
            line = self.wait_for_line("serving", seconds=START_SECONDS)
            self.port = line["insecure_port"] or line["port"]
            self.url = f"{'http' if line['insecure_port'] else 'https'}://127.0.0.1:{self.port}"
            self._client = ApiClient(self.url, token=self._token, verifies=False)
            if wait_ready:
                self.wait_until(self.is_ready, seconds=START_SECONDS, what="/readyz says ok")
        except BaseException:
            self.kill()
            raise
        self.start_seconds = time.monotonic() - began
        return self

    def stop(self, *, compares: bool = True) -> int:
        """Compare what it knows with what there is, if it is ready, then send SIGTERM and wait for the end; the exit code.

        In the middle of something one may not want to wait: then the next one `compares`.

        Raises:
            AssertionError: something differs; it has ended all the same.
        """
        looks = compares and self.daemon.running and self.is_ready()
        try:
            if looks:
                self.compare_with_cluster()
        finally:
            code = self._end(Daemon.stop, is_owed=not looks)
        return code

    def kill(self) -> int:
        """Send SIGKILL, as a crash would end it; the exit code, which is -9."""
        return self._end(Daemon.kill, is_owed=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: object, *_: object) -> None:
        """End it, if that has not happened yet."""
        if kind is not None:
            self._end(Daemon.stop, is_owed=False)
        elif not self._has_ended:
            self.stop()

    def compare_with_cluster(self, *, seconds: float = 60.0) -> None:
        """Have it list nodes and pods and compare them, by UID, with what it knows.

        Raises:
            AssertionError: something differs; it says what.
            RepriseError: it did not answer in time.
        """
        compared, mismatches = len(self.lines(COMPARED)), len(self.lines(MISMATCH))
        os.kill(self.daemon.pid, signal.SIGUSR2)
        self.wait_until(lambda: len(self.lines(COMPARED)) > compared, seconds=seconds, what="it compares its cache")
        different = {line["what"]: line["objects"] for line in self.lines(MISMATCH)[mismatches:]}
        assert not different, f"what {self.name} knows is not what there is: {different}"
        _uncompared.pop(self._cluster, None)

    # ----------------------------------------------------------------------------------------------------------- pages

    def page(self, path: str) -> Answer:
        """A page, whatever its status: /livez, /readyz, /metrics, /configz."""
        assert self._client is not None, "start it first"
        return self._client.send("GET", path, accept="*/*")

    def is_ready(self) -> bool:
        """Whether /readyz says ok."""
        try:
            is_ready = self.page("/readyz").status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        self._was_ready |= is_ready
        return is_ready

    # ------------------------------------------------------------------------------------------------------------- log

    def lines(self, message: str | None = None) -> list[Object]:
        """What it has logged so far, in order: all, or the lines of this message. Others are in `stray_lines`."""
        if self.daemon.log.exists():
            with self.daemon.log.open("rb") as file:
                file.seek(self._read_bytes)
                whole, newline, _ = file.read().rpartition(b"\n")
            self._read_bytes += len(whole) + len(newline)
            for raw in whole.splitlines():
                try:
                    self._lines.append(msgspec.json.decode(raw, type=dict[str, Any]))
                except msgspec.DecodeError:
                    self.stray_lines.append(raw.decode(errors="replace"))
        return [line for line in self._lines if message is None or line.get("msg") == message]

    def complaints(self) -> list[Object]:
        """What it has logged beyond information since its configuration was read; a right that it lacks would be among it."""
        return [line for line in self.lines() if line["level"] != "info" and line["msg"] != "configuration"]

    def wait_for_line(self, message: str, *, seconds: float = 30.0) -> Object:
        """The first line of this message.

        Raises:
            RepriseError: it ended or did not write one in time.
        """
        self.wait_until(lambda: bool(self.lines(message)), seconds=seconds, what=f"it logs {message!r}")
        return self.lines(message)[0]

    def wait_until(self, condition: Callable[[], bool], *, seconds: float, what: str) -> None:
        """Ask until the condition holds.

        Raises:
            RepriseError: the process ended, or time ran out.
        """
        deadline = time.monotonic() + seconds
        pause = threading.Event()  # never set: a poll needs an interval
        while not condition():
            if not self.daemon.running:
                raise RepriseError(f"{self.name} ended with code {self.daemon.exit_code}\n{self.daemon.tail()}")
            if time.monotonic() > deadline:
                raise RepriseError(f"not seen in {seconds:g} s: {what}\n{self.daemon.tail()}")
            pause.wait(0.02)

    def _end(self, how: Callable[[Daemon], None], *, is_owed: bool) -> int:
        if is_owed and self._was_ready and not self._has_ended:
            _uncompared.setdefault(self._cluster, []).append(self.name)
        self._has_ended = True
        if self._client is not None:
            self._client.close()
        how(self.daemon)
        assert self.daemon.exit_code is not None
        return self.daemon.exit_code


def _configuration_file(configuration: Mapping[str, Any] | Path, reprise: Mapping[str, Any], folder: Path) -> Path:
    if isinstance(configuration, Path):
        return configuration
    serving = {"port": 0, "insecurePort": free_ports(1)[0], **reprise.get("serving", {})}
    documents = [{**KUBE_DOCUMENT, **ALONE, **configuration}, {**REPRISE_DOCUMENT, **reprise, "serving": serving}]
    file = folder / "configuration.yaml"
    file.write_text("\n---\n".join(json.dumps(document, indent=2) for document in documents))
    return file
