"""The commands that documents name exist, and those that exist are documented."""

import re
import subprocess
import tomllib

import pytest

from tests.docs.checkout import ROOT, documents, text

TARGETS = set(re.findall(r"^([a-z][a-z-]*):", text("Makefile"), re.MULTILINE))


def shell_lines(document: str) -> list[str]:
    """Lines of code: fenced blocks and `spans`."""
    fenced = "\n".join(re.findall(r"^```[a-z]*\n(.*?)^```", document, re.MULTILINE | re.DOTALL))
    return [*fenced.splitlines(), *re.findall(r"`([^`\n]+)`", document)]


def make_targets(document: str) -> set[str]:
    return {target for line in shell_lines(document) for target in re.findall(r"^\s*make ([a-z][a-z-]*)", line)}


def test_help_lists_every_target_and_nothing_else() -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout

    assert set(re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE)) == TARGETS


def test_every_target_is_phony() -> None:
    """A file named like a target must not make it a no-op."""
    assert set(re.findall(r"^\.PHONY: (.+)$", text("Makefile"), re.MULTILINE)) == TARGETS


def test_the_readme_opens_with_two_commands_that_exist() -> None:
    first_screen = "\n".join(text("README.md").splitlines()[:50])

    assert make_targets(first_screen) >= {"demo", "test"}


@pytest.mark.parametrize("document", [str(path.relative_to(ROOT)) for path in documents()])
def test_a_document_names_only_targets_that_exist(document: str) -> None:
    assert make_targets(text(document)) - TARGETS == set()


def test_ci_runs_the_readmes_test_command() -> None:
    assert re.search(r"^ring .*\bmake test$", text(".ci/run"), re.MULTILINE)


def test_scripts_are_valid_bash() -> None:
    for name in (".ci/run", "tools/setup.sh", "tools/lock.sh", "tools/control-plane/build.sh"):
        subprocess.run(["bash", "-n", ROOT / name], check=True)


def test_the_command_is_the_one_that_is_documented() -> None:
    scripts = tomllib.loads(text("pyproject.toml"))["project"]["scripts"]

    assert scripts == {"reprise": "scheduler.app.cli:main"}
