"""Documents say what is there: links, the changelog's form, the differences' tests, and nothing about one machine."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.checkout import ROOT, committed, documents, pyproject, text

DOCUMENTS = [str(path.relative_to(ROOT)) for path in documents()]
NOT_THERE_YET = "not there yet"


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text(document)):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        path = (ROOT / document).parent / name if name else ROOT / document
        if not path.exists() or (anchor and anchor not in anchors(path)):
            broken.append(target)

    assert broken == []


def test_the_changelog_opens_with_what_is_unreleased() -> None:
    headings = re.findall(r"^## (.+)$", text("CHANGELOG.md"), re.MULTILINE)

    assert headings[0] == "[Unreleased]"
    assert [
        heading for heading in headings[1:] if not re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", heading)
    ] == []


def test_the_changelog_keeps_to_the_usual_sections() -> None:
    sections = set(re.findall(r"^### (.+)$", text("CHANGELOG.md"), re.MULTILINE))

    assert sections <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_licence_is_the_one_declared() -> None:
    assert pyproject()["project"]["license"] == "Apache-2.0"
    assert "Apache License\n                           Version 2.0" in text("LICENSE")


def differences() -> list[list[str]]:
    rows = [line for line in text("docs/differences.md").splitlines() if line.startswith("| ")]
    return [
        [cell.strip() for cell in row.strip("|").split(" | ")]
        for row in rows
        if not row.startswith(("| ---", "| what"))
    ]


@pytest.mark.parametrize("row", differences(), ids=lambda row: row[0])
def test_a_difference_names_the_test_that_shows_it(row: list[str]) -> None:
    *_, shown_by = row
    if shown_by == NOT_THERE_YET:
        return
    references = re.findall(r"`(tests/[\w/.-]+)(?:::(\w+))?`", shown_by)

    assert references, (
        f"the last column names a test as `tests/...py::test_name`, or says {NOT_THERE_YET!r}: {shown_by}"
    )
    for name, function in references:
        path = ROOT / name
        assert path.exists(), name
        if function:
            defined = {
                node.name
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            }
            assert function in defined, f"{name} has no {function}"


def registry_hosts() -> set[str]:
    """Hosts that package clients use here; read from the clients, so that none is written here."""
    script = "from pip._internal.models.index import PyPI; print(PyPI.netloc, PyPI.file_storage_domain)"
    hosts = set(
        subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    )
    for setting in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "GOPROXY"):
        hosts |= set(re.findall(r"https?://(?:[^/@\s,]*@)?([^/\s,|]+)", os.environ.get(setting, "")))
    return hosts


def test_no_committed_file_names_a_place_of_one_machine_or_a_registry() -> None:
    places = {f"{place}/" for place in (ROOT, Path.home()) if len(place.parts) > 1}
    pattern = re.compile(
        "|".join(rf"(?<![\w.-]){re.escape(word)}" for word in sorted(places | registry_hosts())).encode()
    )
    found = [
        f"{path.relative_to(ROOT)}: {match[0].decode()}"
        for path in committed()
        if path.name != "go.sum"
        for match in pattern.finditer(path.read_bytes())
    ]

    assert found == []
