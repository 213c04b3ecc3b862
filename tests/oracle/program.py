"""The two sides as programs: lines in, answers out."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scheduler.profile.registry import IN_TREE, missing_defaults

FOLDER = Path(__file__).parent
HOW = "run tests/oracle/build.sh, which needs Go 1.26 or newer"
# An evaluation of one line takes milliseconds; a batch that takes this long hangs.
BATCH_SECONDS = 600
MOST_CRASHES = 8


def missing() -> tuple[str, ...]:
    """The default plugins of kube-scheduler that Reprise does not have yet; the oracle leaves them out as well."""
    return missing_defaults(IN_TREE)


def sources_digest() -> str:
    """The sha256 of everything that the oracle's answers depend on: its sources, the pinned versions, the missing plugins."""
    digest = hashlib.sha256(",".join(missing()).encode())
    for path in sorted((FOLDER / "go.mod", FOLDER / "go.sum", *FOLDER.glob("*.go"))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


class MissingOracle(Exception):
    """The Go program is not there and cannot be built."""


def build() -> Path:
    """The oracle's binary, built when it is not there yet.

    Raises:
        MissingOracle: Go is missing or too old, or a module cannot be fetched.
    """
    # Its progress is shown; that Go is missing is said once, by the caller.
    errors = None if shutil.which("go") else subprocess.DEVNULL
    done = subprocess.run([FOLDER / "build.sh"], stdout=subprocess.PIPE, stderr=errors, text=True, check=False)
    if done.returncode:
        raise MissingOracle(f"the oracle cannot be built ({HOW})")
    return Path(done.stdout.strip())


@dataclass
class Program:
    """A command that answers each line with a line."""

    name: str
    command: Sequence[str | Path]
    reached: Counter[str] = field(default_factory=Counter)
    counts: bool = False  # whether the command takes -counts FILE
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, lines: Sequence[str]) -> list[Any]:
        """An answer for each line, in one process. What the process does not answer is `{"missing": why}`.

        A line that ends the process costs its own answer only: the rest is asked of a new process.
        """
        answers: list[Any] = []
        for _ in range(MOST_CRASHES):
            rest = lines[len(answers) :]
            got, problem = self._run(rest)
            answers += got[: len(rest)]
            if len(answers) == len(lines):
                return answers
            answers.append({"missing": problem})
        return answers + [{"missing": f"{self.name} was not asked again"}] * (len(lines) - len(answers))

    def _run(self, lines: Sequence[str]) -> tuple[list[Any], str]:
        with tempfile.TemporaryDirectory() as folder:
            counts = Path(folder) / "counts"
            command = [*self.command, *(["-counts", str(counts)] if self.counts else [])]
            text = "".join(f"{line}\n" for line in lines)
            try:
                done = subprocess.run(
                    command, input=text, capture_output=True, text=True, check=False, timeout=BATCH_SECONDS
                )
            except subprocess.TimeoutExpired:
                return [], f"{self.name}: no end after {BATCH_SECONDS} s"
            if counts.exists():
                with self.lock:
                    self.reached.update(json.loads(counts.read_text()))
        answers = []
        for line in done.stdout.split("\n")[:-1]:
            try:
                answers.append(json.loads(line))
            except ValueError:
                answers.append({"missing": f"{self.name}: not a line of JSON: {line[:200]}"})
        last = done.stderr.strip().splitlines()[-1:] or ["nothing on standard error"]
        return answers, f"{self.name} ended with code {done.returncode}: {last[0][:300]}"


def oracle() -> Program:
    return Program("the oracle", oracle_command(), counts=True)


def oracle_command(*options: str) -> list[str | Path]:
    """The Go program with the missing plugins taken out, built when it is not there yet.

    Raises:
        MissingOracle: see `build`.
    """
    return [build(), "-missing", ",".join(missing()), *options]


def direct() -> Program:
    """Reprise's plugins one at a time, for lines that have "alone"."""
    return Program("reprise, one plugin alone", [sys.executable, "-m", "tests.oracle.direct"])


def reprise() -> Program:
    """The command under test, of the environment that runs this; REPRISE_EVALUATE names another one."""
    if named := os.environ.get("REPRISE_EVALUATE"):
        return Program("reprise", named.split())
    return Program("reprise", [Path(sys.executable).with_name("reprise"), "evaluate", "--jsonl"])
