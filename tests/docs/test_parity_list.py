"""The scripts that are told to both schedulers: many, each named once, and what differs is listed, few and documented."""

import re

import pytest

from tests.docs.checkout import ROOT, text
from tests.parity.configurations import configurations
from tests.parity.listed import LISTED, MOST, Listed
from tests.parity.scripts import SCRIPTS


def test_there_are_at_least_forty_scripts_and_no_name_is_used_twice() -> None:
    names = [script.name for script in SCRIPTS]

    assert len(names) >= 40
    assert sorted(set(names)) == sorted(names)


def test_scripts_name_configurations_that_exist() -> None:
    assert {script.configuration for script in SCRIPTS} <= configurations().keys()


def test_few_differences_are_listed() -> None:
    assert len(LISTED) <= MOST


@pytest.mark.parametrize("listed", LISTED, ids=lambda each: each.script)
def test_a_listed_difference_is_documented_with_the_test_that_shows_it(listed: Listed) -> None:
    name, _, function = listed.shown_by.partition("::")

    assert listed.script in {script.name for script in SCRIPTS}
    assert re.search(rf"^(async )?def {function}\b", (ROOT / name).read_text(), re.MULTILINE)
    assert f"`{listed.shown_by}`" in text("docs/differences.md")
