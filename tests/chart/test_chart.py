"""What the chart is as a whole: lint, its own unit tests, what is refused, and what is rendered for those without helm."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from ruamel.yaml import YAML

from tests.support.helm import CHART, Helm, HelmError
from tools.chart.files import MANIFESTS, manifests


def test_lint_finds_nothing(either_helm: Helm) -> None:
    said = either_helm.run("lint", "--strict", CHART)
    assert "1 chart(s) linted, 0 chart(s) failed" in said
    assert "[WARNING]" not in said


def test_unit_tests_of_the_chart_pass(helm_programs: Path, tmp_path: Path) -> None:
    command: list[str | Path] = [helm_programs / "helm-unittest", "--strict", CHART]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"HOME": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr


def test_both_helms_render_the_same(helm_programs: Path, helm: Helm, tmp_path: Path) -> None:
    values = {"replicas": 2, "metrics": {"dashboards": {"enabled": True}, "prometheusRule": {"enabled": True}}}
    assert Helm(helm_programs / "helm3", tmp_path).template(values) == helm.template(values)


@pytest.mark.parametrize("name", ["rbac.yaml", "reprise.yaml"])
def test_the_rendered_manifests_are_as_they_would_be_rendered_now(helm_programs: Path, name: str) -> None:
    written = {path.name: (path, content) for path, content in manifests(helm_programs / "helm").items()}
    path, content = written[name]
    assert path.read_text() == content, "write them anew: make chart-files"


@pytest.mark.parametrize("name", ["rbac.yaml", "reprise.yaml"])
def test_the_rendered_manifests_mean_the_same_to_kubectl(name: str) -> None:
    """Which reads YAML 1.1, where `on` is true and `012` is ten."""
    written = (MANIFESTS / name).read_text()
    assert list(yaml.safe_load_all(written)) == list(YAML(typ="safe").load_all(written))


def profile(**fields: Any) -> dict[str, Any]:
    return {"configuration": {"profiles": [{"schedulerName": "reprise", **fields}]}}


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("kube-scheduler's name", {"schedulerName": "default-scheduler"}, "/schedulerName"),
    (
        "kube-scheduler's name in a profile",
        profile(schedulerName="default-scheduler"),
        "/configuration/profiles/0/schedulerName",
    ),
    (
        "kube-scheduler's Lease",
        {"configuration": {"leaderElection": {"resourceName": "kube-scheduler"}}},
        "/configuration/leaderElection/resourceName",
    ),
    ("kube-scheduler's Lease by the release's name", {"fullnameOverride": "kube-scheduler"}, "/fullnameOverride"),
    (
        "a Lease in another namespace",
        {"configuration": {"leaderElection": {"resourceNamespace": "kube-system"}}},
        "/configuration/leaderElection",
    ),
    ("an argument that takes kube-scheduler's place", {"extraArgs": ["--replace-kube-scheduler"]}, "/extraArgs/0"),
    ("an unknown value", {"replicaCount": 2}, "replicaCount"),
    ("an unknown value below another", {"image": {"repo": "x"}}, "/image"),
    ("an unknown field of the configuration", {"configuration": {"profile": []}}, "/configuration"),
    ("an unknown extension point", profile(plugins={"scoring": {}}), "/configuration/profiles/0/plugins"),
    (
        "a plugin without a name",
        profile(plugins={"score": {"enabled": [{"weight": 2}]}}),
        "/configuration/profiles/0/plugins/score/enabled/0",
    ),
    (
        "two profiles of which one has no name",
        {"configuration": {"profiles": [{"schedulerName": "a"}, {}]}},
        "/configuration/profiles/1",
    ),
    (
        "a part of the nodes",
        {"configuration": {"percentageOfNodesToScore": 50}},
        "/configuration/percentageOfNodesToScore",
    ),
    (
        "a duration without a unit",
        {"configuration": {"leaderElection": {"leaseDuration": "15"}}},
        "/configuration/leaderElection/leaseDuration",
    ),
    (
        "an unknown level",
        {"repriseConfiguration": {"logging": {"level": "loud"}}},
        "/repriseConfiguration/logging/level",
    ),
    (
        "a share beyond 1",
        {"repriseConfiguration": {"batching": {"verifyFraction": 1.5}}},
        "/repriseConfiguration/batching/verifyFraction",
    ),
    (
        "replicas that all decide",
        {"replicas": 2, "configuration": {"leaderElection": {"leaderElect": False}}},
        "/replicas",
    ),
    ("a text for a number", {"replicas": "two"}, "/replicas"),
    ("a port that is none", {"serving": {"port": 70000}}, "/serving/port"),
    (
        "a wildcard of resources",
        {"rbac": {"extraRules": [{"apiGroups": [""], "resources": ["*"], "verbs": ["get"]}]}},
        "/rbac/extraRules/0/resources/0",
    ),
    (
        "a wildcard of verbs",
        {"rbac": {"extraRules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]}]}},
        "/rbac/extraRules/0/verbs/0",
    ),
    ("a digest that is none", {"image": {"digest": "latest"}}, "/image/digest"),
    ("a scraper without a namespace", {"metrics": {"scrapers": [{"name": "prometheus"}]}}, "/metrics/scrapers/0"),
    ("an unknown field of a toleration", {"tolerations": [{"keys": "a"}]}, "/tolerations/0"),
    ("an unknown field of a probe", {"livenessProbe": {"path": "/"}}, "/livenessProbe"),
]


@pytest.mark.parametrize(("values", "path"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_wrong_values_are_refused_by_their_path(helm: Helm, values: dict[str, Any], path: str) -> None:
    with pytest.raises(HelmError) as refused:
        helm.template(values)
    assert "values don't meet the specifications of the schema" in str(refused.value)
    assert path in str(refused.value)


def test_helm_3_refuses_them_too(helm_programs: Path, tmp_path: Path) -> None:
    with pytest.raises(HelmError, match="/schedulerName"):
        Helm(helm_programs / "helm3", tmp_path).template({"schedulerName": "default-scheduler"})


def test_a_release_that_would_take_kube_schedulers_lease_is_refused(helm: Helm) -> None:
    """A release's own name cannot: the chart's is added to it."""
    (lease,) = (each for each in helm.template(release="kube-scheduler") if each["kind"] == "Lease")
    assert lease["metadata"]["name"] == "kube-scheduler-reprise"


def test_an_older_kubernetes_is_refused(helm: Helm) -> None:
    with pytest.raises(HelmError, match="kubeVersion"):
        helm.run("template", "reprise", CHART, "--kube-version=1.29.9")
