"""Write the dashboards, or with ``--check`` say which files are not what the code makes (exit code 1)."""

from __future__ import annotations

import argparse
from pathlib import Path

from tools.dashboards.batching import BATCHING
from tools.dashboards.overview import OVERVIEW

FOLDER = Path(__file__).parents[2] / "deploy" / "dashboards"
BOARDS = {"scheduler.json": OVERVIEW, "batching.json": BATCHING}


def stale() -> list[str]:
    """Names of files that are missing, differ, or are of no board."""
    found = {path.name: path.read_text() for path in FOLDER.glob("*.json")}
    made = {name: board.text() for name, board in BOARDS.items()}
    return sorted(name for name in {*found, *made} if found.get(name) != made.get(name))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.dashboards", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    if parser.parse_args().check:
        names = stale()
        print("\n".join(f"deploy/dashboards/{name}: not as made; run make dashboards" for name in names), end="")
        return int(bool(names))
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in FOLDER.glob("*.json"):
        if path.name not in BOARDS:
            path.unlink()
    for name, board in BOARDS.items():
        (FOLDER / name).write_text(board.text())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
