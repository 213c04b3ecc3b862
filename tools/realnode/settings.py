"""Where a node lives and what it is called. Everything of it is in one folder, and all its addresses are in its own network."""

from dataclasses import dataclass
from pathlib import Path

KUBERNETES_VERSION = "v1.37.2"
PAUSE_IMAGE = "registry.k8s.io/pause:3.10"
BUSYBOX_IMAGE = "docker.io/library/busybox:1.36"


@dataclass(frozen=True)
class Settings:
    """The names and addresses of the one node that a machine can have at a time."""

    folder: Path = Path("/var/lib/reprise-node")
    name: str = "reprise-node"  # of the node, of its host, and of its cgroup
    host_link: str = "reprise-host"  # the machine's end of the cable to the node; at most 15 characters
    host_address: str = "10.231.0.1"
    address: str = "10.231.0.2"
    prefix_length: int = 30
    pod_cidr: str = "10.244.0.0/24"
    service_cidr: str = "10.96.0.0/16"
    api_service_address: str = "10.96.0.1"
    dns_service_address: str = "10.96.0.10"
    api_port: int = 6443
    etcd_port: int = 2379

    @property
    def api_url(self) -> str:
        return f"https://{self.address}:{self.api_port}"

    @property
    def pki(self) -> Path:
        return self.folder / "pki"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return self.folder / "admin.kubeconfig"

    @property
    def audit_log(self) -> Path:
        return self.logs / "audit.log"

    @property
    def pid_file(self) -> Path:
        """Which process is the node: its pid, and when it was started, as a pid comes again."""
        return self.folder / "node.pid"

    @property
    def containerd_socket(self) -> Path:
        return self.folder / "run" / "containerd.sock"
