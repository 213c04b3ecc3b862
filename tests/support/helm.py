"""The real helm and helm-unittest, and what the chart comes to with them."""

import hashlib
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.resources import Object

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "reprise"
HELM_MODULE = ROOT / "tools" / "chart"
Values = Mapping[str, Any]


class HelmError(Exception):
    """Helm refused; the text is what it said."""


def helm_folder() -> Path:
    """The folder that tools/chart/build.sh builds into, or the one REPRISE_HELM names; it may not exist."""
    if named := os.environ.get("REPRISE_HELM"):
        return Path(named)
    content = b"".join((HELM_MODULE / name).read_bytes() for name in ("go.mod", "go.sum", "build.sh"))
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "reprise" / "helm" / hashlib.sha256(content).hexdigest()[:16]


def require_helm(*names: str) -> Path:
    """The folder of the programs; without them the test fails in CI and is skipped elsewhere, and says how to get them."""
    folder = helm_folder()
    missing = [name for name in names if not os.access(folder / name, os.X_OK)]
    if not missing:
        return folder
    message = f"needs the real {', '.join(missing)} (run `make test-chart`; looked in {folder})"
    if os.environ.get("CI"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


class Helm:
    """One helm, with a home of its own: what is configured on the machine has no say."""

    def __init__(self, program: Path, home: Path, kubeconfig: Path | None = None) -> None:
        self._program = program
        self._environment = {
            "HOME": str(home),
            "PATH": os.environ.get("PATH", ""),
            "KUBECONFIG": str(kubeconfig or home / "none"),
        }
        self._home = home

    def run(self, *arguments: str | Path, values: Values | None = None) -> str:
        """What it prints.

        Raises:
            HelmError: it ended with another code than 0.
        """
        command = [self._program, *arguments]
        if values is not None:
            file = self._home / "values.json"
            file.write_text(json.dumps(values))
            command.append(f"--values={file}")
        done = subprocess.run(command, capture_output=True, text=True, env=self._environment, check=False)
        if done.returncode != 0:
            raise HelmError(done.stdout + done.stderr)
        return done.stdout

    def template(
        self, values: Values | None = None, *, release: str = "reprise", namespace: str = "reprise", hooks: bool = False
    ) -> list[Object]:
        """The objects that the chart comes to, in helm's order.

        Raises:
            HelmError: the values are refused.
        """
        options = [f"--namespace={namespace}", *([] if hooks else ["--no-hooks"])]
        text = self.run("template", release, CHART, *options, values=values or {})
        return [each for each in YAML(typ="safe").load_all(text) if each]


def only(objects: Sequence[Object], kind: str, name: str | None = None) -> Object:
    """The one object of this kind."""
    (found,) = [each for each in objects if each["kind"] == kind and (name is None or each["metadata"]["name"] == name)]
    return found


def of_kind(objects: Sequence[Object], kind: str) -> list[Object]:
    return [each for each in objects if each["kind"] == kind]
