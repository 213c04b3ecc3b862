"""The real kube-scheduler beside a test control plane, with any configuration, under its own identity."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from ruamel.yaml import YAML

from tests.support.binaries import binaries_folder
from tests.support.control_plane import ControlPlane, free_ports
from tests.support.daemons import Daemon
from tests.support.resources import Object
from tests.support.secure_port import SecurePort

READY_SECONDS = 60.0
CONFIGURATION = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
# Its own limits would be what is measured: 50 requests a second by default.
CLIENT_LIMITS = {"qps": 5000, "burst": 5000}


class KubeScheduler:
    """A running kube-scheduler; use it in a `with`.

    `configuration` is a KubeSchedulerConfiguration, as a mapping or a file; apiVersion and kind may be left out. Set
    here: the kubeconfig, no leader election, and client limits where it gives none.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        configuration: Mapping[str, Any] | Path,
        *,
        name: str = "kube-scheduler",
        arguments: Sequence[str] = (),
    ) -> None:
        """Prepare it; `name` tells several apart in messages, `arguments` are further flags."""
        self.name = name
        self.start_seconds = 0.0
        self.daemon: Daemon
        self._port: SecurePort | None = None
        self._control_plane = control_plane
        self._arguments = tuple(arguments)
        if isinstance(configuration, Path):
            with configuration.open() as file:
                self._configuration: Mapping[str, Any] = YAML(typ="safe").load(file)
        else:
            self._configuration = configuration

    def start(self) -> Self:
        """Start it and wait until its informers have synced.

        Raises:
            DaemonError: it ended or was not ready in time; the message has the last lines of its log.
        """
        folder = Path(tempfile.mkdtemp(prefix=f"{self.name}-", dir=self._control_plane.folder))
        kubeconfig = self._control_plane.kubeconfig("kube-scheduler", folder / "kubeconfig")
        configuration = folder / "configuration.json"
        configuration.write_text(json.dumps(self._complete(kubeconfig), indent=2))
        [port] = free_ports(1)
        command: list[str | Path] = [
            binaries_folder() / "kube-scheduler",
            f"--config={configuration}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={folder}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            *self._arguments,
        ]
        self.daemon = Daemon(self.name, command, folder=folder)
        secure_port = SecurePort(self._control_plane, port, certificate=folder / "kube-scheduler.crt")
        self._port = secure_port
        try:
            self.start_seconds = self.daemon.wait_ready(lambda: secure_port.is_ready("/readyz"), seconds=READY_SECONDS)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End it in order."""
        if self._port is not None:
            self._port.close()
        self.daemon.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def port(self) -> SecurePort:
        """Where it serves its pages."""
        assert self._port is not None, "start it first"
        return self._port

    @property
    def pid(self) -> int:
        return self.daemon.pid

    def page(self, path: str) -> str:
        """A page of its secure port: /metrics, /configz, ..."""
        return self.port.page(path)

    def log(self, lines: int = 40) -> str:
        """The last lines of its log."""
        return self.daemon.tail(lines)

    def _complete(self, kubeconfig: Path) -> Object:
        given = dict(self._configuration)
        connection = {**CLIENT_LIMITS, **given.get("clientConnection", {}), "kubeconfig": str(kubeconfig)}
        return {**CONFIGURATION, **given, "clientConnection": connection, "leaderElection": {"leaderElect": False}}
