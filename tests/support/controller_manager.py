"""The real kube-controller-manager beside a test control plane, with the controllers that make pods and bind volumes."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.support.binaries import binaries_folder
from tests.support.control_plane import ControlPlane, free_ports
from tests.support.daemons import Daemon
from tests.support.secure_port import SecurePort

READY_SECONDS = 60.0
CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "job-controller",
    "persistentvolume-binder-controller",
)


class ControllerManager:
    """A running kube-controller-manager; use it in a `with`.

    Each controller has its own service account and the rights that the server itself grants it. Nodes have no lifecycle
    here, and what has lost its owner stays.
    """

    def __init__(self, control_plane: ControlPlane, *, controllers: Sequence[str] = CONTROLLERS) -> None:
        self.start_seconds = 0.0
        self.daemon: Daemon
        self._control_plane = control_plane
        self._controllers = tuple(controllers)

    def start(self) -> Self:
        """Start it and wait until it is healthy.

        Raises:
            DaemonError: it ended or was not ready in time; the message has the last lines of its log.
        """
        folder = Path(tempfile.mkdtemp(prefix="kube-controller-manager-", dir=self._control_plane.folder))
        kubeconfig = self._control_plane.kubeconfig("kube-controller-manager", folder / "kubeconfig")
        [port] = free_ports(1)
        command: list[str | Path] = [
            binaries_folder() / "kube-controller-manager",
            f"--kubeconfig={kubeconfig}",
            f"--controllers={','.join(self._controllers)}",
            "--use-service-account-credentials",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={folder}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            # Its own limits would be what is waited for: 20 requests a second by default, and a look at volumes every 15 s.
            "--kube-api-qps=1000",
            "--kube-api-burst=1000",
            "--pvclaimbinder-sync-period=1s",
        ]
        self.daemon = Daemon("kube-controller-manager", command, folder=folder)
        secure_port = SecurePort(self._control_plane, port, certificate=folder / "kube-controller-manager.crt")
        try:
            self.start_seconds = self.daemon.wait_ready(lambda: secure_port.is_ready("/healthz"), seconds=READY_SECONDS)
        except BaseException:
            self.stop()
            raise
        finally:
            secure_port.close()
        return self

    def stop(self) -> None:
        """End it."""
        self.daemon.kill()  # it has no lease to give back, and takes its time when asked

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
