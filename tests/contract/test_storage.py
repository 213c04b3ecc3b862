"""Volumes, claims, classes and what CSI drivers write are completed and kept alike."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.servers import Server, without_managed_fields
from tests.support.api_client import PATCH_TYPES
from tests.support.resources import (
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
    Object,
    Resource,
)

VOLUME = {
    "accessModes": ["ReadWriteOnce"],
    "capacity": {"storage": "1Gi"},
    "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"},
    "storageClassName": "fast",
}
CLAIM = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
    "storageClassName": "fast",
}
DRIVER = {
    "attachRequired": True,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "podInfoOnMount": False,
    "preventPodSchedulingIfMissing": False,
    "requiresRepublish": False,
    "seLinuxMount": False,
    "storageCapacity": True,
    "volumeLifecycleModes": ["Persistent"],
}
CSI_NODE = {
    "drivers": [{"name": "ebs.csi.aws.com", "nodeID": "i-1", "topologyKeys": ["zone"], "allocatable": {"count": 25}}]
}
ATTACHMENT = {"attacher": "ebs.csi.aws.com", "nodeName": "n1", "source": {"persistentVolumeName": "contract"}}
CAPACITY = {"storageClassName": "fast", "capacity": "1Gi", "nodeTopology": {"matchLabels": {"zone": "a"}}}

CASES: list[tuple[Resource, Object, Object]] = [
    (
        PERSISTENT_VOLUMES,
        {"spec": VOLUME},
        {
            "spec": {**VOLUME, "persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
            "status": {"phase": "Pending"},
        },
    ),
    (
        PERSISTENT_VOLUME_CLAIMS,
        {"spec": CLAIM},
        {"spec": {**CLAIM, "volumeMode": "Filesystem"}, "status": {"phase": "Pending"}},
    ),
    (
        STORAGE_CLASSES,
        {"provisioner": "ebs.csi.aws.com", "volumeBindingMode": "WaitForFirstConsumer"},
        {"provisioner": "ebs.csi.aws.com", "volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Delete"},
    ),
    (
        STORAGE_CLASSES,
        {"provisioner": "ebs.csi.aws.com"},
        {"provisioner": "ebs.csi.aws.com", "volumeBindingMode": "Immediate", "reclaimPolicy": "Delete"},
    ),
    (CSI_NODES, {"spec": CSI_NODE}, {"spec": CSI_NODE, "status": {}}),
    (CSI_DRIVERS, {"spec": {"storageCapacity": True}}, {"spec": DRIVER}),
    (CSI_STORAGE_CAPACITIES, CAPACITY, CAPACITY),
    (VOLUME_ATTACHMENTS, {"spec": ATTACHMENT}, {"spec": ATTACHMENT, "status": {"attached": False}}),
]


@pytest.fixture
def clean(server: Server) -> Iterator[Server]:
    """Objects without a namespace do not go with the namespace of the test."""
    yield server
    for resource in (PERSISTENT_VOLUMES, STORAGE_CLASSES, CSI_NODES, CSI_DRIVERS, VOLUME_ATTACHMENTS):
        path = server.path(resource, "contract")
        server.send("PATCH", path, {"metadata": {"finalizers": None}}, content_type=PATCH_TYPES["merge"])
        server.send("DELETE", path)


@pytest.mark.parametrize(("resource", "manifest", "expected"), CASES, ids=lambda value: getattr(value, "kind", ""))
def test_an_object_is_completed_and_read_back(
    clean: Server, resource: Resource, manifest: Object, expected: Object
) -> None:
    named = {"metadata": {"name": "contract"}, **manifest}

    created = clean.send("POST", clean.path(resource), named)
    read = clean.send("GET", clean.path(resource, "contract"))

    assert (created.status, read.status) == (201, 200)
    assert (
        told(created.json())
        == told(read.json())
        == {
            "kind": resource.kind,
            "apiVersion": resource.api_version,
            **expected,
        }
    )
    listed = clean.listed(resource.path(), fieldSelector="metadata.name=contract")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["contract"]


def told(item: Any) -> Object:
    """The object without its metadata and times."""
    found: Object = without_managed_fields(item)
    del found["metadata"]
    if "status" in found:
        found["status"].pop("lastPhaseTransitionTime", None)
    return found
