"""Small rooms with names that say what is in them."""

import pytest

from tests.docs.checkout import ROOT, modules

LONGEST = 500
NAMELESS = {"base", "common", "helper", "helpers", "manager", "misc", "util", "utils"}


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    lengths = {str(path.relative_to(ROOT)): path.read_text().count("\n") for path in modules()}

    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def test_no_module_is_named_after_nothing() -> None:
    named = [path.relative_to(ROOT) for path in modules() if NAMELESS & {path.stem, *path.relative_to(ROOT).parts}]

    assert named == []


@pytest.mark.parametrize("package", sorted(path.name for path in (ROOT / "scheduler").iterdir() if path.is_dir()))
def test_a_package_says_what_it_is(package: str) -> None:
    """Its __init__ has a docstring; a folder without modules is no package."""
    folder = ROOT / "scheduler" / package
    if not list(folder.rglob("*.py")):
        return

    assert (folder / "__init__.py").read_text().lstrip().startswith('"""')
