"""A pod that needs a rule which is not there yet is refused, naming the field and the plugin, never placed without it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.api.objects import DeviceClass, DeviceClassSpec, ObjectMeta, Pod
from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo
from scheduler.profile.refusal import refusal
from tests.support.builders import make_pod

TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
VOLUMES = (
    *("persistentVolumeClaim", "ephemeral", "gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd"),
    *("azureDisk", "azureFile", "cinder", "vsphereVolume", "portworxVolume"),
    *("emptyDir", "configMap", "secret", "projected", "downwardAPI", "hostPath", "image", "csi", "nfs", "cephfs", "fc"),
    *("flexVolume", "glusterfs", "gitRepo", "someVolumeOfTheFuture"),
)


def pod(spec: dict[str, Any] | None = None) -> Pod:
    """As ``kubectl get -o json`` writes it."""
    return msgspec.convert(
        {
            "metadata": {"name": "web", "namespace": "default", "uid": "web"},
            "spec": {"containers": [{"name": "c"}], **(spec or {})},
        },
        Pod,
    )


def refused(subject: Pod, cache: Cache | None = None) -> str | None:
    text = refusal(PodInfo(subject), cache or Cache(seed=1))
    if text is None:
        return None
    assert text.startswith("pod needs ")
    assert text.endswith(" is not implemented yet: use another scheduler for this pod")
    return text.removeprefix("pod needs ").removesuffix(" is not implemented yet: use another scheduler for this pod")


SPECS: dict[str, tuple[dict[str, Any], str]] = {
    "claims": ({"resourceClaims": [{"name": "gpu"}]}, "spec.resourceClaims, and DynamicResources"),
}


@pytest.mark.parametrize("case", SPECS)
def test_a_pod_that_needs_the_rule_is_refused(case: str) -> None:
    spec, text = SPECS[case]

    assert refused(pod(spec)) == text


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"hostNetwork": True, "hostUsers": False},
        {"resourceClaims": [], "volumes": []},
        {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}]},
        {"affinity": {}},
        {"affinity": {"podAffinity": {REQUIRED: [TERM]}, "podAntiAffinity": {REQUIRED: [TERM], PREFERRED: []}}},
        {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}},
        {"containers": [{"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]},
        {"containers": [{"name": "c", "volumeMounts": [{"name": "v", "bindMountOptions": ["noexec"]}]}]},
        *({"volumes": [{"name": "v", kind: {}}]} for kind in VOLUMES),
    ],
    ids=str,
)
def test_a_pod_that_needs_no_missing_rule_is_not(spec: dict[str, Any]) -> None:
    assert refused(pod(spec)) is None


def requesting(resource: str, amount: str = "1") -> Pod:
    return make_pod(requests={resource: amount})


def with_class(name: str = "gpus", resource: str | None = "example.com/gpu") -> Cache:
    cache = Cache(seed=1)
    cache.apply_device_class(
        DeviceClass(metadata=ObjectMeta(name=name), spec=DeviceClassSpec(extended_resource_name=resource))
    )
    return cache


def test_a_resource_that_a_device_class_serves_is_refused() -> None:
    text = "example.com/gpu, which DeviceClass 'gpus' serves, and DynamicResources"

    assert refused(requesting("example.com/gpu"), with_class()) == text


def test_a_resource_named_after_a_device_class_is_refused() -> None:
    resource = "deviceclass.resource.kubernetes.io/gpus"
    text = f"{resource}, which DeviceClass 'gpus' serves, and DynamicResources"

    assert refused(requesting(resource), with_class(resource=None)) == text


@pytest.mark.parametrize(
    ("resource", "amount"),
    [
        ("example.com/other", "1"),
        ("example.com/gpu", "0"),
        ("cpu", "1"),
        ("deviceclass.resource.kubernetes.io/other", "1"),
    ],
)
def test_a_resource_that_nobody_serves_or_wants_is_not(resource: str, amount: str) -> None:
    assert refused(requesting(resource, amount), with_class()) is None
