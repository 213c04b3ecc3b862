"""Compares `reprise evaluate --jsonl` with the oracle on random cases (README.md)."""

import argparse
import json
import os
import random
import re
import sys
from collections.abc import Iterator
from itertools import islice

from tests.oracle import alone
from tests.oracle import cases as kept_cases
from tests.oracle.comparison import Comparison
from tests.oracle.floors import ALONE, CASES, LINES, Part, table
from tests.oracle.generate import Case, case, cases, sequence, sequences
from tests.oracle.program import MissingOracle, Program, direct, oracle, reprise, sources_digest
from tests.oracle.refused import features

# From so many cases on, too few of something is a failure and not only a line in the table.
ENOUGH_CASES = 1000


def main() -> int:
    options = _options()
    try:
        oracle()
    except MissingOracle as error:
        return _no_oracle(str(error))
    if options.refresh:
        return refresh()
    if options.only:
        return show(named(options.only, options.steps))
    return run(options)


def run(options: argparse.Namespace) -> int:
    """Compare cases, sequences and plugins alone, and say what they reached."""
    count = options.cases
    steps = count // 10 if options.sequences is None else options.sequences
    one_by_one = count // 10 if options.alone is None else options.alone
    print(
        f"oracle: {count} cases, {steps} sequences and {one_by_one} of a plugin alone, of seed {options.seed}",
        flush=True,
    )
    made: dict[str, tuple[int, Iterator[Case], Program]] = {
        "cases": (CASES, cases(options.seed, count), reprise()),
        "sequences": (LINES, sequences(options.seed, steps, exactly=options.steps), reprise()),
        "alone": (ALONE, alone.cases(options.seed, one_by_one), direct()),
    }
    parts, different = [], 0
    for name, (full, source, tested) in made.items():
        right = oracle()
        comparison = Comparison(right, tested, workers=options.workers, shrink=options.shrink)
        comparison.run(source)
        different += comparison.different
        parts.append(Part(name, comparison.lines / full, right.reached))
    text, below = table(part for part in parts if part.share)
    print(text)
    for part in parts:
        if part.share:
            print(f"least reached of {part.name}: " + "; ".join(f"{count} {key}" for key, count in part.least(5)))
    total = count + steps + one_by_one
    print(f"{total} cases, {total - different} same, {different} differences")
    if below:
        print(f"{len(below)} of what must be reached was reached too seldom (marked <)")
    return 1 if different or (below and count + steps >= ENOUGH_CASES) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000, help="random cases of one line")
    parser.add_argument(
        "--sequences", type=int, help="random cases of a line and steps on it (default: a tenth of --cases)"
    )
    parser.add_argument("--alone", type=int, help="cases of one plugin alone (default: a tenth of --cases)")
    parser.add_argument("--steps", type=int, metavar="N", help="steps of each sequence (default: 1 to 20, by chance)")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="default: a new one, printed")
    parser.add_argument("--workers", type=int, default=1, help="batches at once")
    parser.add_argument(
        "--shrink", type=int, default=5, metavar="N", help="make N kinds of differences small and keep them"
    )
    parser.add_argument("--only", metavar="NAME", help="show one case, its answers and how they differ")
    parser.add_argument("--refresh", action="store_true", help="answer the kept cases anew, from the oracle alone")
    return parser.parse_args()


def _no_oracle(why: str) -> int:
    if os.environ.get("CI"):
        print(f"oracle: failed: {why}")
        return 1
    print(f"oracle: skipped: {why}")
    return 0


def named(name: str, steps: int | None = None) -> Case:
    """The generated case, or the kept one, of a name that was printed."""
    if kept_cases.path_of(name).exists():
        return kept_cases.read(kept_cases.path_of(name)).case
    parsed = re.match(r"s(\d+)-(sequence|alone)?(\d+)", name)
    if not parsed:
        sys.exit(f"oracle: {name!r} is neither a kept case nor the name of a random one, such as s7-112")
    seed, index = int(parsed[1]), int(parsed[3])
    if parsed[2] == "alone":
        return alone.case(seed, index)
    return sequence(seed, index, exactly=steps) if parsed[2] else case(seed, index)


def show(one: Case) -> int:
    comparison = Comparison(oracle(), direct() if one.is_alone else reprise())
    for line, found in zip(one.lines, comparison.compare([one])[0].lines, strict=True):
        print(line)
        print("oracle: ", json.dumps(found.expected))
        print("reprise:", json.dumps(found.actual))
        for difference in found.differences:
            print("  ", difference)
    return 0


def refresh() -> int:
    """Rewrite the answers of every kept case; the lines stay as they are."""
    program, changed = oracle(), 0
    refused = {f"refused-{feature.replace(' ', '-')}.json" for feature in features()}
    for path in kept_cases.FOLDER.glob("refused-*.json"):
        if path.name not in refused:
            path.unlink()  # the rule exists by now
    all_kept, digest = kept_cases.read_all(), sources_digest()
    answered = iter(program.answer([line for kept in all_kept for line in kept.case.lines]))
    for kept in all_kept:
        found = list(islice(answered, len(kept.case.lines)))
        answers = [None if kept.case.expected(i) else answer for i, answer in enumerate(found)]
        changed += tuple(answers) != kept.answers
        kept_cases.write(kept_cases.KeptCase(kept.case, kept.about, digest, tuple(answers)))
    print(f"oracle: {len(all_kept)} kept cases answered, {changed} of them differently than before")
    return 0


if __name__ == "__main__":
    sys.exit(main())
