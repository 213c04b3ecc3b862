"""Chooses the kept cases: python -m tests.oracle.curate writes them anew to tests/conformance/cases, from the oracle.

They are the cases made by hand, the broken configurations, the unreadable lines, one of each reason to refuse a pod, and,
for everything that random cases reach, the smallest random case that reaches it. Cases kept for another reason stay.
"""

import re
from collections import Counter

from tests.oracle import alone
from tests.oracle.builders import node, pod
from tests.oracle.cases import FOLDER, KeptCase, write
from tests.oracle.configs import BROKEN, BROKEN_PROFILE, GROUP
from tests.oracle.draw import Json
from tests.oracle.generate import REFUSED, UNREADABLE, Case, case, encode, sequence
from tests.oracle.program import Program, oracle_command, sources_digest
from tests.oracle.traps import TRAPS

SEED = 1
CASES, SEQUENCES = 6000, 600
# Small clusters, so that a kept case can be read; the sequences are short for the same reason.
SMALL_CASE, SMALL_SEQUENCE = {"nodes": 4, "pods": 5}, {"nodes": 3, "pods": 4, "steps": 6}
PREFIX, ALONE = "reach-", "alone-"
INPUTS = ("affinity", "config", "existing", "image", "pod", "spread", "state", "step", "toleration")
# Kept in cases of their own, or in nearly every case.
COVERED_BESIDE = (
    "error/line",
    "error/config",
    "existing/host port",
    "existing/requests",
    "best/",
    "feasible/",
    "profile/",
)
SHORTEST = 250  # an unreadable line is shorter


def main() -> None:
    program = Program("the oracle", oracle_command("-each"))
    for old in (
        *FOLDER.glob(f"{PREFIX}*.json"),
        *FOLDER.glob(f"{ALONE}*.json"),
        *FOLDER.glob("trap-*.json"),
        *FOLDER.glob("refused-*.json"),
    ):
        old.unlink()
    for trap in TRAPS:
        keep(program, trap.case(), trap.about)
    keep(program, broken_configurations(), "each configuration has one error that kube-scheduler refuses to start with")
    keep(program, Case("unreadable-lines", UNREADABLE), "each line, pod or object is unreadable")
    for feature, one in refused().items():
        keep(program, Case(f"refused-{feature}", one.lines, one.expect), f"needs a rule that does not exist: {feature}")
    for what, one in smallest(program).items():
        keep(program, Case(f"{PREFIX}{slug(what)}", one.lines), f"the smallest of the random cases that reach: {what}")
    keep_alone(program)
    print(f"{len(list(FOLDER.glob('*.json')))} kept cases in {FOLDER}")


def keep(program: Program, one: Case, about: str) -> None:
    answers = [None if one.expected(i) else answer for i, answer in enumerate(program.answer(one.lines))]
    for answer in answers:
        if answer:
            answer.pop("reached", None)
    write(KeptCase(one, about, sources_digest(), tuple(answers)))


def keep_alone(program: Program) -> None:
    """The smallest case of each answer that only a plugin alone gives."""
    everything = list(alone.cases(SEED, 1500))
    answers = program.answer([one.lines[0] for one in everything])
    reached = {one: set(answer["reached"]) for one, answer in zip(everything, answers, strict=True)}
    for what, before in alone.ANSWERED_BEFORE.items():
        able = [one for one in everything if f"alone/{what}" in reached[one]]
        one = min(able, key=lambda one: (size(one), one.name))
        about = f"the smallest of the random cases of a plugin alone that reach: {what}; answered before: {before}"
        keep(program, Case(f"{ALONE}{slug(what)}", one.lines), about)


def broken_configurations() -> Case:
    plain: Json = {"apiVersion": GROUP, "kind": "KubeSchedulerConfiguration", "profiles": [{"schedulerName": "one"}]}
    configs = [plain | change for change in BROKEN]
    configs += [plain | {"profiles": [{"schedulerName": "one"} | change]} for change in BROKEN_PROFILE]
    lines = [{"objects": [node("n0")], "pod": pod(), "config": config} for config in configs]
    return Case("broken-configurations", tuple(encode(line) for line in lines))


def refused() -> dict[str, Case]:
    """The smallest random case of each reason to refuse a pod."""
    found: dict[str, Case] = {}
    for index in range(CASES):
        one = case(SEED, index, **SMALL_CASE)
        if REFUSED in one.expect:
            feature = one.name.partition(f"{REFUSED}-")[2]
            if feature not in found or size(one) < size(found[feature]):
                found[feature] = one
    return found


def smallest(program: Program) -> dict[str, Case]:
    """What is reached, rarest first, each with the smallest case for it; what such a case reaches besides is done with it."""
    everything = [case(SEED, index, **SMALL_CASE) for index in range(CASES)]
    everything += [sequence(SEED, index, **SMALL_SEQUENCE) for index in range(SEQUENCES)]
    everything = [one for one in everything if not any(one.expect) and len(one.lines[0]) > SHORTEST]
    answers = iter(program.answer([line for one in everything for line in one.lines]))
    reached = {one: {what for _ in one.lines for what in next(answers)["reached"]} for one in everything}
    often = Counter(what for found in reached.values() for what in found)
    chosen: dict[str, Case] = {}
    covered: set[str] = set()
    for what, _ in sorted(often.items(), key=lambda item: (item[1], item[0])):
        if what in covered or what.startswith(COVERED_BESIDE):
            continue
        able = [one for one in everything if what in reached[one]]
        # Of an input the case should show what it does, so several nodes fit and one is better.
        telling = [one for one in able if "best/one of several" in reached[one]] if what.startswith(INPUTS) else []
        chosen[what] = min(telling or able, key=lambda one: (size(one), one.name))
        # Only what is told apart by the answer is covered by chance: inputs that stand beside it may play no part in it.
        covered |= {
            found for found in reached[chosen[what]] if found.startswith(("filter", "prefilter", "score", "error"))
        }
        covered.add(what)
    return chosen


def slug(what: str) -> str:
    for long, short in (("UnschedulableAndUnresolvable", "UU"), ("Unschedulable/", "U/"), ("NodeResources", "")):
        what = what.replace(long, short)
    return re.sub("[^a-z0-9]+", "-", what.lower()).strip("-")


def size(one: Case) -> int:
    return sum(len(line) for line in one.lines)


if __name__ == "__main__":
    main()
