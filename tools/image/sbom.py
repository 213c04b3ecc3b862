"""Writes what the image has of Python packages, from their lock, as a CycloneDX 1.6 document.

`python -m tools.image.sbom FILE`. The base image's own packages are not in it: whoever chooses the base has a list of them.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements" / "runtime.txt"
# Python's minor version in the image, as the Dockerfile's base has it.
_BASE = re.compile(r"^ARG BASE=\S*python:(3\.\d+)-", re.MULTILINE)


def main() -> None:
    """Write the document into the file that the argument names."""
    Path(sys.argv[1]).write_text(json.dumps(document(), indent=2) + "\n")


def document() -> dict[str, Any]:
    """The whole document; the same lock gives the same one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    name, version = project["name"], project["version"]
    own = _component(name, version, kind="application") | {"licenses": [{"license": {"id": project["license"]}}]}
    components = [
        _component(name, version) | hashes for name, version, hashes in locked(LOCK.read_text(), python_version())
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": components,
        # Which package needs which is not in a lock: all are needed by the whole.
        "dependencies": [
            {"ref": own["bom-ref"], "dependsOn": [each["bom-ref"] for each in components]},
            *({"ref": each["bom-ref"]} for each in components),
        ],
    }


def python_version() -> str:
    """The minor version of Python that the image is made for."""
    found = _BASE.search((ROOT / "Dockerfile").read_text())
    if not found:
        raise ValueError("the Dockerfile names no base image of the form ...python:3.MINOR-...")
    return found[1]


def locked(lock: str, python: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each package of a lock that this Python on Linux gets: its name, version and the digests of its archives."""
    environment = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
    environment |= {"platform_system": "Linux", "platform_python_implementation": "CPython", "os_name": "posix"}
    environment |= {"implementation_name": "cpython"}
    for block in re.split(r"\n(?=[^\s#])", lock.replace("\\\n", " ")):
        digests = re.findall(r"--hash=sha256:([0-9a-f]{64})", block)
        text = block.partition(" --hash")[0].partition("\n")[0].strip()
        if not digests:
            raise ValueError(f"the lock has no digest for {text!r}")
        requirement = Requirement(text)
        marker: Marker | None = requirement.marker
        if marker is None or marker.evaluate(environment):
            [specifier] = requirement.specifier
            hashes = [{"alg": "SHA-256", "content": digest} for digest in digests]
            yield requirement.name, specifier.version, {"hashes": hashes}


def _component(name: str, version: str, *, kind: str = "library") -> dict[str, Any]:
    normal = re.sub(r"[-_.]+", "-", name).lower()
    url = f"pkg:pypi/{normal}@{version}"
    return {"type": kind, "bom-ref": url, "name": name, "version": version, "purl": url}


if __name__ == "__main__":
    main()
