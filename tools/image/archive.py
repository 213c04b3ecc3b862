"""Writes a container image of one layer as an archive that buildah, docker and containerd read, without any of them.

`python3 tools/image/archive.py ARCHIVE NAME:TAG --root FOLDER [--env KEY=VALUE ...] [--user UID] [--command WORD ...]`
packs a folder. Everything in it belongs to root. The same folder gives the same bytes.
"""

import argparse
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Sequence
from pathlib import Path

EPOCH = "1970-01-01T00:00:00Z"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def write_archive(
    archive: Path,
    name: str,
    root: Path,
    *,
    machine: str,
    environment: Sequence[str] = (),
    user: str = "",
    command: Sequence[str] = (),
) -> None:
    """Write `archive` with one image called `name`, whose only layer is what is in the folder `root`.

    Raises:
        ValueError: no image architecture is known for `machine`, which is the kernel's name of it.
    """
    if machine not in ARCHITECTURES:
        raise ValueError(f"no image architecture is known for the machine {machine}; known are {sorted(ARCHITECTURES)}")
    layer = archive.with_name(archive.name + ".layer")
    try:
        with tarfile.open(layer, "w") as file:
            file.add(root, arcname=".", filter=_as_root)
        with layer.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        configuration = {
            "architecture": ARCHITECTURES[machine],
            "os": "linux",
            "created": EPOCH,
            "config": {"Env": list(environment), "User": user, "Cmd": list(command)},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
            "history": [{"created": EPOCH, "created_by": "archive.py"}],
        }
        text = json.dumps(configuration).encode()
        config_name = f"{hashlib.sha256(text).hexdigest()}.json"
        manifest = [{"Config": config_name, "RepoTags": [name], "Layers": [f"{digest}.tar"]}]
        with tarfile.open(archive, "w") as file:
            _add_bytes(file, "manifest.json", json.dumps(manifest).encode())
            _add_bytes(file, config_name, text)
            info = file.gettarinfo(str(layer), f"{digest}.tar")
            with layer.open("rb") as content:
                file.addfile(_as_root(info), content)
    finally:
        layer.unlink(missing_ok=True)


def _add_bytes(file: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    file.addfile(info, io.BytesIO(content))


def _as_root(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info  # its time stays: compiled modules name that of their source


def main() -> None:
    """Pack one folder, as the arguments say."""
    parser = argparse.ArgumentParser(description="pack a folder as a container image of one layer")
    parser.add_argument("archive", type=Path)
    parser.add_argument("name", metavar="NAME:TAG")
    parser.add_argument("--root", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--env", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--user", default="")
    parser.add_argument("--command", nargs="+", default=[], metavar="WORD")
    options = parser.parse_args()
    write_archive(
        options.archive,
        options.name,
        options.root,
        machine=os.uname().machine,
        environment=options.env,
        user=options.user,
        command=options.command,
    )


if __name__ == "__main__":
    main()
