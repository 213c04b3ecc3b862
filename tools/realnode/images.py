"""The two small images that every node needs, and how images get into a node."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tools.image.archive import write_archive
from tools.realnode.settings import BUSYBOX_IMAGE, PAUSE_IMAGE, Settings

APPLETS = ("cat", "date", "echo", "false", "grep", "id", "ls", "nslookup", "ps", "sh", "sleep", "touch", "true", "wget")


def small_images(folder: Path, binaries: Path) -> list[Path]:
    """Write the images of the pause container and of busybox below `folder`; returns the archives."""
    machine = os.uname().machine
    archives = []
    with tempfile.TemporaryDirectory(dir=folder) as made:
        pause = Path(made, "pause")
        pause.mkdir()
        shutil.copy(binaries / "pause", pause / "pause")
        archives.append(folder / "pause.tar")
        write_archive(archives[-1], PAUSE_IMAGE, pause, machine=machine, user="65535:65535", command=["/pause"])
        busybox = Path(made, "busybox")
        for name in ("bin", "etc", "tmp"):
            (busybox / name).mkdir(parents=True)
        shutil.copy("/bin/busybox", busybox / "bin" / "busybox")
        for applet in APPLETS:
            (busybox / "bin" / applet).symlink_to("busybox")
        archives.append(folder / "busybox.tar")
        write_archive(
            archives[-1], BUSYBOX_IMAGE, busybox, machine=machine, environment=["PATH=/bin"], command=["/bin/sh"]
        )
    return archives


def load_images(settings: Settings, archives: Iterable[Path]) -> None:
    """Put the images of archives into a running node.

    Raises:
        RuntimeError: containerd does not take one.
    """
    for archive in archives:
        done = subprocess.run(
            ["ctr", "--address", settings.containerd_socket, "--namespace", "k8s.io", "images", "import", archive],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"the image {archive} could not be loaded into the node: {done.stderr.strip()}")
