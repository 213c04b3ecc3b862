"""Pods with claims on the embedded API server: what is written, in which order, and when the pod is bound."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from scheduler.app.runtime import Runtime
from scheduler.config.configuration import load
from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import load_credentials
from scheduler.kube.transport import MERGE_PATCH
from scheduler.sim.resources import PODS, RESOURCES
from scheduler.sim.server import ApiServer
from tests.support.manifests import node_manifest, pod_manifest

Object = dict[str, Any]

PATIENCE_SECONDS = 20.0
HOSTNAME = "kubernetes.io/hostname"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
CLAIMS, VOLUMES = (
    next(each for each in RESOURCES if each.plural == plural)
    for plural in ("persistentvolumeclaims", "persistentvolumes")
)


def storage_class(provisioner: str) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "late"},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def claim(name: str = "data") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "late",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def volume(name: str, node: str) -> Object:
    terms = [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]}]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "late",
            "local": {"path": "/mnt"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        },
    }


def pod(name: str = "web", claim_name: str = "data") -> Object:
    manifest = pod_manifest(name, namespace="default", scheduler_name="reprise")
    manifest["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}]
    return manifest


class Cluster:
    """A running scheduler, the embedded server that it works for, and the part of the volume controllers."""

    def __init__(self, server: ApiServer, client: ApiClient, runtime: Runtime) -> None:
        self.server = server
        self.runtime = runtime
        self._client = client

    def node_of(self, name: str = "web") -> str:
        found = self.server.find(PODS, "default", name)
        return "" if found is None else str(found["spec"].get("nodeName", ""))

    def nomination(self, name: str = "web") -> str:
        found = self.server.find(PODS, "default", name)
        return "" if found is None else str(found["status"].get("nominatedNodeName", ""))

    def claim_ref(self, name: str) -> Object:
        found = self.server.find(VOLUMES, "", name)
        assert found is not None
        reference: Object = found["spec"].get("claimRef") or {}
        return reference

    def selected_node(self, name: str = "data") -> str:
        found = self.server.find(CLAIMS, "default", name)
        assert found is not None
        return str((found["metadata"].get("annotations") or {}).get(SELECTED_NODE, ""))

    async def until(self, condition: Callable[[], Any]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not condition():
                await asyncio.sleep(0.01)

    async def patch(self, path: str, patch: Object) -> None:
        response = await self._client.patch(f"/api/v1/{path}", msgspec.json.encode(patch), MERGE_PATCH)
        assert response.status == 200, response.body

    async def bind_claim(self, volume_name: str, name: str = "data") -> None:
        """As the controller does once both know each other."""
        annotations = {"pv.kubernetes.io/bind-completed": "yes"}
        body = {"metadata": {"annotations": annotations}, "spec": {"volumeName": volume_name}}
        await self.patch(f"namespaces/default/persistentvolumeclaims/{name}", body)


@asynccontextmanager
async def running(folder: Path, *objects: Object) -> AsyncIterator[Cluster]:
    server = ApiServer()
    await server.start()
    try:
        for each in objects:
            server.create(each)
            if each["kind"] == "PersistentVolume":
                # As its controller does at once; until then nobody may have it.
                server.set_status(VOLUMES, "", each["metadata"]["name"], {"phase": "Available"})
        async with ApiClient(load_credentials(server.kubeconfig(folder / "kubeconfig")), version="0") as client:
            runtime = Runtime(load(None), client, hostname="host", seed=1)
            stop = asyncio.Event()
            task = asyncio.create_task(runtime.run(stop))
            yield Cluster(server, client, runtime)
            stop.set()
            await task
    finally:
        await server.stop()


NODES = [node_manifest(name, labels={HOSTNAME: name}) for name in ("n1", "n2")]


async def test_a_claim_gets_a_volume_of_the_pods_node_and_the_pod_is_bound_when_it_has_it(tmp_path: Path) -> None:
    static = storage_class("kubernetes.io/no-provisioner")
    async with running(tmp_path, *NODES, static, volume("pv", "n2"), claim(), pod()) as it:
        await it.until(lambda: it.claim_ref("pv"))
        found = it.server.find(CLAIMS, "default", "data")
        assert found is not None
        reference = it.claim_ref("pv")
        assert (reference["kind"], reference["namespace"], reference["name"], reference["uid"]) == (
            "PersistentVolumeClaim",
            "default",
            "data",
            found["metadata"]["uid"],
        )
        assert (it.node_of(), it.nomination()) == ("", "n2")

        await it.bind_claim("pv")
        await it.until(it.node_of)
        assert it.node_of() == "n2"
        await it.until(lambda: not it.runtime.state.bindings)


async def test_a_provisioner_is_told_the_node_and_told_anew_when_it_cannot_serve_it(tmp_path: Path) -> None:
    """The annotation that it takes away again sends the pod back to the queue."""
    dynamic = storage_class("csi.example")
    async with running(tmp_path, NODES[0], dynamic, claim(), pod()) as it:
        await it.until(lambda: it.selected_node() == "n1")
        await it.patch(
            "namespaces/default/persistentvolumeclaims/data", {"metadata": {"annotations": {SELECTED_NODE: None}}}
        )
        await it.until(lambda: "PodScheduled" in str(it.server.find(PODS, "default", "web")))
        found = it.server.find(PODS, "default", "web")
        assert found is not None
        (condition,) = found["status"]["conditions"]
        assert condition["reason"] == "SchedulerError"
        assert condition["message"].startswith('running PreBind plugin "VolumeBinding": binding volumes: ')

        await it.until(lambda: it.selected_node() == "n1")
        await it.bind_claim("made")
        it.server.create(volume("made", "n1"))
        await it.until(it.node_of)


async def test_a_volume_that_a_deleted_pod_was_to_have_is_there_for_the_next_one(tmp_path: Path) -> None:
    """Two pods, two claims, one volume: the second one waits until the first one is gone before it was bound."""
    static = storage_class("kubernetes.io/no-provisioner")
    objects = (*NODES, static, volume("pv", "n1"), claim("first"), claim("second"), pod("first", "first"))
    async with running(tmp_path, *objects) as it:
        await it.until(lambda: it.claim_ref("pv"))
        it.server.create(pod("second", "second"))
        await it.until(lambda: "PodScheduled" in str(it.server.find(PODS, "default", "second")))
        it.server.delete(PODS, "default", "first", grace_seconds=0)
        await it.until(lambda: not it.runtime.state.bindings)
        # What was written of the volume stays; somebody frees it.
        await it.patch("persistentvolumes/pv", {"spec": {"claimRef": None}})
        await it.until(lambda: it.claim_ref("pv").get("name") == "second")
        await it.bind_claim("pv", "second")
        await it.until(lambda: it.node_of("second"))
        assert it.node_of("second") == "n1"
