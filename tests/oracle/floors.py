"""How often the cases must reach what there is to reach, counted by the oracle from its own answers.

python -m tests.oracle.floors SEED     measures floors.json anew, with the oracle alone
"""

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.oracle import alone
from tests.oracle.generate import Case, cases, sequences
from tests.oracle.program import Program, oracle

FILE = Path(__file__).with_name("floors.json")
CASES, LINES, ALONE = 10_000, 42_000, 1_000
"""The full runs: cases, lines of sequences (2,000 of 20 steps), and cases of a plugin alone."""
MUST = 50
"""So often everything must be reached in a full run, also what is rare."""
LOWEST_FLOORS = {"cases": 15, "sequences": 150, "alone": 5}
"""With so few cases that a floor is below this, chance alone may miss it; more cases hold it.

A case counts several times what several of its nodes show, and a sequence what each of its lines shows.
"""
PORTION = 4
"""A floor is this part of what a full run reaches on average; only what is rare is held to more."""


def known() -> dict[str, dict[str, int]]:
    """What a full run of cases and of sequences reaches at least, apart from `MUST`; of a plugin alone, the table's answers."""
    content: dict[str, dict[str, int]] = json.loads(FILE.read_text())
    return content | {"alone": alone.floors()}


@dataclass(frozen=True)
class Part:
    """One part of a run: what was asked, how much of a full run that is, and what it reached."""

    name: str
    share: float
    reached: Mapping[str, int]

    def floors(self) -> dict[str, int]:
        """How often each thing must be reached: all of them, once the run is a full one."""
        full = known()[self.name]
        if self.share >= 1:
            return {
                key: int(max(MUST if self.name != "alone" else 1, floor) * self.share) for key, floor in full.items()
            }
        scaled = {key: int(floor * self.share) for key, floor in full.items()}
        return {key: floor for key, floor in scaled.items() if floor >= LOWEST_FLOORS[self.name]}

    def below(self) -> list[str]:
        return sorted(key for key, floor in self.floors().items() if self.reached.get(key, 0) < floor)

    def least(self, count: int) -> list[tuple[str, int]]:
        """What has a floor and was reached least."""
        return sorted(
            ((key, self.reached.get(key, 0)) for key in known()[self.name]), key=lambda one: (one[1], one[0])
        )[:count]


def table(parts: Iterable[Part]) -> tuple[str, list[str]]:
    """The counts of everything that has a floor or was reached, by part, and what stayed below its floor."""
    lines, below = [], []
    for part in parts:
        floors, missed = part.floors(), part.below()
        below += [f"{part.name}: {key}" for key in missed]
        lines.append(f"{'reached':>9}   {'floor':>6}  {part.name}")
        lines += [
            f"{part.reached.get(key, 0):>9} {'<' if key in missed else ' '} {floors.get(key) or '':>6}  {key}"
            for key in sorted({*floors, *part.reached})
        ]
    return "\n".join(lines), below


def measure(seed: int) -> dict[str, dict[str, int]]:
    """A portion of what full runs reach; without what only a plugin alone is sure to answer."""
    made = {}
    for name, run in (("cases", cases(seed, CASES)), ("sequences", sequences(seed, 2000, exactly=20))):
        program = oracle()
        _ask(program, run)
        made[name] = {
            key: count // PORTION
            for key, count in sorted(program.reached.items())
            if count >= MUST // 5 and (key.startswith("error/") or key not in alone.ANSWERED_BEFORE)
        }
    return made


def _ask(program: Program, run: Iterable[Case]) -> None:
    batch: list[str] = []
    for one in run:
        batch += one.lines
        if len(batch) >= 1000:
            program.answer(batch)
            batch = []
    program.answer(batch)


def main() -> None:
    FILE.write_text(json.dumps(measure(int(sys.argv[1])), indent=0, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
