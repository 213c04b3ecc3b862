"""Each direct dependency is explained once, and locked by version and hash for every Python."""

import ast
import re
import sys
from importlib.metadata import packages_distributions

import pytest

from tests.docs.checkout import modules, pyproject, text

LOCKS = ("requirements/dev.txt", "requirements/runtime.txt", "requirements/build.txt", "requirements/lock.txt")


def name_of(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found, requirement
    return re.sub(r"[._-]+", "-", found[0]).lower()


RUNTIME = {name_of(requirement) for requirement in pyproject()["project"]["dependencies"]}
DEV = {name_of(requirement) for requirement in pyproject()["dependency-groups"]["dev"]}


def locked(lock: str) -> dict[tuple[str, str], list[str]]:
    """(name, version and condition) -> hashes."""
    blocks = re.split(r"\n(?=\S)", text(lock).replace("\\\n", " "))
    found = {}
    for block in blocks:
        line = re.match(r"(\S+?)==(\S+(?: ;[^\n]*?)?)(?=\s+--hash| *\n|$)", block)
        if line:
            found[name_of(line[1]), line[2].strip()] = re.findall(r"--hash=sha256:[0-9a-f]{64}", block)
    return found


def test_every_direct_dependency_is_explained_once() -> None:
    rows = re.findall(r"^\| \[?`?([A-Za-z0-9._-]+)`?[^|]*\|", text("docs/dependencies.md"), re.MULTILINE)
    explained = [name_of(row) for row in rows if row not in ("package", "---")]

    assert sorted(explained) == sorted(RUNTIME | DEV | {"uv"})


@pytest.mark.parametrize("lock", LOCKS)
def test_everything_locked_has_a_hash_and_no_address(lock: str) -> None:
    assert [entry for entry, hashes in locked(lock).items() if not hashes] == []
    assert re.findall(r"://|--(?:extra-)?index-url|--find-links|file:", text(lock)) == []


def test_the_locks_hold_every_direct_dependency() -> None:
    assert {name for name, _ in locked("requirements/dev.txt")} >= RUNTIME | DEV
    assert {name for name, _ in locked("requirements/runtime.txt")} >= RUNTIME
    assert {name for name, _ in locked("requirements/lock.txt")} == {"uv"}


def test_what_is_tested_is_what_is_installed() -> None:
    """The product's lock is a part of the developers', to the hash."""
    assert locked("requirements/runtime.txt").items() <= locked("requirements/dev.txt").items()
    assert locked("requirements/build.txt").items() <= locked("requirements/dev.txt").items()


def test_every_supported_python_has_a_numpy() -> None:
    """Numpy drops Pythons early, so the lock has one release for the oldest and one for the others."""
    assert [
        condition.partition(" ; ")[2]
        for name, condition in sorted(locked("requirements/runtime.txt"))
        if name == "numpy"
    ] == [
        "python_full_version < '3.12'",
        "python_full_version >= '3.12'",
    ]


def test_what_the_product_imports_is_what_it_depends_on() -> None:
    """Nothing is had by way of somebody else's dependency."""
    imported = set()
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Import(names=names):
                    imported |= {alias.name.partition(".")[0] for alias in names}
                case ast.ImportFrom(module=str(module), level=0):
                    imported.add(module.partition(".")[0])
    third_party = imported - set(sys.stdlib_module_names) - {"scheduler"}
    sources = packages_distributions()

    assert {name_of(source) for name in third_party for source in sources[name]} - RUNTIME == set()
