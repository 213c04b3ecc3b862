"""What the tests of documents and rules look at: this checkout's files."""

import subprocess
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PURE = ("core", "config", "profile", "batch", "cache", "queue", "plugins", "framework", "api")


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pyproject() -> dict[str, Any]:
    return tomllib.loads(text("pyproject.toml"))


def committed() -> list[Path]:
    """Every committed file that is still there, as absolute paths."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def modules(*packages: str) -> list[Path]:
    """The Python files of scheduler/, or of some of its packages."""
    roots = [ROOT / "scheduler" / package for package in packages] or [ROOT / "scheduler"]
    return sorted(path for root in roots for path in root.rglob("*.py"))


def documents() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
