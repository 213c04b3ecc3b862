"""The commands that documents name exist, and those that exist are documented."""

import argparse
import re
import shlex
import subprocess
import tomllib

import pytest

from scheduler.app.cli import parser
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
    for name in (".ci/run", "tools/setup.sh", "tools/lock.sh", "tools/control-plane/build.sh", "tools/chart/build.sh"):
        subprocess.run(["bash", "-n", ROOT / name], check=True)


def test_the_command_is_the_one_that_is_documented() -> None:
    scripts = tomllib.loads(text("pyproject.toml"))["project"]["scripts"]

    assert scripts == {"reprise": "scheduler.app.cli:main"}


def subcommands() -> dict[str, argparse.ArgumentParser]:
    (choices,) = (action.choices for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    return dict(choices)


def reprise_lines(document: str) -> list[str]:
    return [line.strip() for line in shell_lines(document) if re.match(r"\s*reprise [a-z]", line)]


DOCUMENTED = sorted({line for path in documents() for line in reprise_lines(path.read_text())})


def test_the_readme_shows_every_subcommand() -> None:
    assert {line.split()[1] for line in reprise_lines(text("README.md"))} >= set(subcommands())


@pytest.mark.parametrize("line", DOCUMENTED)
def test_a_documented_command_has_the_options_that_are_named(line: str) -> None:
    _, command, *arguments = shlex.split(line, comments=True)
    assert command in subcommands()

    known = set(subcommands()[command]._option_string_actions)
    for action in subcommands()[command]._actions:
        if arguments and isinstance(action, argparse._SubParsersAction):
            known |= set(action.choices[arguments[0]]._option_string_actions)
    assert [argument for argument in arguments if argument.startswith("--") and argument not in known] == []


def test_the_command_lines_of_the_readme_are_ones_that_the_command_takes() -> None:
    fenced = "\n".join(re.findall(r"^```[a-z]*\n(.*?)^```", text("README.md"), re.MULTILINE | re.DOTALL))
    lines = [line for line in fenced.splitlines() if line.startswith("reprise ")]
    assert lines

    for line in lines:
        parser().parse_args(shlex.split(line, comments=True)[1:])
