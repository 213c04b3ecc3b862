"""Compares `reprise evaluate --jsonl` with the oracle on random cases (README.md)."""

import argparse
import json
import os
import random
import re
import sys

from tests.oracle import cases as kept_cases
from tests.oracle.comparison import Comparison
from tests.oracle.floors import table
from tests.oracle.generate import Case, case, cases, sequence, sequences
from tests.oracle.program import MissingOracle, oracle, reprise, sources_digest
from tests.oracle.refused import features

# From so many cases on, too few of something is a failure and not only a line in the table.
ENOUGH_CASES = 1000


def main() -> int:
    options = _options()
    try:
        right = oracle()
    except MissingOracle as error:
        return _no_oracle(str(error))
    if options.refresh:
        return refresh()
    if options.only:
        return show(named(options.only, options.steps))
    comparison = Comparison(right, reprise(), workers=options.workers, shrink=options.shrink)
    count, steps = options.cases, options.cases // 10 if options.sequences is None else options.sequences
    print(f"oracle: {count} cases and {steps} sequences of seed {options.seed}", flush=True)
    for made in (cases(options.seed, count), sequences(options.seed, steps, exactly=options.steps)):
        comparison.run(made)
    text, below = table(right.reached, count, steps)
    print(text)
    total = count + steps
    print(f"{total} cases, {total - comparison.different} same, {comparison.different} differences")
    if below:
        print(f"{len(below)} of what must be reached was reached too seldom (marked <)")
    return 1 if comparison.different or (below and count >= ENOUGH_CASES) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000, help="random cases of one line")
    parser.add_argument(
        "--sequences", type=int, help="random cases of a line and steps on it (default: a tenth of --cases)"
    )
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
    parsed = re.match(r"s(\d+)-(sequence)?(\d+)", name)
    if not parsed:
        sys.exit(f"oracle: {name!r} is neither a kept case nor the name of a random one, such as s7-112")
    seed, index = int(parsed[1]), int(parsed[3])
    return sequence(seed, index, exactly=steps) if parsed[2] else case(seed, index)


def show(one: Case) -> int:
    comparison = Comparison(oracle(), reprise())
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
    for kept in kept_cases.read_all():
        answers = [None if kept.case.expected(i) else a for i, a in enumerate(program.answer(kept.case.lines))]
        changed += tuple(answers) != kept.answers
        kept_cases.write(kept_cases.KeptCase(kept.case, kept.about, sources_digest(), tuple(answers)))
    print(f"oracle: {len(kept_cases.read_all())} kept cases answered, {changed} of them differently than before")
    return 0


if __name__ == "__main__":
    sys.exit(main())
