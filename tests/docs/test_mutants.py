"""The faults of `make mutations` are faults of the code as it stands: each names a text that is there once, and tests that exist."""

from __future__ import annotations

from tests.docs.checkout import ROOT
from tests.mutations.__main__ import MUTANTS


def test_each_mutant_changes_a_text_that_stands_once_in_its_file() -> None:
    assert [str(one) for one in MUTANTS if (ROOT / one.file).read_text(encoding="utf-8").count(one.old) != 1] == []


def test_each_mutant_names_files_of_tests_that_exist() -> None:
    named = {test.partition("::")[0] for one in MUTANTS for test in one.tests}
    assert sorted(name for name in named if not (ROOT / name).exists()) == []
