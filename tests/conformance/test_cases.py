"""The kept cases: what kube-scheduler's own plugins answered is what `reprise evaluate --jsonl` answers."""

import json
from collections.abc import Iterator

import pytest

from tests.oracle import direct
from tests.oracle.alone import ANSWERED_BEFORE
from tests.oracle.cases import KeptCase, read_all
from tests.oracle.compare import differences
from tests.oracle.program import FOLDER, sources_digest

KEPT = read_all()


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.case.name)
def test_a_kept_case_has_the_oracles_answer(kept: KeptCase) -> None:
    """Line by line through the function behind the command, so that a step meets the state that the lines before made."""
    from scheduler.app.evaluate_jsonl import answer_lines

    def lines() -> Iterator[bytes]:
        for line in kept.case.lines:
            yield line.encode() + b"\n"

    answer = direct.answer_lines if kept.case.is_alone else answer_lines
    answers = [json.loads(line) for line in answer(lines())]
    assert len(answers) == len(kept.case.lines)
    for number, (expected, actual) in enumerate(zip(kept.answers, answers, strict=True)):
        assert differences(expected, actual, kept.case.expected(number)) == [], f"line {number} of {kept.case.name}"


def test_there_are_kept_cases() -> None:
    assert len(KEPT) >= 150


def test_the_kept_answers_are_those_of_the_present_oracle() -> None:
    """Whoever changes the oracle answers the cases anew: python -m tests.oracle --refresh."""
    assert {kept.oracle for kept in KEPT} == {sources_digest()}


def test_every_answer_that_another_step_gives_first_is_kept_from_the_plugin_alone() -> None:
    about = {kept.about for kept in KEPT if kept.case.is_alone}
    for what, before in ANSWERED_BEFORE.items():
        assert any(what in text and before in text for text in about), what


def test_the_readme_lists_every_answer_of_a_plugin_alone_with_the_step_before_it() -> None:
    text = (FOLDER / "README.md").read_text()
    listed = [line for line in text.splitlines() if line.startswith("| `")]
    assert listed == [f"| `{what}` | {before} |" for what, before in ANSWERED_BEFORE.items()]
