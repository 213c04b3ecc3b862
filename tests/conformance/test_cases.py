"""The kept cases: what kube-scheduler's own plugins answered is what `reprise evaluate --jsonl` answers."""

import json
from collections.abc import Iterator

import pytest

from tests.oracle.cases import KeptCase, read_all
from tests.oracle.compare import differences
from tests.oracle.program import sources_digest

KEPT = read_all()


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.case.name)
def test_a_kept_case_has_the_oracles_answer(kept: KeptCase) -> None:
    """Line by line through the function behind the command, so that a step meets the state that the lines before made."""
    from scheduler.app.evaluate_jsonl import answer_lines

    def lines() -> Iterator[bytes]:
        for line in kept.case.lines:
            yield line.encode() + b"\n"

    answers = [json.loads(answer) for answer in answer_lines(lines())]
    assert len(answers) == len(kept.case.lines)
    for number, (expected, actual) in enumerate(zip(kept.answers, answers, strict=True)):
        assert differences(expected, actual, kept.case.expected(number)) == [], f"line {number} of {kept.case.name}"


def test_there_are_kept_cases() -> None:
    assert len(KEPT) >= 150


def test_the_kept_answers_are_those_of_the_present_oracle() -> None:
    """Whoever changes the oracle answers the cases anew: python -m tests.oracle --refresh."""
    assert {kept.oracle for kept in KEPT} == {sources_digest()}
