"""Prometheus and its promtool, as Debian packages them: where they are, and what to do when they are not."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def require_program(name: str) -> Path:
    """Where it is; without it the test fails in CI and is skipped elsewhere, and says how to get it."""
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    message = f"needs {name} (on Debian: apt-get install --no-install-recommends prometheus; its service is not needed)"
    if os.environ.get("CI"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def promtool(*arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """What promtool says and with which code it ends."""
    command = [require_program("promtool"), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=150)
