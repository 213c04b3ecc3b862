"""Grafana's own types read the dashboards: nothing unknown is in them, nothing is missing and nothing out of its range."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.prometheus.questions import BOARDS

PROGRAM = Path(__file__).with_name("schema")
Check = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Check:
    """The program; built with Go, which keeps what it has compiled."""
    if shutil.which("go") is None:
        message = "needs Go, to read the dashboards as Grafana's own types have them"
        if os.environ.get("CI"):
            pytest.fail(message, pytrace=False)
        pytest.skip(message)
    made = tmp_path_factory.mktemp("schema") / "schema"
    build = subprocess.run(
        ["go", "build", "-o", made, "."], cwd=PROGRAM, capture_output=True, text=True, check=False, timeout=170
    )
    assert build.returncode == 0, build.stdout + build.stderr

    def run(*files: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([made, *files], capture_output=True, text=True, check=False, timeout=30)

    return run


def test_the_dashboards_are_as_grafana_has_them(check: Check) -> None:
    answer = check(*BOARDS)

    assert (answer.returncode, answer.stdout + answer.stderr) == (0, "")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda board: board.update(colour="red"), "unexpected field 'colour'"),
        (lambda board: board["panels"][1].update(title=7), "panels[1].title"),
        (lambda board: board["panels"][1]["targets"][0].update(exprr="up"), "unexpected field 'exprr'"),
        (
            lambda board: board["panels"][1]["options"].pop("graphMode"),
            "panels[1].options.graphMode: required field is missing",
        ),
        (lambda board: board["panels"][1]["gridPos"].update(w=30), "panels[1].Panel.gridPos.w: must be <= 24"),
    ],
)
def test_what_grafana_does_not_have_is_named(
    check: Check, tmp_path: Path, change: Callable[[dict[str, Any]], object], complaint: str
) -> None:
    board = json.loads(BOARDS[0].read_text())
    change(board)
    file = tmp_path / "board.json"
    file.write_text(json.dumps(board))
    answer = check(file)

    assert answer.returncode == 1
    assert complaint in answer.stdout
