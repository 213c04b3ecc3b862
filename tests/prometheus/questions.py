"""Every question that boards and rules ask, with the boards' variables resolved."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML

from tests.docs.checkout import ROOT

BOARDS = sorted((ROOT / "deploy" / "dashboards").glob("*.json"))
RULES = sorted((ROOT / "deploy" / "alerts").glob("*.yaml"))
RATE_INTERVAL, RANGE = "20s", "2m"
SELECTOR = re.compile(r"\b([a-z_]+(?::\w+)*)(\{[^{}]*\})")


@dataclass(frozen=True)
class Question:
    """A panel's query, as Grafana would send it for one choice of variables."""

    board: str
    panel: str
    expr: str
    is_instant: bool

    @property
    def metrics(self) -> set[str]:
        """Names of what it looks at."""
        return {name for name, _ in SELECTOR.findall(self.expr)}

    @property
    def selectors(self) -> list[str]:
        """What it looks at."""
        return [f"{name}{labels}" for name, labels in SELECTOR.findall(self.expr)]

    def __str__(self) -> str:
        return f"{self.board}, {self.panel}: {self.expr}"


def of_panels(*, job: str, instance: str = ".*") -> list[Question]:
    """All queries, for the schedulers of a job (a regular expression) and any cluster and namespace."""
    values = {"cluster": ".*", "namespace": ".*", "job": job, "instance": instance}
    values |= {"__rate_interval": RATE_INTERVAL, "__range": RANGE}
    found = []
    for file in BOARDS:
        board = json.loads(file.read_text())
        for panel in board["panels"]:
            for target in panel.get("targets", ()):
                expr = re.sub(r"\$(\w+)", lambda match: values[match[1]], target["expr"])
                found.append(Question(board["uid"], panel["title"], expr, target["instant"]))
    return found


def variable_selectors(*, job: str) -> dict[str, tuple[str, str]]:
    """By variable: the label that it lists and of which series."""
    values = {"cluster": ".*", "namespace": ".*", "job": job}
    board = json.loads(BOARDS[0].read_text())
    found = {}
    for variable in board["templating"]["list"][1:]:
        match = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
        assert match, variable["query"]["query"]
        found[variable["name"]] = (match[2], re.sub(r"\$(\w+)", lambda name: values[name[1]], match[1]))
    return found


def rules() -> list[dict[str, Any]]:
    """All alerts and recording rules."""
    yaml = YAML(typ="safe")
    return [rule for file in RULES for group in yaml.load(file.read_text())["groups"] for rule in group["rules"]]


def rule_selectors() -> set[tuple[str, str]]:
    """What rules look at: metric and selector."""
    return {(name, f"{name}{labels}") for rule in rules() for name, labels in SELECTOR.findall(rule["expr"])}
