"""The oracle itself: its answers to cases made by hand show the numbers that were worked out from the rules."""

from typing import Any

import pytest

from tests.oracle.builders import ABSENT, Trap
from tests.oracle.cases import path_of, read
from tests.oracle.traps import TRAPS


def at(answer: Any, path: str) -> Any:
    """The value at a path such as `scores/n0/ImageLocality/raw`, or ABSENT."""
    for part in path.split("/"):
        if not isinstance(answer, dict) or part not in answer:
            return ABSENT
        answer = answer[part]
    return answer


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_the_oracle_agrees_with_the_facts_of_a_trap(trap: Trap) -> None:
    kept = read(path_of(trap.case().name))
    assert kept.case == trap.case(), "made by hand and kept differ: python -m tests.oracle.curate"
    shown = [(line, path, at(kept.answers[line], path)) for line, path, _ in trap.facts]
    assert shown == list(trap.facts)


def test_every_trap_states_facts_about_each_of_its_lines() -> None:
    for trap in TRAPS:
        assert {line for line, _, _ in trap.facts} == set(range(len(trap.lines))), trap.name
