"""The alert rules, as promtool sees them: they are well formed, and each fires when it should and only then."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.docs.checkout import ROOT
from tests.prometheus.alert_cases import CASES, Fires
from tests.support.prometheus import promtool

FOLDER = ROOT / "deploy" / "alerts"
NEVER, ALWAYS = "vector(1) > 2", 'label_replace(vector(1), "job", "reprise", "", "")'


def rules(file: Path = FOLDER / "alerts.yaml") -> Any:
    return YAML(typ="safe").load(file.read_text())


def alerts() -> dict[str, Any]:
    return {rule["alert"]: rule for group in rules()["groups"] for rule in group["rules"]}


def fires_as_told(folder: Path) -> tuple[bool, str]:
    """Whether the cases come out as they say with the rules of a folder; and promtool's words."""
    tests = []
    for case in CASES:
        series = [{"series": name, "values": values} for name, values in case.series.items()]
        minutes = (case.minute,) if isinstance(case, Fires) else case.minutes
        checks = [
            {"eval_time": f"{minute}m", "alertname": case.alert, "exp_alerts": expected(case)} for minute in minutes
        ]
        tests.append({"interval": "1m", "input_series": series, "alert_rule_test": checks})
    files = [str(path) for path in sorted(folder.glob("*.yaml"))]
    cases = folder / "cases.json"
    cases.write_text(json.dumps({"rule_files": files, "evaluation_interval": "1m", "tests": tests}))
    answer = promtool("test", "rules", cases)
    return answer.returncode == 0, answer.stdout + answer.stderr


def expected(case: object) -> list[Mapping[str, Any]]:
    if not isinstance(case, Fires):
        return []
    rule = alerts()[case.alert]
    return [
        {
            "exp_labels": {**case.labels, "severity": rule["labels"]["severity"]},
            "exp_annotations": {**rule["annotations"], "description": case.says},
        }
    ]


def test_the_rules_are_well_formed() -> None:
    answer = promtool("check", "rules", "--lint=all", "--lint-fatal", *sorted(FOLDER.glob("*.yaml")))

    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_each_alert_fires_when_it_should_and_only_then(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    is_well, said = fires_as_told(tmp_path)

    assert is_well, said


@pytest.mark.parametrize("expr", [NEVER, ALWAYS], ids=["never", "always"])
def test_the_cases_notice_each_alert_that_fires(tmp_path: Path, expr: str) -> None:
    """Never, or always: so each alert has a case in which it fires and one in which it does not."""
    shutil.copy(FOLDER / "recording.yaml", tmp_path)
    changed = rules()
    for rule in changed["groups"][0]["rules"]:
        rule["expr"] = expr
        rule.pop("for", None)
    (tmp_path / "alerts.yaml").write_text(json.dumps(changed))
    is_well, said = fires_as_told(tmp_path)

    assert not is_well
    assert set(re.findall(r"alertname: (\w+)", said)) == set(alerts())


def test_a_kube_scheduler_that_is_down_is_noticed_while_only_reprise_is_scraped(tmp_path: Path) -> None:
    """kubernetes-mixin's own alert: our job label is not one that it counts."""
    test = {
        "interval": "1m",
        "input_series": [{"series": 'up{job="reprise", instance="a"}', "values": "1x30"}],
        "promql_expr_test": [
            {
                "expr": 'absent(up{job="kube-scheduler"})',
                "eval_time": "20m",
                "exp_samples": [{"labels": '{job="kube-scheduler"}', "value": 1}],
            }
        ],
    }
    file = tmp_path / "cases.json"
    file.write_text(json.dumps({"rule_files": [], "evaluation_interval": "1m", "tests": [test]}))
    answer = promtool("test", "rules", file)

    assert answer.returncode == 0, answer.stdout + answer.stderr
