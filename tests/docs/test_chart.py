"""The chart says what the product says: rights, fields, versions, and copies of what lies elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

import pytest
from ruamel.yaml import YAML

from scheduler.config.decoding import encode
from scheduler.config.kube_document import Extender, ExtenderTLSConfig, KubeSchedulerConfiguration, KubeSchedulerProfile
from scheduler.config.reprise_document import RepriseConfiguration
from tests.docs.checkout import text
from tools.chart.files import CHART, chart_files, copies

SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
VALUES: dict[str, Any] = YAML(typ="safe").load((CHART / "values.yaml").read_text())

# Where anything may be written that Kubernetes, the Prometheus operator or a plugin takes: they check it.
OPEN = {
    "global",
    "configuration.profiles[].pluginConfig[].args",
    "networkPolicy.from[]",
    "metrics.serviceMonitor.authorization",
    "metrics.serviceMonitor.tlsConfig",
    "podSecurityContext.sysctls[]",
    "affinity.nodeAffinity",
    "affinity.podAffinity",
    "affinity.podAntiAffinity",
    "topologySpreadConstraints[].labelSelector",
    "env[].valueFrom",
    "extraVolumes[]",
}
# The chart itself decides on these.
NOT_OFFERED = {"leaderElection.resourceNamespace", "clientConnection.kubeconfig"}


def resolved(part: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = SCHEMA["definitions"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
    return found


def parts(part: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every part of the schema with the path of its value."""
    part = resolved(part)
    yield path, part
    for name, one in part.get("properties", {}).items():
        yield from parts(one, f"{path}.{name}".lstrip("."))
    if "items" in part:
        yield from parts(part["items"], f"{path}[]")


def fields(path: str) -> set[str]:
    """The fields that the schema knows below a path, nested ones with dots; lists are not looked into."""
    prefix = f"{path}."
    return {
        found.removeprefix(prefix)
        for found, part in parts(SCHEMA)
        if found.startswith(prefix) and "[]" not in found.removeprefix(prefix) and not part.get("properties")
    }


def flat(document: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in document.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


@pytest.mark.parametrize("path", sorted(chart_files()), ids=lambda path: str(path.relative_to(CHART)))
def test_what_is_written_from_elsewhere_is_as_it_would_be_written_now(path: Any) -> None:
    assert path.read_text() == chart_files()[path], "write it anew: make chart-files"


def test_nothing_is_packed_that_is_not_there_any_more() -> None:
    assert copies() <= set(chart_files())


def test_chart_and_application_have_the_version_of_the_product() -> None:
    chart = YAML(typ="safe").load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (version("reprise-scheduler"),) * 2


def test_a_wrong_key_is_refused_everywhere() -> None:
    open_parts = {
        path
        for path, part in parts(SCHEMA)
        if part.get("type") == "object" and part.get("additionalProperties") is True
    }
    undecided = {
        path for path, part in parts(SCHEMA) if part.get("type") == "object" and "additionalProperties" not in part
    }
    assert undecided == set()
    assert open_parts == OPEN


def test_every_value_is_explained() -> None:
    assert [path for path, part in parts(SCHEMA) if "[]" not in path and not part.get("description")] == [
        "podSecurityContext.seccompProfile.type",
        "podSecurityContext.seccompProfile.localhostProfile",
        "securityContext.seccompProfile.type",
        "securityContext.seccompProfile.localhostProfile",
    ]


def test_every_default_is_a_value_that_the_schema_knows() -> None:
    known = {path for path, _ in parts(SCHEMA)}
    maps = [path for path, part in parts(SCHEMA) if part.get("additionalProperties") not in (False, None)]
    assert {
        path for path in flat(VALUES) if path not in known and not any(path.startswith(f"{one}.") for one in maps)
    } == set()


def test_the_schema_knows_the_fields_of_kube_schedulers_document() -> None:
    documented = {name for name in flat(encode(KubeSchedulerConfiguration())) if name not in NOT_OFFERED}
    assert fields("configuration") == documented
    assert set(dict(parts(SCHEMA))["configuration.profiles[]"]["properties"]) == set(encode(KubeSchedulerProfile()))
    assert set(dict(parts(SCHEMA))["configuration.profiles[].plugins"]["properties"]) == set(
        encode(KubeSchedulerProfile())["plugins"]
    )
    assert fields("configuration.extenders[]") == set(flat(encode(Extender(tls_config=ExtenderTLSConfig()))))


def test_the_schema_knows_the_fields_of_our_own_document() -> None:
    """Those of `serving` are made from values of the chart."""
    sections = encode(RepriseConfiguration())
    serving = sections.pop("serving")
    assert fields("repriseConfiguration") == set(flat(sections))
    template = text("charts/reprise/templates/_configuration.tpl")
    # Served on loopback inside a pod, they would be of no use.
    of_no_use = {"insecureBindAddress", "insecurePort"}
    assert {name for name in serving if f'"{name}"' in template} == set(serving) - of_no_use
