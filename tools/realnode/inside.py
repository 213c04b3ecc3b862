"""The node itself: the first process of its own namespaces. It starts the node's programs, and ends when one of them does.

Whatever it mounts is seen by nobody else, and is gone with it, as are its processes and its network.
"""

import math
import os
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from tools.realnode import programs
from tools.realnode.settings import Settings

# Fixed paths of the programs; the machine's own stay as they are.
OWN_FOLDERS = (
    "/run/netns",
    "/run/containerd",
    "/var/lib/cni",
    "/var/lib/kubelet",
    "/var/log/containers",
    "/var/log/pods",
)
# Kubelet sets these for the whole machine. It finds files in their place that have the values already.
WANTED_SYSCTLS = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
LINK_SECONDS = 10.0
API_SECONDS = 60.0
LOOK_SECONDS = 0.1


def main() -> None:
    """Be the node whose folder and binaries are named by the arguments."""
    settings, binaries = Settings(folder=Path(sys.argv[1])), Path(sys.argv[2])
    _own_mounts(settings)
    _own_network(settings)
    node = _Node(settings)
    node.start(programs.first(settings, binaries))
    node.watch_until(lambda: _api_is_ready(settings), what="the API server", seconds=API_SECONDS)
    node.start(programs.second(settings, binaries))
    node.watch_until(lambda: False)


class _Node:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._programs: dict[int, str] = {}

    def start(self, commands: dict[str, programs.Command]) -> None:
        for name, command in commands.items():
            with (self._settings.logs / f"{name}.log").open("wb") as log:
                process = subprocess.Popen(
                    command, cwd=self._settings.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
                )
            self._programs[process.pid] = name

    def watch_until(self, reached: Callable[[], bool], *, what: str = "", seconds: float = math.inf) -> None:
        """Reap what ends until `reached()`; ends the node when one of its programs has ended, or when it takes too long."""
        deadline = time.monotonic() + seconds
        while not reached():
            while (ended := os.waitpid(-1, os.WNOHANG) if self._programs else (0, 0))[0]:
                if name := self._programs.get(ended[0]):
                    sys.exit(f"{name} ended with code {os.waitstatus_to_exitcode(ended[1])}; see logs/{name}.log")
            if time.monotonic() > deadline:
                sys.exit(f"{what} was not ready within {seconds:.0f} s")
            time.sleep(LOOK_SECONDS)


def _own_mounts(settings: Settings) -> None:
    socket.sethostname(settings.name)
    # Volumes that kubelet mounts must be seen by containerd; neither is seen outside this namespace.
    _run("mount", "--make-rshared", "/")
    for folder in OWN_FOLDERS:
        _run("mount", "-t", "tmpfs", "tmpfs", folder)
    for name, value in WANTED_SYSCTLS.items():
        if Path("/proc/sys", name).exists():
            file = settings.folder / "run" / name.replace("/", ".")
            file.write_text(f"{value}\n")
            _run("mount", "--bind", str(file), f"/proc/sys/{name}")


def _own_network(settings: Settings) -> None:
    """Configure the cable to the machine, which the outside puts in place."""
    deadline = time.monotonic() + LINK_SECONDS
    while not Path("/proc/sys/net/ipv4/conf/eth0").exists():
        if time.monotonic() > deadline:
            sys.exit("no link to the machine appeared")
        time.sleep(LOOK_SECONDS)
    _run("ip", "link", "set", "lo", "up")
    _run("ip", "address", "add", f"{settings.address}/{settings.prefix_length}", "dev", "eth0")
    _run("ip", "link", "set", "eth0", "up")
    _run("ip", "route", "add", "default", "via", settings.host_address)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1\n")
    bridge = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")
    if bridge.exists():
        bridge.write_text("1\n")


def _api_is_ready(settings: Settings) -> bool:
    context = ssl.create_default_context(cafile=str(settings.pki / "ca.crt"))
    context.load_cert_chain(settings.pki / "admin.crt", settings.pki / "admin.key")
    try:
        with urllib.request.urlopen(f"{settings.api_url}/readyz", context=context, timeout=2) as answer:
            return bool(answer.read() == b"ok")
    except (OSError, urllib.error.URLError):
        return False


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed: {done.stderr.strip()}")


if __name__ == "__main__":
    main()
