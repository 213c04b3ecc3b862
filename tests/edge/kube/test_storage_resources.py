"""Claims, volumes, classes, drivers, capacities and attachments from the API server to the core, if a plugin names them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from scheduler.api.storage import STORAGE_KINDS, StorageObject
from scheduler.core.stimulus import StorageObjectApplied, StorageObjectDeleted
from scheduler.kube.access import REQUIRED, missing_rights, rights_to_watch
from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import load_credentials
from scheduler.kube.resources import PODS, STORAGE, WATCHED, AnyResource, watched_resources
from scheduler.kube.transport import ApiError
from scheduler.sim.access import Denial
from scheduler.sim.resources import RESOURCES
from scheduler.sim.server import ApiServer
from tests.edge.kube.scripted import ScriptedTransport, added, bookmark, deleted, page
from tests.edge.kube.watched import streams, watching
from tests.support.rbac import reprise_rbac
from tests.support.storage import (
    make_attachment,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_volume,
)

CLAIMS, VOLUMES, *_ = STORAGE
MANIFESTS: list[dict[str, Any]] = [
    {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default", "uid": "default-data", "resourceVersion": "1"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "dataSource": {}},
        "status": {"capacity": {"storage": "1Gi"}},
    },
    {
        "kind": "PersistentVolume",
        "metadata": {"name": "pv", "uid": "pv-uid", "resourceVersion": "1", "finalizers": ["f"]},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "d", "volumeHandle": "h", "volumeAttributes": {"a": "b"}},
            "claimRef": {"namespace": "default", "name": "data"},
            "mountOptions": ["ro"],
        },
    },
    {
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": "ebs.csi.aws.com",
        "volumeBindingMode": "WaitForFirstConsumer",
        "parameters": {"type": "gp3"},
    },
    {
        "kind": "CSINode",
        "metadata": {"name": "n1"},
        "spec": {"drivers": [{"name": "ebs.csi.aws.com", "nodeID": "i-1", "allocatable": {"count": 25}}]},
    },
    {"kind": "CSIDriver", "metadata": {"name": "ebs.csi.aws.com"}, "spec": {"attachRequired": True}},
    {
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "c", "namespace": "kube-system"},
        "storageClassName": "fast",
        "capacity": "1Gi",
    },
    {
        "kind": "VolumeAttachment",
        "metadata": {"name": "a"},
        "spec": {"attacher": "ebs.csi.aws.com", "nodeName": "n1", "source": {"persistentVolumeName": "pv"}},
        "status": {"attached": True},
    },
]
DECODED: list[StorageObject] = [
    make_claim(),
    make_volume(csi=("d", "h"), claim="default/data"),
    make_class(),
    make_csi_node(),
    make_driver(),
    make_capacity("c"),
    make_attachment("a", "n1", "pv"),
]


def test_each_kind_can_be_watched_and_the_server_has_it() -> None:
    served = {(f"{each.path}/{each.plural}", each.namespaced) for each in RESOURCES}
    assert [each.kind.__name__ for each in STORAGE] == list(STORAGE_KINDS)
    assert {(each.path, each.is_namespaced) for each in (*STORAGE, *WATCHED)} <= served


def test_only_kinds_that_a_plugin_names_are_watched_and_pods_last() -> None:
    assert watched_resources(()) == WATCHED
    named = watched_resources(("PersistentVolume", "PersistentVolumeClaim"))
    assert set(named) - set(WATCHED) == {CLAIMS, VOLUMES}
    assert named[-1] is PODS
    assert set(watched_resources(STORAGE_KINDS)) == {*WATCHED, *STORAGE}


def test_what_is_watched_takes_rights_that_the_shipped_role_grants() -> None:
    assert rights_to_watch(WATCHED) == ()
    rights = rights_to_watch((*WATCHED, *STORAGE))
    assert [str(right) for right in rights[:4]] == [
        "list persistentvolumeclaims (all namespaces)",
        "watch persistentvolumeclaims (all namespaces)",
        "list persistentvolumes",
        "watch persistentvolumes",
    ]
    assert len(rights) == 2 * len(STORAGE)
    (role,) = [each for each in reprise_rbac() if each["kind"] == "ClusterRole"]
    granted = {
        (verb, resource, group)
        for rule in role["rules"]
        for verb in rule["verbs"]
        for resource in rule["resources"]
        for group in rule["apiGroups"]
    }
    assert {(right.verb, right.resource, right.group) for right in (*REQUIRED, *rights)} <= granted


@pytest.mark.looptime
@pytest.mark.parametrize(("resource", "sent", "decoded"), list(zip(STORAGE, MANIFESTS, DECODED, strict=True)))
async def test_what_is_read_is_decoded_and_nothing_else(
    resource: AnyResource, sent: dict[str, Any], decoded: StorageObject
) -> None:
    """A watch names the kind of each object; the items of a typed list leave it out."""
    listed_object = {key: value for key, value in sent.items() if key != "kind"}
    transport = ScriptedTransport(page(listed_object, version=9))
    (stream,) = streams(transport, 1)
    async with watching(transport, resource) as watched:
        stream.say(added(sent), bookmark(2, ends_initial_events=True), deleted(sent))
        await asyncio.sleep(1)
        by_watch = watched.stimuli
    transport.watch_answers = [ApiError(422, "Invalid", "no watch-list")]
    async with watching(transport, resource) as watched:
        by_list = watched.stimuli

    applied, gone = by_watch
    assert isinstance(applied, StorageObjectApplied)
    assert isinstance(gone, StorageObjectDeleted)
    assert [applied.subject, *(each.subject for each in by_list)] == [decoded, decoded]
    metadata = decoded.metadata
    assert (gone.kind, gone.namespace, gone.name, gone.uid) == (
        sent["kind"],
        metadata.namespace,
        metadata.name,
        metadata.uid,
    )


@pytest.mark.parametrize("resource", STORAGE, ids=lambda resource: resource.name)
@pytest.mark.parametrize("verb", ["list", "watch"])
async def test_a_missing_right_is_named(tmp_path: Path, resource: AnyResource, verb: str) -> None:
    server = ApiServer(denied=[Denial(verb, resource.name, resource.group)])
    await server.start()
    where = " (all namespaces)" if resource.is_namespaced else ""
    try:
        async with ApiClient(load_credentials(server.kubeconfig(tmp_path / "kubeconfig")), version="0") as client:
            missing = await missing_rights(client, rights_to_watch(STORAGE))
            assert missing == [f"{verb} {resource.full_name}{where}"]
    finally:
        await server.stop()
