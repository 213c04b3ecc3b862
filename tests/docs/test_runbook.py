"""Who is woken by an alert finds its section, and no section is left of an alert that is gone."""

import re
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.docs.checkout import ROOT, modules, text

SECTIONS = dict(
    re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", text("docs/runbook.md"), re.MULTILINE | re.DOTALL),
)
RULES: list[dict[str, Any]] = [
    rule
    for group in YAML(typ="safe").load((ROOT / "deploy/alerts/alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]


def test_alerts_and_sections_are_the_same_in_the_same_order() -> None:
    assert list(SECTIONS) == [rule["alert"] for rule in RULES]


@pytest.mark.parametrize("alert", sorted(SECTIONS))
def test_a_section_says_what_it_means_where_to_look_and_what_to_do(alert: str) -> None:
    assert re.findall(r"^\*\*(.+?)\.\*\*", SECTIONS[alert], re.MULTILINE) == ["Meaning", "Look at", "Do"]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_an_alert_has_a_severity_and_leads_to_its_section(rule: dict[str, Any]) -> None:
    assert rule["alert"].startswith("Reprise")
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    assert rule["annotations"]["runbook_url"] == f"docs/runbook.md#{rule['alert'].lower()}"


def test_every_rule_looks_at_reprise_alone() -> None:
    """Whoever has a label of kube-scheduler hides that it is down."""
    for name in ("alerts", "recording"):
        selectors = re.findall(r"\w+\{([^}]*)\}", re.sub(r"\{\{.*?\}\}", "", text(f"deploy/alerts/{name}.yaml")))
        queries = [one for one in selectors if "quantile:" not in one]
        assert queries
        assert [one for one in queries if 'job="reprise"' not in one] == []


def test_panels_that_the_runbook_names_are_on_a_board() -> None:
    boards = text("deploy/dashboards/scheduler.json") + text("deploy/dashboards/batching.json")
    titles = set(re.findall(r'"title": "([^"]+)"', boards))
    named = {name for section in SECTIONS.values() for name in re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", section)}

    assert named - titles == set()


def test_lines_of_the_log_that_the_runbook_names_are_written() -> None:
    sources = "".join(path.read_text() for path in modules())
    named = re.findall(r"[Ll]og(?:'s last)? lines? `([^`]+)`", text("docs/runbook.md"))

    assert len(named) >= 5
    assert [line for line in named if line not in sources] == []
