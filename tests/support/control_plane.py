"""A real etcd and kube-apiserver on loopback, for tests: RBAC on, TLS verified, a few users with tokens.

No controller runs unless a test starts some: no namespace is finalized, no garbage collected and no ReplicaSet filled.
"""

import os
import re
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Self

from tests.support.api_client import ApiClient, ApiError
from tests.support.binaries import binaries_folder
from tests.support.cluster_reset import count_objects, reset_cluster
from tests.support.daemons import Daemon, DaemonError
from tests.support.granted_and_seen import AUDIT_POLICY, AUDIT_VARIABLE
from tests.support.kubeconfig import write_kubeconfig
from tests.support.rbac import apply_lease, apply_rbac
from tests.support.resources import NAMESPACES

READY_SECONDS = 60.0
PORT_ATTEMPTS = 3
# Deleting a pod costs the server 2 ms of CPU, a new start about 5 s.
MANY_OBJECTS = 1500
# Nothing here mounts service account tokens, and nothing removes the not-ready taint that the other one adds to nodes.
DISABLED_ADMISSION_PLUGINS = ("ServiceAccount", "TaintNodesByCondition")

# Who may speak to the server: key -> user name and groups. What each may do is in tests/support/rbac.py.
USERS = {
    "admin": ("admin", "system:masters"),
    "reprise": (
        "system:serviceaccount:reprise:reprise",
        "system:serviceaccounts,system:serviceaccounts:reprise",
    ),
    # The same identity under another token: its uid, which audit logs show, tells one replica from the other.
    "reprise-2": (
        "system:serviceaccount:reprise:reprise",
        "system:serviceaccounts,system:serviceaccounts:reprise",
    ),
    "kube-scheduler": ("system:kube-scheduler", ""),
    "kube-controller-manager": ("system:kube-controller-manager", ""),
    "foreign-binder": ("foreign-binder", ""),
    "nobody": ("nobody", ""),
}

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n", re.DOTALL)


class ControlPlane:
    """An etcd and a kube-apiserver in a temporary folder; use it in a `with`, or call `start` and `stop`."""

    etcd: Daemon
    apiserver: Daemon
    folder: Path
    ca_file: Path

    def __init__(
        self,
        *,
        apiserver_arguments: Sequence[str] = (),
        disabled_admission_plugins: Sequence[str] = DISABLED_ADMISSION_PLUGINS,
    ) -> None:
        """Prepare a control plane; `apiserver_arguments` come last and win over those given here."""
        self.start_seconds: dict[str, float] = {}
        self._apiserver_arguments = tuple(apiserver_arguments)
        self._disabled_admission_plugins = tuple(disabled_admission_plugins)
        self._tokens = {key: secrets.token_hex(16) for key in USERS}
        self._clients: dict[str, ApiClient] = {}
        self._daemons: list[Daemon] = []
        self._port = 0
        self._etcd_url = ""

    def start(self) -> Self:
        """Start both and wait until they are ready and the roles of tests/support/rbac.py are granted.

        Raises:
            DaemonError: a program ended or was not ready in time; the message has the last lines of its log.
        """
        self.folder = Path(tempfile.mkdtemp(prefix="control-plane-"))
        self.ca_file = self.folder / "ca.crt"
        try:
            self._start_daemons()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End both and remove the folder; harmless when nothing runs."""
        self._stop_daemons()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # ------------------------------------------------------------------------------------------------------------- use

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._port}"

    def token(self, user: str) -> str:
        """The bearer token of a user of USERS."""
        return self._tokens[user]

    def client(self, user: str = "admin") -> ApiClient:
        """The client of a user; one each, closed with the control plane."""
        if user not in self._clients:
            self._clients[user] = ApiClient(self.url, ca_file=self.ca_file, token=self.token(user))
        return self._clients[user]

    def kubeconfig(self, user: str, path: Path | None = None) -> Path:
        """A kubeconfig file for a user, at `path` or in the control plane's own folder."""
        target = path or self.folder / f"{user}.kubeconfig"
        return write_kubeconfig(target, url=self.url, ca_file=self.ca_file, user=user, token=self.token(user))

    def reset(self) -> None:
        """Empty the cluster, in seconds whatever its size; end the schedulers first.

        With a few objects they are deleted through the API (see `reset_cluster` for what stays). With many it is quicker
        to start both programs again without their data: then nothing stays but addresses and tokens.
        """
        if count_objects(self.client()) > MANY_OBJECTS:
            self._stop_daemons()
            shutil.rmtree(self.folder / "etcd")
            self._start_daemons()
        else:
            reset_cluster(self.client())
            apply_lease(self.client())

    def logs(self, lines: int = 40) -> str:
        """The last lines of both logs."""
        return f"{self.etcd.tail(lines)}\n{self.apiserver.tail(lines)}"

    # ------------------------------------------------------------------------------------------------------- lifecycle

    def start_apiserver(self) -> None:
        """Start the kube-apiserver, again on the same port when it ran before, and wait until it is ready."""
        certificates = self.folder / "certificates"
        tokens = self.folder / "tokens.csv"
        if not tokens.exists():
            rows = (f'{self._tokens[key]},{name},{key},"{groups}"\n' for key, (name, groups) in USERS.items())
            _write_private(tokens, "".join(rows))
        arguments = [
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",  # it would refuse to publish a loopback address
            f"--etcd-servers={self._etcd_url}",
            f"--cert-dir={certificates}",
            # The server makes its own certificate and key first; the key is as good for service account tokens.
            f"--service-account-signing-key-file={certificates}/apiserver.key",
            f"--service-account-key-file={certificates}/apiserver.key",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--authorization-mode=RBAC",
            f"--token-auth-file={tokens}",
            f"--disable-admission-plugins={','.join(self._disabled_admission_plugins)}",
            "--allow-privileged=true",
            "--delete-collection-workers=16",
            *self._audit_arguments(),
            *self._apiserver_arguments,
        ]

        def ready() -> bool:
            if not (self.ca_file.exists() or extract_ca(certificates / "apiserver.crt", self.ca_file)):
                return False
            try:
                return self.client().text("/readyz") == "ok"
            except (ApiError, OSError):
                return False

        for attempt in range(PORT_ATTEMPTS):
            if attempt or not self._port:
                self._port = free_ports(1)[0]
                self._clients.clear()
            command: list[str | Path] = [
                binaries_folder() / "kube-apiserver",
                f"--secure-port={self._port}",
                *arguments,
            ]
            self.apiserver = self._run("kube-apiserver", command)
            try:
                self.start_seconds["kube-apiserver"] = self.apiserver.wait_ready(ready, seconds=READY_SECONDS)
            except DaemonError:
                self.apiserver.kill()
                if attempt + 1 == PORT_ATTEMPTS or "address already in use" not in self.apiserver.tail(400):
                    raise
            else:
                return

    def _audit_arguments(self) -> list[str]:
        """With REPRISE_AUDIT, what ServiceAccounts ask for is written into a file of that folder: see granted_and_seen."""
        if not (folder := os.environ.get(AUDIT_VARIABLE)):
            return []
        policy = self.folder / "audit-policy.yaml"
        policy.write_text(AUDIT_POLICY)
        log = Path(folder).absolute() / f"{self.folder.name}.log"
        return [f"--audit-policy-file={policy}", f"--audit-log-path={log}", "--audit-log-mode=blocking"]

    def stop_apiserver(self) -> None:
        """Kill the kube-apiserver, as a crash would; etcd keeps the state for the next `start_apiserver`."""
        self._close_clients()
        self.apiserver.kill()

    def _start_daemons(self) -> None:
        began = time.monotonic()
        self._start_etcd()
        self.start_apiserver()
        self._wait_for_namespaces()
        apply_rbac(self.client())
        self.start_seconds["all"] = time.monotonic() - began

    def _stop_daemons(self) -> None:
        self._close_clients()
        for daemon in reversed(self._daemons):
            daemon.kill()  # nothing of it is kept, so an orderly end is time lost
        self._daemons.clear()

    def _start_etcd(self) -> None:
        for attempt in range(PORT_ATTEMPTS):
            self._etcd_url, peer_url = (f"http://127.0.0.1:{port}" for port in free_ports(2))
            command: list[str | Path] = [
                binaries_folder() / "etcd",
                f"--data-dir={self.folder}/etcd",
                f"--listen-client-urls={self._etcd_url}",
                f"--advertise-client-urls={self._etcd_url}",
                f"--listen-peer-urls={peer_url}",
                f"--initial-advertise-peer-urls={peer_url}",
                f"--initial-cluster=default={peer_url}",
                "--unsafe-no-fsync",  # the data is thrown away
                "--quota-backend-bytes=4294967296",
                "--log-level=warn",
            ]
            self.etcd = self._run("etcd", command)
            try:
                with ApiClient(self._etcd_url) as etcd:
                    self.start_seconds["etcd"] = self.etcd.wait_ready(partial(_healthy, etcd), seconds=READY_SECONDS)
            except DaemonError:
                self.etcd.kill()
                if attempt + 1 == PORT_ATTEMPTS or "address already in use" not in self.etcd.tail(400):
                    raise
            else:
                return

    def _run(self, name: str, command: Sequence[str | Path]) -> Daemon:
        daemon = Daemon(name, command, folder=self.folder)
        self._daemons.append(daemon)
        return daemon

    def _close_clients(self) -> None:
        for client in self._clients.values():
            client.close()

    def _wait_for_namespaces(self) -> None:
        """`default` and its like are made after /readyz says ok."""

        def made() -> bool:
            names = {namespace["metadata"]["name"] for namespace in self.client().list_objects(NAMESPACES)}
            return {"default", "kube-system", "kube-node-lease", "kube-public"} <= names

        self.apiserver.wait_ready(made, seconds=READY_SECONDS)


def free_ports(count: int) -> list[int]:
    """Ports of loopback that were free a moment ago."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports


def extract_ca(certificate: Path, ca_file: Path) -> bool:
    """Write the CA that a Kubernetes program made for its own certificate; it stands behind that certificate in the file."""
    chain = _CERTIFICATE.findall(certificate.read_text()) if certificate.exists() else []
    if len(chain) != 2:
        return False
    part = ca_file.with_suffix(".part")
    part.write_text(chain[1])
    part.replace(ca_file)
    return True


def _healthy(etcd: ApiClient) -> bool:
    try:
        return etcd.send("GET", "/health").status == 200
    except OSError:
        return False


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
