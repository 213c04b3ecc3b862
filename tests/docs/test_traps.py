"""docs/traps.md is what the tests and the scripts say of themselves."""

import re

import pytest

from tests.docs.checkout import text
from tests.support.traps import FOLLOWED, NOT_FOLLOWED, page, shown_by, shown_in_parts_only


def test_the_page_is_the_one_that_the_tests_make() -> None:
    assert text("docs/traps.md") == page(), "write it anew: python -m tests.support.traps"


def test_no_test_and_no_script_names_a_trap_that_is_not_listed() -> None:
    assert shown_by().keys() - FOLLOWED.keys() == set()


def test_every_trap_is_shown_by_a_story_or_a_script() -> None:
    assert shown_in_parts_only() == []


@pytest.mark.parametrize(("what", "row"), [(what, row) for what, (_, row) in NOT_FOLLOWED.items()])
def test_what_is_not_followed_is_a_difference_with_its_test(what: str, row: str) -> None:
    lines = [line for line in text("docs/differences.md").splitlines() if line.startswith(f"| {row} | ")]

    assert len(lines) == 1, f"{what}: docs/differences.md has no line, or several, that begin with {row!r}"
    assert re.search(r"`tests/[\w/]+\.py::test_\w+`", lines[0])
