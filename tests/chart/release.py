"""A release of the chart on a test API server, and the scheduler that its Deployment would run, as a process of this machine."""

import json
import os
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from tests.support.control_plane import ControlPlane, free_ports
from tests.support.daemons import Daemon
from tests.support.helm import CHART, Helm, only
from tests.support.kubeconfig import write_kubeconfig
from tests.support.resources import CONFIG_MAPS, SERVICE_ACCOUNTS, Object

REPRISE = Path(sys.executable).with_name("reprise")
START_SECONDS = 60.0


class Release:
    """Installed by `install`, with a name, a namespace and a schedulerName; its pages are on a port of loopback."""

    def __init__(
        self,
        helm: Helm,
        control_plane: ControlPlane,
        name: str,
        namespace: str,
        values: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.namespace = namespace
        self.fullname = name if "reprise" in name else f"{name}-reprise"
        self.user = f"system:serviceaccount:{namespace}:{self.fullname}"
        self.port = free_ports(1)[0]
        self.values = {"schedulerName": name, "serving": {"port": self.port}, **(values or {})}
        self.helm = helm
        self._control_plane = control_plane

    def objects(self) -> list[Object]:
        """What it consists of."""
        return self.helm.template(self.values, release=self.name, namespace=self.namespace)

    def install(self) -> None:
        self.helm.run("install", self.name, CHART, f"--namespace={self.namespace}", values=self.values)

    def upgrade(self, **values: Any) -> None:
        self.values = {**self.values, **values}
        self.helm.run("upgrade", self.name, CHART, f"--namespace={self.namespace}", values=self.values)

    def uninstall(self) -> None:
        """Without its hook: nothing here runs pods."""
        self.helm.run("uninstall", self.name, f"--namespace={self.namespace}", "--no-hooks")

    def __enter__(self) -> Self:
        self.install()
        return self

    def __exit__(self, *_: object) -> None:
        self.uninstall()

    # ----------------------------------------------------------------------------------------------------- its identity

    def token(self) -> str:
        """A token of its ServiceAccount, as a kubelet gets one for its pods."""
        account = only(self.objects(), "ServiceAccount")["metadata"]["name"]
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        path = SERVICE_ACCOUNTS.path(self.namespace, account, "token")
        token: str = self._control_plane.client().call("POST", path, request)["status"]["token"]
        return token

    def kubeconfig(self, folder: Path) -> Path:
        control_plane = self._control_plane
        return write_kubeconfig(
            folder / f"{self.name}.kubeconfig",
            url=control_plane.url,
            ca_file=control_plane.ca_file,
            user=self.name,
            token=self.token(),
        )

    def configuration(self, folder: Path) -> Path:
        """The file that its pods would have mounted, as it is in the cluster."""
        found = self._control_plane.client().get(CONFIG_MAPS, self.fullname, self.namespace)
        file = folder / f"{self.name}.yaml"
        file.write_text(found["data"]["configuration.yaml"])
        return file


class Scheduler:
    """`reprise run` under the identity and with the configuration of a release; use it in a `with`."""

    def __init__(self, release: Release, folder: Path, kubeconfig: Path | None = None) -> None:
        container = only(release.objects(), "Deployment")["spec"]["template"]["spec"]["containers"][0]
        arguments = [str(argument) for argument in container["args"]]
        arguments[arguments.index("/etc/reprise/configuration.yaml")] = str(release.configuration(folder))
        self._command: list[str | Path] = [
            REPRISE,
            *arguments,
            f"--kubeconfig={kubeconfig or release.kubeconfig(folder)}",
        ]
        self._release = release
        self._folder = folder
        self._daemon: Daemon
        self._tls = ssl.create_default_context()
        self._tls.check_hostname = False
        self._tls.verify_mode = ssl.CERT_NONE

    def __enter__(self) -> Self:
        environment = {**os.environ, "POD_NAMESPACE": self._release.namespace}
        self._daemon = Daemon(self._release.name, self._command, folder=self._folder, environment=environment)
        try:
            self.wait_until(lambda: self.page("/readyz") == 200, "/readyz says ok")
        except BaseException:
            self._daemon.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._daemon.stop()

    def page(self, path: str, token: str | None = None) -> int:
        """The status of a page; 0 while nothing is served."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(f"https://127.0.0.1:{self._release.port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, context=self._tls, timeout=10) as answer:
                status: int = answer.status
                return status
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        except OSError:
            return 0

    def log(self) -> list[Object]:
        """What it has logged so far."""
        lines = self._daemon.log.read_text().splitlines() if self._daemon.log.exists() else []
        return [json.loads(line) for line in lines if line.startswith("{")]

    def wait_until(self, condition: Callable[[], bool], what: str, seconds: float = START_SECONDS) -> None:
        """Ask until it holds, as long as the process runs."""
        deadline = time.monotonic() + seconds
        pause = threading.Event()
        while not condition():
            assert self._daemon.running, self._daemon.tail()
            assert time.monotonic() < deadline, f"not seen in {seconds:g} s: {what}\n{self._daemon.tail()}"
            pause.wait(0.1)
