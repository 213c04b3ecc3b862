"""Two runs of kube-scheduler and one of Reprise, side by side: what kube-scheduler does alike twice must be alike here."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.parity.account import Snapshot
from tests.parity.placement import Placed

MOST_UNSTEADY = 0.25
"""A script of which kube-scheduler does more than this share otherwise the second time compares too little to mean much."""


@dataclass(frozen=True)
class Run:
    """What one scheduler made of one script, judged."""

    snapshots: Sequence[Snapshot]
    placed: Sequence[Placed]
    problem: str = ""


@dataclass(frozen=True)
class Difference:
    """One fact that is not the same."""

    step: int
    what: str
    theirs: Any
    ours: Any

    def __str__(self) -> str:
        return f"step {self.step}: {self.what}\n      kube-scheduler: {self.theirs}\n      reprise:        {self.ours}"


@dataclass
class Verdict:
    """The differences of a script, what was not compared, and how many facts were."""

    differences: list[Difference] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)
    """What kube-scheduler's own two runs do not agree on."""
    compared: int = 0


def compare(first: Run, second: Run, ours: Run) -> Verdict:
    """What is not the same in `ours` as in both runs of kube-scheduler. A run that did not end is a difference."""
    made = Verdict()
    for name, run in (("kube-scheduler", first), ("kube-scheduler again", second), ("reprise", ours)):
        if run.problem:
            made.differences.append(Difference(len(run.snapshots) + 1, f"{name} did not come to rest", "", run.problem))
    for number, (one, other, this) in enumerate(
        zip(first.snapshots, second.snapshots, ours.snapshots, strict=False), 1
    ):
        facts, again, mine = (dict(_flat(snapshot)) for snapshot in (one, other, this))
        for what in sorted({*facts, *again, *mine}):
            if facts.get(what) != again.get(what):
                made.unsteady.append(f"step {number}: {what}: {facts.get(what)} | {again.get(what)}")
                continue
            made.compared += 1
            if facts.get(what) != mine.get(what):
                _add(made, Difference(number, what, facts.get(what), mine.get(what)))
    _compare_places(made, first.placed, second.placed, ours.placed)
    if len(made.unsteady) > made.compared * MOST_UNSTEADY:
        left_out = f"{len(made.unsteady)} of {made.compared + len(made.unsteady)} facts"
        made.differences.append(Difference(len(first.snapshots), "too much is left to chance", left_out, ""))
    return made


def _compare_places(made: Verdict, first: Sequence[Placed], second: Sequence[Placed], ours: Sequence[Placed]) -> None:
    for name, placed in (("kube-scheduler", first), ("reprise", ours)):
        for one in placed:
            made.compared += 1
            if one.wrong:
                made.differences.append(
                    Difference(one.step, f"{one.name}: place of {name}, by the oracle", "", one.wrong)
                )
    theirs, again = ({one.name: one for one in placed} for placed in (first, second))
    apart = False
    for one in ours:
        same = theirs.get(one.name)
        if same is None or one.name not in again:
            continue  # that it is bound at all is a fact of the snapshots
        if (same.best or same.node) != (again[one.name].best or again[one.name].node):
            made.unsteady.append(f"step {one.step}: {one.name}: equally good nodes")
        elif not apart:  # once equals were decided otherwise the clusters differ, and only the oracle can tell
            made.compared += 1
            if (same.best or same.node) != (one.best or one.node):
                wanted, got = same.best or same.node, one.best or one.node
                made.differences.append(Difference(one.step, f"{one.name}: equally good nodes", wanted, got))
        apart = apart or same.node != one.node


def _add(made: Verdict, difference: Difference) -> None:
    """A fact that stays as it is would be told again in every later step."""
    for known in made.differences:
        if (known.what, known.theirs, known.ours) == (difference.what, difference.theirs, difference.ours):
            return
    made.differences.append(difference)


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{path} / {key}" if path else str(key))
    else:
        yield path, tuple(value) if isinstance(value, list) else value
