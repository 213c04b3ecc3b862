"""The command line as a whole: usage, exit codes, and how it behaves in a pipe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from scheduler.app import cli
from scheduler.app.cli import main, parser
from tests.support.plain_lines import full, node, pod, step

REPRISE = [sys.executable, "-m", "scheduler.app.cli"]
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_without_a_command_the_usage_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert usage_error([], capsys).startswith("usage: reprise ")


def test_an_unknown_command_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert "invalid choice: 'nope'" in usage_error(["nope"], capsys)


def test_the_version_is_that_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert ended.value.code == 0
    assert capsys.readouterr().out == f"reprise {version('reprise-scheduler')}\n"


@pytest.mark.parametrize("count", ["0", "-1", "1.5", "many", ""])
def test_a_number_of_nodes_is_above_zero(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = usage_error(["demo", f"--nodes={count}"], capsys)

    assert f"argument --nodes: expected a whole number above 0, got {count!r}" in text


@pytest.mark.parametrize("seed", ["-1", "1.5", "x", str(2**63)])
@pytest.mark.parametrize("command", ["run", "demo"])
def test_a_seed_fits_in_63_bits(command: str, seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = usage_error([command, f"--seed={seed}"], capsys)

    assert f"argument --seed: expected a whole number from 0 to {2**63 - 1}, got {seed!r}" in text


def test_the_highest_seed_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert parser().parse_args(["run", f"--seed={2**63 - 1}"]).seed == 2**63 - 1


def test_an_interrupted_command_ends_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_options: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_evaluate", interrupt)

    assert main(["evaluate"]) == 130


def test_lines_are_answered_as_they_come() -> None:
    """A program that writes a line and waits for its answer must not wait for ever."""
    with subprocess.Popen(
        [*REPRISE, "evaluate", "--jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=BUFFERED
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in (full(node("n1")), step(node("n2"))):
            process.stdin.write(json.dumps(line).encode() + b"\n")
            process.stdin.flush()
            assert "n1" in json.loads(process.stdout.readline())["filter"]
        process.stdin.close()
        assert process.wait() == 0


def test_a_reader_that_leaves_ends_the_command_quietly(tmp_path: Path) -> None:
    """More than a pipe holds is written to one that nobody reads any more."""
    source = tmp_path / "lines"
    nodes = [node(f"n{number}") for number in range(50)]
    source.write_text((json.dumps(full(*nodes)) + "\n") * 40)
    with (
        source.open("rb") as lines,
        subprocess.Popen(
            [*REPRISE, "evaluate", "--jsonl"], stdin=lines, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=BUFFERED
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait() == 1
        assert process.stderr.read() == b""


def test_a_reader_that_has_left_before_the_end_is_noticed_quietly_too(tmp_path: Path) -> None:
    """So little is written that it is all still buffered when the command is done."""
    file = tmp_path / "cluster"
    file.write_text(json.dumps({"kind": "List", "items": [node("n1"), pod("web")]}))
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*REPRISE, "evaluate", str(file), "--pod", "default/web", "--output", "json"],
        stdout=writer,
        stderr=subprocess.PIPE,
        env=BUFFERED,
        check=False,
    )
    os.close(writer)

    assert (done.returncode, done.stderr) == (1, b"")


def test_the_end_of_the_process_is_that_of_the_command_and_what_waits_for_it_is_done(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("kind: Wrong\n")
    program = (
        "import atexit, sys; from scheduler.app.cli import main;"
        "atexit.register(print, 'cleaned'); main(); sys.exit('still there')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "check-config", str(tmp_path / "wrong.yaml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1:], "still there" in done.stderr) == (2, ["cleaned"], False)
