"""Asks both sides the same lines and reports, shrinks and keeps what differs."""

import re
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

from tests.oracle import cases as kept_cases
from tests.oracle.compare import differences
from tests.oracle.generate import Case
from tests.oracle.program import Program, sources_digest
from tests.oracle.shrink import shrink

BATCH = 250
PROGRESS_SECONDS = 10.0


@dataclass(frozen=True)
class ComparedLine:
    expected: Any
    actual: Any
    differences: list[str]


@dataclass(frozen=True)
class Compared:
    """A case and how each of its lines compares."""

    case: Case
    lines: list[ComparedLine]

    def first(self) -> ComparedLine | None:
        """The first line that differs."""
        return next((line for line in self.lines if line.differences), None)


class Comparison:
    """The oracle against a program that answers the same lines.

    Attributes:
        different: How many cases have differed so far.
        lines: How many lines of them were compared.
    """

    def __init__(self, right: Program, tested: Program, *, workers: int = 1, shrink: int = 0) -> None:
        self._right = right
        self._tested = tested
        self._workers = workers
        self._to_shrink = shrink
        self._seen: set[str] = set()
        self.different = 0
        self.lines = 0

    def compare(self, cases: Sequence[Case]) -> list[Compared]:
        """Both answers to every line, the two sides at the same time."""
        lines = [line for case in cases for line in case.lines]
        with ThreadPoolExecutor(1) as beside:
            expected = beside.submit(self._right.answer, lines)
            actual = self._tested.answer(lines)
            pairs = iter(list(zip(expected.result(), actual, strict=True)))
        return [
            Compared(
                case,
                [
                    ComparedLine(right, tested, differences(right, tested, case.expected(i)))
                    for i, (right, tested) in enumerate(islice(pairs, len(case.lines)))
                ],
            )
            for case in cases
        ]

    def run(self, cases: Iterable[Case]) -> None:
        """Compare all cases, batch by batch, and report every difference as it is found."""
        done, began, told = 0, time.monotonic(), time.monotonic()
        source = iter(cases)
        with ThreadPoolExecutor(self._workers) as pool:
            waiting: list[Future[list[Compared]]] = []
            while True:
                while len(waiting) < self._workers and (batch := list(islice(source, BATCH))):
                    waiting.append(pool.submit(self.compare, batch))
                if not waiting:
                    return
                for compared in waiting.pop(0).result():
                    done += 1
                    self.lines += len(compared.lines)
                    if compared.first() is not None:
                        self._report(compared)
                if time.monotonic() - told > PROGRESS_SECONDS:
                    told = time.monotonic()
                    print(
                        f"oracle: {done} cases, {self.different} differ, {told - began:.0f} s",
                        file=sys.stderr,
                        flush=True,
                    )

    def _report(self, compared: Compared) -> None:
        self.different += 1
        first = compared.first()
        assert first is not None
        kind = kind_of(first.differences[0])
        print(f"{compared.case.name} differs: {first.differences[0]}", flush=True)
        for difference in first.differences[1:6]:
            print(f"    {difference}")
        if kind in self._seen or len(self._seen) >= self._to_shrink:
            return
        self._seen.add(kind)
        small = self.compare([self.shrunk(compared)])[0]
        name = f"{re.sub('[^a-z0-9]+', '-', kind.lower()).strip('-')}-{compared.case.name}"
        answers = tuple(None if small.case.expected(i) else line.expected for i, line in enumerate(small.lines))
        path = kept_cases.write(
            kept_cases.KeptCase(
                Case(name, small.case.lines, small.case.expect), f"differed once: {kind}", sources_digest(), answers
            )
        )
        print(f"    kept as {path}", flush=True)

    def shrunk(self, compared: Compared) -> Case:
        """The smallest case found that differs in the same way: the same part of the answer, and errors on the same side."""
        wanted = _way(compared)
        if any(compared.case.expect):
            return compared.case  # less of a pod may need no refusal
        return shrink(compared.case, lambda made: [_way(one) == wanted for one in self.compare(made)])


def _way(compared: Compared) -> tuple[str, bool, bool] | None:
    first = compared.first()
    if first is None:
        return None
    kind = kind_of(first.differences[0])
    return kind.split(".")[0], "error" in first.expected, "error" in first.actual


def kind_of(difference: str) -> str:
    """A difference without names, numbers and texts, so that those of one cause are alike."""
    path = difference.partition(":")[0].split(".")
    if len(path) > 1:
        path[1] = "node"
    return ".".join(path)
