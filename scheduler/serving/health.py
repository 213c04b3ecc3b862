"""Health checks by name, answered in the words of Kubernetes components (kube-scheduler 1.37: healthz)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

Check: TypeAlias = Callable[[], bool | str]
"""True when all is well. What is wrong, as text, when anybody may know it; False otherwise."""


class Note(str):
    """All is well, and this is worth knowing."""

    __slots__ = ()


WITHHELD = "reason withheld"


def ping() -> bool:
    """The process answers at all."""
    return True


class HealthCounts:
    """What checks said when they were asked: the last word of each, and how often which."""

    def __init__(self) -> None:
        self.latest: dict[tuple[str, str], bool] = {}
        """By (name of the check, endpoint)."""
        self.answers: Counter[tuple[str, str, str]] = Counter()
        """By (name of the check, endpoint, ``success`` or ``error``)."""

    def seen(self, name: str, endpoint: str, is_well: bool) -> None:
        self.latest[name, endpoint] = is_well
        self.answers[name, endpoint, "success" if is_well else "error"] += 1


def report(
    endpoint: str,
    checks: Mapping[str, Check],
    *,
    excluded: Collection[str] = (),
    verbose: bool = False,
    counts: HealthCounts | None = None,
) -> tuple[int, str]:
    """HTTP status and body for one health endpoint: ``ok``, or a line for each check when asked for or when one fails."""
    lines, failed = [], False
    for name, check in checks.items():
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok")
            continue
        found = check()
        if counts is not None:
            counts.seen(name, endpoint, found is True or isinstance(found, Note))
        if found is True or isinstance(found, Note):
            lines.append(f"[+]{name} ok: {found}" if isinstance(found, Note) else f"[+]{name} ok")
        else:
            failed = True
            lines.append(f"[-]{name} failed: {found or WITHHELD}")
    unknown = sorted({name for name in excluded if name not in checks})
    if unknown:
        named = ",".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {named}")
    if failed:
        return 500, "\n".join([*lines, f"{endpoint} check failed", ""])
    return 200, "\n".join([*lines, f"{endpoint} check passed", ""]) if verbose else "ok"


def report_one(name: str, check: Check) -> tuple[int, str]:
    """HTTP status and body for one check by itself."""
    found = check()
    return (
        (200, "ok") if found is True or isinstance(found, Note) else (500, f"internal server error: {found or name}\n")
    )
