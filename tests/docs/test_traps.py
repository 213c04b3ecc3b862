"""docs/traps.md is what the tests and the scripts say of themselves."""

from tests.docs.checkout import text
from tests.support.traps import FOLLOWED, page, shown_by


def test_the_page_is_the_one_that_the_tests_make() -> None:
    assert text("docs/traps.md") == page(), "write it anew: python -m tests.support.traps"


def test_no_test_and_no_script_names_a_trap_that_is_not_listed() -> None:
    assert shown_by().keys() - FOLLOWED.keys() == set()


def test_every_trap_is_shown() -> None:
    assert FOLLOWED.keys() - shown_by().keys() == set()
