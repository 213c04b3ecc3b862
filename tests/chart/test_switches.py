"""Every switch of the chart, rendered and taken by a real API server: server-side apply, strict, as a dry run."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.chart.conftest import Audited
from tests.chart.crds import DEFINITIONS
from tests.support.api_client import PATCH_TYPES, ApiClient, ApiError
from tests.support.helm import Helm, HelmError
from tests.support.manifests import namespace_manifest
from tests.support.resources import CUSTOM_RESOURCE_DEFINITIONS, Object, resource_of

SWITCHES: dict[str, dict[str, Any]] = {
    "default": {},
    "fullnameOverride": {"fullnameOverride": "other"},
    "commonLabels": {"commonLabels": {"team": "a"}},
    "image": {"image": {"repository": "registry.example.com/r", "tag": "1", "pullPolicy": "Always"}},
    "digest": {"image": {"digest": f"sha256:{'0' * 64}"}, "imagePullSecrets": [{"name": "registry"}]},
    "schedulerName": {"schedulerName": "packing"},
    "profiles": {"configuration": {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}]}},
    "repriseConfiguration": {"repriseConfiguration": {"batching": {"enabled": False}, "logging": {"level": "debug"}}},
    "configuration of a resource": {"config": {"resource": "night"}},
    "configuration that restarts": {"config": {"onChange": "restart"}},
    "replicas": {"replicas": 3},
    "podDisruptionBudget": {"replicas": 3, "podDisruptionBudget": {"maxUnavailable": "50%"}},
    "no election": {"configuration": {"leaderElection": {"leaderElect": False}}},
    "another Lease": {"configuration": {"leaderElection": {"resourceName": "mine"}}},
    "serviceAccount": {"serviceAccount": {"create": False, "name": "given"}},
    "annotations": {"serviceAccount": {"annotations": {"a": "b"}}, "service": {"annotations": {"a": "b"}}},
    "no rbac": {"rbac": {"create": False}},
    "extraRules": {"rbac": {"extraRules": [{"apiGroups": ["e.com"], "resources": ["racks"], "verbs": ["list"]}]}},
    "serving": {"serving": {"port": 8443, "debug": True, "tls": {"secretName": "certificate"}}},
    "networkPolicy": {"networkPolicy": {"enabled": True, "from": [{"namespaceSelector": {"matchLabels": {"a": "b"}}}]}},
    "networkPolicy for all": {"networkPolicy": {"enabled": True}, "metrics": {"plain": {"enabled": True}}},
    "plain metrics": {"metrics": {"plain": {"enabled": True, "port": 8080}, "serviceMonitor": {"enabled": True}}},
    "scrapers": {"metrics": {"scrapers": [{"namespace": "monitoring", "name": "prometheus"}]}},
    "serviceMonitor": {
        "metrics": {"serviceMonitor": {"enabled": True, "interval": "15s", "labels": {"release": "prometheus"}}}
    },
    "prometheusRule": {"metrics": {"prometheusRule": {"enabled": True}}},
    "dashboards": {"metrics": {"dashboards": {"enabled": True, "annotations": {"folder": "a"}}}},
    "no hook": {"podsLeftHook": {"enabled": False}},
    "resources": {"resources": {"limits": {"memory": "1Gi"}, "requests": {"cpu": 1}}},
    "security contexts": {
        "podSecurityContext": {"fsGroup": None, "supplementalGroups": [7]},
        "securityContext": {"runAsUser": 1000},
    },
    "probes": {"livenessProbe": {"initialDelaySeconds": 5}, "readinessProbe": {"periodSeconds": 1}},
    "terminationGracePeriodSeconds": {"terminationGracePeriodSeconds": 60},
    "priorityClassName": {"priorityClassName": "system-cluster-critical"},
    "placement": {
        "nodeSelector": {"a": "b"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}},
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
        ],
    },
    "pods": {"podLabels": {"a": "b"}, "podAnnotations": {"a": "b"}, "extraArgs": ["--seed=1"]},
    "environment": {
        "env": [{"name": "A", "value": "b"}, {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
        "extraVolumes": [{"name": "keys", "secret": {"secretName": "keys"}}],
        "extraVolumeMounts": [{"name": "keys", "mountPath": "/keys", "readOnly": True}],
    },
}


@pytest.fixture(scope="session")
def try_out(audited: Audited) -> Callable[[Object], Object]:
    """Give an object to the server, which checks it as if it were to keep it, and refuses what it does not know."""
    admin = audited.control_plane.client()
    for manifest in DEFINITIONS:
        admin.apply(manifest)
        established(admin, manifest["metadata"]["name"])
    admin.apply(namespace_manifest("reprise"))

    def apply(manifest: Object) -> Object:
        metadata = manifest["metadata"]
        path = resource_of(manifest).path(metadata.get("namespace"), metadata["name"])
        query = {"fieldManager": "helm", "force": "true", "dryRun": "All", "fieldValidation": "Strict"}
        taken: Object = admin.call("PATCH", path, manifest, query=query, content_type=PATCH_TYPES["apply"])
        return taken

    return apply


def established(admin: ApiClient, name: str) -> None:
    """Wait until objects of a new kind can be given to the server."""
    with admin.watch(CUSTOM_RESOURCE_DEFINITIONS) as definitions:

        def served(definition: Object | None) -> bool:
            conditions = (definition or {}).get("status", {}).get("conditions") or []
            return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)

        definitions.wait_until(lambda watch: served(watch.find(name)), what=f"{name} is established")


@pytest.mark.parametrize("switch", SWITCHES)
def test_the_api_server_takes_what_a_switch_comes_to(
    helm: Helm, try_out: Callable[[Object], Object], switch: str
) -> None:
    objects = helm.template(SWITCHES[switch], hooks=True)
    for manifest in objects:
        taken = try_out(manifest)
        assert taken["metadata"]["name"] == manifest["metadata"]["name"]


def test_an_object_that_is_wrong_would_be_refused(helm: Helm, try_out: Callable[[Object], Object]) -> None:
    deployment = next(each for each in helm.template() if each["kind"] == "Deployment")
    deployment["spec"]["template"]["spec"]["surprise"] = True
    with pytest.raises(ApiError, match="surprise"):
        try_out(deployment)


def test_every_value_of_the_chart_is_switched(helm: Helm) -> None:
    """A value that is added and not tried here is found."""
    top = set().union(*SWITCHES.values())
    for name in ("image", "metrics", "rbac", "serving", "serviceAccount", "podDisruptionBudget"):
        assert name in top
    with pytest.raises(HelmError, match="surprise"):
        helm.template({"surprise": 1})
    shown = helm.run("show", "values", "charts/reprise")
    assert {line.partition(":")[0] for line in shown.splitlines() if line and line[0].isalpha()} <= top
