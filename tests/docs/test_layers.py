"""Imports point down: the contracts of pyproject.toml hold, and each of them would notice."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.docs.checkout import ROOT

# One line of code for each contract that breaks it.
TRESPASSES = {
    "Imports point down": ("framework/trespass.py", "import scheduler.queue"),
    "Only scheduler.kube talks to the API": ("app/trespass.py", "import pyreqwest.client"),
    "Only scheduler.telemetry knows Prometheus": ("core/trespass.py", "import prometheus_client"),
    "Only scheduler.operator knows kopf": ("kube/trespass.py", "import kopf"),
    "The pure layers have no loop, clock, chance or I/O": ("cache/trespass.py", "import time"),
    "Plugins do not know each other": ("plugins/trespass.py", "import scheduler.plugins.neighbour"),
}
LAYERS = (
    "app",
    "sim",
    "kube",
    "operator",
    "telemetry",
    "serving",
    "core",
    "config",
    "profile",
    "batch",
    "cache",
    "queue",
)


def lint_imports(checkout: Path) -> str:
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [program, "--no-cache"],
        cwd=checkout,
        check=False,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(checkout)},
    )
    return done.stdout + done.stderr


def verdicts(report: str) -> dict[str, str]:
    return dict(re.findall(r"^(.+?) (KEPT|BROKEN)", report, re.MULTILINE))


def test_every_contract_is_kept() -> None:
    report = lint_imports(ROOT)

    assert verdicts(report) == dict.fromkeys(TRESPASSES, "KEPT"), report


def test_every_contract_notices_a_trespass(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package in (*LAYERS, "plugins", "framework", "api"):
        (tmp_path / "scheduler" / package).mkdir(parents=True)
        (tmp_path / "scheduler" / package / "__init__.py").touch()
    (tmp_path / "scheduler" / "__init__.py").touch()
    (tmp_path / "scheduler" / "plugins" / "neighbour.py").touch()
    assert verdicts(lint_imports(tmp_path)) == dict.fromkeys(TRESPASSES, "KEPT")

    for name, line in TRESPASSES.values():
        (tmp_path / "scheduler" / name).write_text(line + "\n")

    assert verdicts(lint_imports(tmp_path)) == dict.fromkeys(TRESPASSES, "BROKEN")
