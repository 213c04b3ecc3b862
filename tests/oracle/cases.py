"""Kept cases: lines and the oracle's answers, one JSON file each."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.oracle.generate import Case, encode

FOLDER = Path(__file__).parents[1] / "conformance" / "cases"


@dataclass(frozen=True)
class KeptCase:
    """A case with its answers.

    Attributes:
        case: The lines; a line that must be refused has no answer of the oracle's.
        about: Why the case is kept.
        oracle: The sha256 of the sources of the oracle that answered.
        answers: One answer a line.
    """

    case: Case
    about: str
    oracle: str
    answers: tuple[Any, ...]


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.json"


def write(kept: KeptCase) -> Path:
    """Write a case so that a line of it is a line of the file."""
    path = path_of(kept.case.name)
    lines = [line if (shown := _object(line)) is None else shown for line in kept.case.lines]
    head: dict[str, Any] = {"name": kept.case.name, "about": kept.about, "oracle": kept.oracle}
    if any(kept.case.expect):
        head["expect"] = list(kept.case.expect)
    parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    for key, values in (("lines", lines), ("answers", kept.answers)):
        parts.append(f"{json.dumps(key)}: [\n  " + ",\n  ".join(_compact(value) for value in values) + "\n ]")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n " + ",\n ".join(parts) + "\n}\n")
    return path


def read(path: Path) -> KeptCase:
    content = json.loads(path.read_text())
    lines = tuple(line if isinstance(line, str) else encode(line) for line in content["lines"])
    case = Case(content["name"], lines, tuple(content.get("expect", ())))
    return KeptCase(case, content["about"], content["oracle"], tuple(content["answers"]))


def read_all() -> list[KeptCase]:
    return [read(path) for path in sorted(FOLDER.glob("*.json"))]


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _object(line: str) -> Any:
    """The line as an object; None when it is kept as text, because it cannot be read or would not be written the same."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) and encode(value) == line else None
