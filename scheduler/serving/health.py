"""Health checks by name, answered in the words of Kubernetes components."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

Check: TypeAlias = Callable[[], bool]


def ping() -> bool:
    """The process answers at all."""
    return True


def report(
    endpoint: str, checks: Mapping[str, Check], *, excluded: Collection[str] = (), verbose: bool = False
) -> tuple[int, str]:
    """HTTP status and body for one health endpoint: ``ok``, or a line for each check when asked for or when one fails."""
    lines, failed = [], False
    for name, check in checks.items():
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok")
        elif check():
            lines.append(f"[+]{name} ok")
        else:
            failed = True
            lines.append(f"[-]{name} failed: reason withheld")
    if failed:
        return 500, "\n".join([*lines, f"{endpoint} check failed", ""])
    return 200, "\n".join([*lines, f"{endpoint} check passed", ""]) if verbose else "ok"
