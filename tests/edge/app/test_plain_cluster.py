"""Storage, Services and controllers in a cluster that is given as objects."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.api.objects import OwnerReference
from scheduler.app.cluster_objects import ObjectError, read_object, read_reference
from scheduler.app.plain_cluster import PlainCluster
from scheduler.cache.storage import StorageIndex
from scheduler.framework.pod_info import PodInfo
from tests.support.builders import make_pod


def apply(cluster: PlainCluster, raw: dict[str, Any]) -> None:
    item = read_object(raw)
    assert item is not None
    cluster.apply(item)


def delete(cluster: PlainCluster, kind: str, name: str, namespace: str = "", uid: str = "") -> None:
    reference = read_reference({"kind": kind, "metadata": {"name": name, "namespace": namespace, "uid": uid}})
    assert reference is not None
    cluster.delete(reference)


def shown(cluster: PlainCluster, kind: str, namespace: str, name: str) -> str | None:
    """The UID of the object that is known."""
    storage: StorageIndex = cluster.cache.storage
    found = storage.shown(kind, namespace, name)
    return None if found is None else found.metadata.uid


STORAGE = [
    ("PersistentVolumeClaim", "default"),
    ("PersistentVolume", ""),
    ("StorageClass", ""),
    ("CSINode", ""),
    ("CSIDriver", ""),
    ("CSIStorageCapacity", "default"),
    ("VolumeAttachment", ""),
]


@pytest.mark.parametrize(("kind", "namespace"), STORAGE)
def test_objects_of_storage_come_and_go(kind: str, namespace: str) -> None:
    cluster = PlainCluster()
    apply(cluster, {"kind": kind, "metadata": {"name": "a", "namespace": namespace, "uid": "1"}})
    assert shown(cluster, kind, namespace, "a") == "1"
    apply(cluster, {"kind": kind, "metadata": {"name": "a", "namespace": namespace, "uid": "2"}})
    assert shown(cluster, kind, namespace, "a") == "2"
    delete(cluster, kind, "a", namespace, "1")
    delete(cluster, kind, "a", "other" if namespace else "", "3")
    assert shown(cluster, kind, namespace, "a") == "2"
    delete(cluster, kind, "a", namespace)
    assert shown(cluster, kind, namespace, "a") is None


@pytest.mark.parametrize("kind", ["PersistentVolume", "StorageClass"])
def test_a_namespace_of_what_has_none_says_nothing(kind: str) -> None:
    cluster = PlainCluster()
    apply(cluster, {"kind": kind, "metadata": {"name": "a"}})
    delete(cluster, kind, "a", "default")
    assert shown(cluster, kind, "", "a") is None


def test_an_amount_that_cannot_be_read_is_named() -> None:
    raw = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"resources": {"requests": {"storage": "lots"}}},
    }
    with pytest.raises(ObjectError, match=r"^PersistentVolumeClaim default/a: spec\.resources\.requests\[storage\]: "):
        read_object(raw)


def pod_of(kind: str) -> PodInfo:
    """A pod labelled app=web that an object of this kind named web controls."""
    version = "v1" if kind == "ReplicationController" else "apps/v1"
    pod = make_pod(labels={"app": "web"})
    owners = [OwnerReference(api_version=version, kind=kind, name="web", controller=True)]
    return PodInfo(
        msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, owner_references=owners))
    )


@pytest.mark.parametrize(
    ("kind", "selector"),
    [
        ("Service", {"app": "web"}),
        ("ReplicationController", {"app": "web"}),
        ("ReplicaSet", {"matchLabels": {"app": "web"}}),
        ("StatefulSet", {"matchLabels": {"app": "web"}}),
    ],
)
def test_what_selects_pods_comes_and_goes(kind: str, selector: dict[str, Any]) -> None:
    cluster = PlainCluster()
    pod = pod_of(kind)
    nothing = cluster.cache.deduced_selector(pod)
    assert nothing.is_empty
    apply(cluster, {"kind": kind, "metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": selector}})
    assert not cluster.cache.deduced_selector(pod).is_empty
    delete(cluster, kind, "web", "default")
    assert cluster.cache.deduced_selector(pod).is_empty
