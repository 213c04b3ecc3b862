"""Bring a node up, and take it down so that nothing of it stays on the machine."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tools.realnode.certificates import make_certificates
from tools.realnode.cgroups import make_cgroups, missing_hierarchies, remove_cgroups
from tools.realnode.documents import write_documents
from tools.realnode.images import load_images, small_images
from tools.realnode.inside import OWN_FOLDERS
from tools.realnode.process import NodeProcess, child_of
from tools.realnode.settings import Settings

ROOT = Path(__file__).parents[2]
PACKAGES = ("busybox-static", "containerd", "containernetworking-plugins", "iproute2", "iptables", "openssl", "runc")
READY_SECONDS = 120.0
LOOK_SECONDS = 0.2
TAIL_LINES = 15


class NodeError(Exception):
    """The node could not be brought up or taken down; the message says why and what to do."""


def up(settings: Settings, images: Sequence[Path]) -> None:
    """Bring the node up with the images of these archives, and wait until pods can run on it; does nothing when it is up.

    Raises:
        NodeError: it does not come up; the message has the ends of its logs, and nothing of it is left.
    """
    if (running := NodeProcess.recorded(settings)) and running.runs():
        _say(f"the node is up already (process {running.pid}); its images stay as they are")
        return
    _check_machine(settings)
    for image in images:
        if not image.is_file():
            raise NodeError(f"there is no image archive {image}")
    binaries = _binaries()
    down(settings)
    try:
        _up(settings, images, binaries)
    except BaseException as failure:
        ends = _log_ends(settings)
        with contextlib.suppress(NodeError):
            down(settings)
        if isinstance(failure, Exception):
            # The reason last, where it is read first.
            raise NodeError(f"the node did not come up\n{ends}\n--- why\n{failure}") from failure
        raise


def down(settings: Settings) -> None:
    """End the node and remove what belongs to it; does nothing when there is none.

    Raises:
        NodeError: something of it stays.
    """
    if process := NodeProcess.recorded(settings):
        if process.runs():
            _say("ending the node")
        try:
            process.end()
        except TimeoutError as timeout:
            raise NodeError(str(timeout)) from timeout
    # The namespaces took the processes, the mounts and the cable with them.
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    if stayed := [point for point in mounts if Path(point).is_relative_to(settings.folder)]:
        raise NodeError(f"still mounted below {settings.folder}: {', '.join(stayed)}; nothing was deleted")
    if stuck := _retry(lambda: not remove_cgroups(settings), seconds=10.0):
        raise NodeError(f"cgroups of the node stay, as {stuck}: {', '.join(map(str, remove_cgroups(settings)))}")
    for folder in _made_folders(settings):
        with contextlib.suppress(OSError):
            folder.rmdir()
    shutil.rmtree(settings.folder, ignore_errors=True)
    if settings.folder.exists():
        raise NodeError(f"{settings.folder} could not be removed; remove it by hand")


def _up(settings: Settings, images: Sequence[Path], binaries: Path) -> None:
    began = time.monotonic()
    settings.folder.mkdir(mode=0o700, parents=True)
    settings.logs.mkdir()
    make_certificates(settings)
    write_documents(settings)
    small = small_images(settings.folder, binaries)
    made = [folder for folder in map(Path, OWN_FOLDERS) if not folder.exists()]
    (settings.folder / "made-folders.json").write_text(json.dumps([str(folder) for folder in made]))
    for folder in made:
        folder.mkdir(parents=True)
    make_cgroups(settings)
    _start(settings, binaries)
    _say(f"the node is process {_process(settings).pid}; its logs are in {settings.logs}")

    def wait(what: str, reached: Callable[[], bool]) -> None:
        def look() -> bool:
            if not _process(settings).runs():
                raise NodeError(f"the node ended by itself while {what} was waited for")
            return reached()

        if _retry(look, seconds=READY_SECONDS):
            raise NodeError(f"{what} took more than {READY_SECONDS:.0f} s")
        _say(f"{what}: after {time.monotonic() - began:.1f} s")

    kubectl = f"{binaries}/kubectl"
    wait("containerd answers", lambda: _answers(settings.containerd_socket))
    load_images(settings, [*small, *images])
    wait("images are loaded", lambda: True)
    wait("the API server is ready", lambda: _kubectl(settings, kubectl, "get", "--raw", "/readyz") == "ok")
    wait(
        "the node's name server is known",
        lambda: bool(_kubectl(settings, kubectl, "apply", "-f", f"{settings.folder}/dns.json")),
    )
    wait("the node is ready", lambda: _node_is_ready(settings, kubectl))
    wait(
        "service accounts are there",
        lambda: bool(_kubectl(settings, kubectl, "get", "serviceaccount", "default", "-o", "name")),
    )


def _start(settings: Settings, binaries: Path) -> None:
    """Start the node in namespaces of its own, record it, and lay the cable."""
    with (settings.logs / "node.log").open("wb") as log:
        # The machine's environment is none of the node's business, but a word in it may say who started it.
        unshare = subprocess.Popen(
            [
                "unshare", "--net", "--mount", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc",
                sys.executable, "-m", "tools.realnode.inside", settings.folder, binaries,
            ],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
    if _retry(lambda: child_of(unshare.pid) is not None, seconds=5.0):
        unshare.kill()
        raise NodeError("no namespaces of its own for the node")
    pid = child_of(unshare.pid)
    assert pid
    NodeProcess.of(pid).record(settings)
    subprocess.run(["ip", "link", "delete", settings.host_link], capture_output=True, check=False)
    cable = ["link", "add", settings.host_link, "type", "veth", "peer", "name", "eth0", "netns", str(pid)]
    for arguments in (
        cable,
        ["address", "add", f"{settings.host_address}/{settings.prefix_length}", "dev", settings.host_link],
        ["link", "set", settings.host_link, "up"],
    ):
        done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise NodeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def _check_machine(settings: Settings) -> None:
    if os.getuid() != 0:
        raise NodeError("a node needs root: it makes namespaces and cgroups")
    if missing := missing_hierarchies():
        raise NodeError(
            f"this machine has no cgroup version 1 hierarchy for {', '.join(missing)}; use kind here (make kind-up), which needs Docker"
        )
    done = subprocess.run([ROOT / "tools/image/packages.sh", *PACKAGES], check=False)
    if done.returncode:
        raise NodeError(f"the packages {', '.join(PACKAGES)} are needed")
    addresses = json.loads(_output("ip", "-json", "address"))
    taken = [
        link["ifname"]
        for link in addresses
        if link["ifname"] != settings.host_link
        and any(each.get("local") in (settings.host_address, settings.address) for each in link["addr_info"])
    ]
    if taken:
        raise NodeError(
            f"{taken[0]} of this machine has an address that the node uses ({settings.host_address}, {settings.address})"
        )


def _binaries() -> Path:
    """One folder with links to the control plane's and the node's programs."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reprise" / "realnode" / "programs"
    folder.mkdir(parents=True, exist_ok=True)
    for script in ("tools/control-plane/build.sh", "tools/realnode/build.sh"):
        done = subprocess.run([ROOT / script], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise NodeError(f"{script} failed")
        for program in Path(done.stdout.strip().splitlines()[-1]).iterdir():
            if os.access(program, os.X_OK) and program.is_file():
                link = folder / f".{program.name}.{os.getpid()}"
                link.symlink_to(program)
                link.replace(folder / program.name)
    return folder


def _process(settings: Settings) -> NodeProcess:
    process = NodeProcess.recorded(settings)
    assert process
    return process


def _made_folders(settings: Settings) -> list[Path]:
    with contextlib.suppress(FileNotFoundError, ValueError):
        return [Path(name) for name in json.loads((settings.folder / "made-folders.json").read_text())]
    return []


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


def _node_is_ready(settings: Settings, kubectl: str) -> bool:
    text = _kubectl(settings, kubectl, "get", "node", settings.name, "-o", "json")
    node: dict[str, Any] = json.loads(text) if text else {}
    conditions = node.get("status", {}).get("conditions", [])
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and not node["spec"].get("taints")


def _kubectl(settings: Settings, kubectl: str, *arguments: str) -> str:
    """What it printed; nothing when it failed, which is looked at again."""
    command = [kubectl, f"--kubeconfig={settings.kubeconfig}", "--request-timeout=5s", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _retry(reached: Callable[[], bool], *, seconds: float) -> str:
    """Look until it is so; says how long that was too long, or nothing."""
    deadline = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > deadline:
            return f"{seconds:.0f} s were not enough"
        time.sleep(LOOK_SECONDS)
    return ""


def _log_ends(settings: Settings) -> str:
    """The last lines of every log, for who has to find out why."""
    logs = [log for log in sorted(settings.logs.glob("*.log")) if log != settings.audit_log]
    ends = {log.name: log.read_text(errors="replace").splitlines()[-TAIL_LINES:] for log in logs}
    return "\n".join("\n".join((f"--- {name}", *lines)) for name, lines in ends.items() if lines)


def _say(text: str) -> None:
    print(f"realnode: {text}", file=sys.stderr, flush=True)
