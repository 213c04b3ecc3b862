"""Puts a fault into a copy of the checkout and runs tests on it, each time in a fork of a process that has the libraries."""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from tests.mutations.mutant import Mutant

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("scheduler", "tests", "pyproject.toml")
LIMIT_SECONDS = 60.0
"""A fault that makes tests run so long was noticed."""
HEALTHY_LIMIT_SECONDS = 600.0
"""All tests together, without a fault, on a busy machine."""

LOWER_PACKAGES = ("api", "framework", "cache", "plugins")
"""Lowest first: none imports a later one."""

PASSED = 0


class MutantError(Exception):
    """A mutant that does not fit the present code."""


def copy_checkout(into: Path) -> None:
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, into / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, into / name)


def preload(copy: Path, mutants: Iterable[Mutant]) -> None:
    """Import what no mutant is in, and what that imports, so that the forks need not."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(copy))
    mutated_packages = {Path(mutant.file).parts[1] for mutant in mutants}
    for package in LOWER_PACKAGES:
        if package in mutated_packages:
            return
        for path in sorted((copy / "scheduler" / package).rglob("*.py")):
            importlib.import_module(".".join(path.relative_to(copy).with_suffix("").parts).removesuffix(".__init__"))


def mutated(mutant: Mutant) -> str:
    """The file with the fault.

    Raises:
        MutantError: the text to replace is not there exactly once.
    """
    source = (ROOT / mutant.file).read_text()
    found = source.count(mutant.old)
    if found != 1:
        raise MutantError(f"{mutant}: the text stands {found} times in the file, not once; bring the mutant up to date")
    made = source.replace(mutant.old, mutant.new)
    try:
        compile(made, mutant.file, "exec")
    except SyntaxError as error:
        raise MutantError(f"{mutant}: the fault is no Python: {error}") from error
    return made


def is_noticed(mutant: Mutant, copy: Path) -> bool:
    """Whether one of the mutant's tests fails on the copy with the fault."""
    path = copy / mutant.file
    healthy = path.read_text()
    path.write_text(mutated(mutant))
    try:
        return run(mutant.tests, copy) != PASSED
    finally:
        path.write_text(healthy)


def run(tests: Sequence[str], copy: Path, limit_seconds: float = LIMIT_SECONDS) -> int:
    """The exit code of pytest on the copy, which stops at the first failure; negative when it takes too long."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            _become_pytest(copy)
            code = int(pytest.main(["-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", *_QUIET, *tests]))
        finally:
            os._exit(code)
    return _wait(child, limit_seconds)


# Whatever the parent has imported already pytest cannot look into; the tests are not among that.
_QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")


def _become_pytest(copy: Path) -> None:
    os.setsid()
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.dup2(null, sys.stderr.fileno())
    os.chdir(copy)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.environ["PYTHONPATH"] = str(copy)
    # What the parent has of `tests` is not the copy's.
    for name in [name for name in sys.modules if name == "tests" or name.startswith("tests.")]:
        del sys.modules[name]


def _wait(child: int, limit_seconds: float) -> int:
    end = time.monotonic() + limit_seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)  # noqa: TID251 - a process is waited for
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGKILL
