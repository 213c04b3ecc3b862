"""A mutant: one small fault in the product, and the tests that must notice it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Mutant(NamedTuple):
    """``old`` stands exactly once in ``file`` and is replaced by ``new``; one of ``tests`` must fail then."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.file}: {old!r} -> {new!r}"


def mutants(file: str, tests: str, *changes: tuple[str, str]) -> Iterator[Mutant]:
    """Mutants of one file, noticed by the same tests (separated by blanks)."""
    for old, new in changes:
        yield Mutant(file, old, new, tuple(tests.split()))
