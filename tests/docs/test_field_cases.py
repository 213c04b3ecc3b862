"""docs/field-cases.md is what the tests say of themselves."""

import pytest

from tests.docs.checkout import text
from tests.support.field_cases import CASES, page, shown_by

THREADS = [thread for cases in CASES.values() for case in cases for thread in case.threads]


def test_the_page_is_the_one_that_the_tests_make() -> None:
    assert text("docs/field-cases.md") == page(), "write it anew: python -m tests.support.field_cases"


def test_no_thread_is_listed_twice() -> None:
    assert len(THREADS) == len(set(THREADS))


@pytest.mark.parametrize("thread", THREADS)
def test_every_thread_is_named_by_a_test(thread: str) -> None:
    assert shown_by().get(thread), f"no test names {thread} in its docstring"
