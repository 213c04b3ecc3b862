"""The edge against a real kube-apiserver: what is watched, bound, written and asked."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import structlog

from scheduler.core.stimulus import BindFailed, PodBound
from scheduler.kube.access import REQUIRED, Right, missing_rights
from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import load_credentials
from scheduler.kube.dispatcher import Unfinished
from scheduler.kube.reflector import Reflector
from scheduler.kube.resources import NODES, PODS
from tests.edge.kube.whole_edge import running_edge
from tests.support.api_client import ApiClient as Admin
from tests.support.binaries import require_binaries
from tests.support.control_plane import ControlPlane
from tests.support.manifests import namespace_manifest, node_manifest, pod_manifest
from tests.support.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS
from tests.support.resources import PODS as POD_RESOURCE

RBAC = "rbac.authorization.k8s.io"


@pytest.fixture
def kubeconfig(fresh_cluster: ControlPlane, tmp_path: Path) -> Path:
    """The scheduler's own identity, with the rights of deploy/manifests/rbac.yaml."""
    return fresh_cluster.kubeconfig("reprise", tmp_path / "kubeconfig")


def node(name: str) -> dict[str, Any]:
    return node_manifest(name, kwok=False)


# ------------------------------------------------------------------------------------------------------------------ watches


async def test_pods_that_come_change_end_and_go_are_delivered(admin: Admin, kubeconfig: Path) -> None:
    admin.create(node("node-1"))
    for name in ("early", "ending"):
        admin.create(pod_manifest(name))
    async with running_edge(kubeconfig) as edge:
        assert edge.nodes == {"node-1"}
        assert set(edge.pods) == {"early", "ending"}
        admin.create(pod_manifest("late"))
        await edge.until(lambda: "late" in edge.pods)
        admin.patch(POD_RESOURCE, "late", {"metadata": {"labels": {"tier": "web"}}}, namespace="default")
        await edge.until(lambda: (edge.pods["late"].metadata.labels or {}).get("tier") == "web")
        # A terminal pod leaves the selector.
        admin.patch(
            POD_RESOURCE, "ending", {"status": {"phase": "Succeeded"}}, namespace="default", subresource="status"
        )
        await edge.until(lambda: "ending" not in edge.pods)
        admin.delete(POD_RESOURCE, "early", "default", grace_seconds=0)
        await edge.until(lambda: set(edge.pods) == {"late"})
        assert {reflector.counters.undecodable for reflector in edge.reflectors.values()} == {0}


async def test_a_list_in_pages_delivers_what_the_watch_list_does(
    admin: Admin, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scheduler.kube.reflector.PAGE_SIZE", 10)
    names = {f"pod-{index}" for index in range(25)}
    admin.create_all(pod_manifest(name) for name in names)
    async with ApiClient(load_credentials(kubeconfig), version="0") as client:
        paged: list[Any] = []
        reflector = Reflector(client, PODS, paged.append)
        await reflector._list_pages()
        assert {stimulus.pod.metadata.name for stimulus in paged} == names
        assert reflector.synced.is_set()
    async with running_edge(kubeconfig, resources=(PODS,)) as edge:
        assert {pod.metadata.uid for pod in edge.pods.values()} == {stimulus.pod.metadata.uid for stimulus in paged}
        assert int(edge.reflectors["pods"].resource_version or 0) >= int(reflector.resource_version or 0) > 0


async def test_an_api_server_that_restarts_is_waited_for_and_nothing_is_missed(
    fresh_cluster: ControlPlane, admin: Admin, kubeconfig: Path
) -> None:
    admin.create_all([node("node-1"), pod_manifest("kept"), pod_manifest("gone")])
    with structlog.testing.capture_logs() as logs:
        async with running_edge(kubeconfig, resources=(NODES, PODS)) as edge:
            fresh_cluster.stop_apiserver()
            try:
                await edge.until_state("pods", "unreachable")
            finally:
                fresh_cluster.start_apiserver()
            admin.delete(POD_RESOURCE, "gone", "default", grace_seconds=0)
            admin.create(pod_manifest("new"))
            await edge.until(lambda: set(edge.pods) == {"kept", "new"})
            assert isinstance(await edge.bind("new", "node-1"), PodBound)
    warnings = [line["resource"] for line in logs if line["log_level"] == "warning" and line["state"] == "unreachable"]
    assert sorted(warnings) == ["nodes", "pods"]  # one line each, however often it was tried


async def test_a_token_that_the_server_does_not_know_is_named(fresh_cluster: ControlPlane, tmp_path: Path) -> None:
    kubeconfig = fresh_cluster.kubeconfig("reprise", tmp_path / "kubeconfig")
    kubeconfig.write_text(kubeconfig.read_text().replace(fresh_cluster.token("reprise"), "unknown"))
    async with ApiClient(load_credentials(kubeconfig), version="0") as client:
        response = await client.get("/api/v1/nodes")
        assert response.status == 401


async def test_missing_rights_to_watch_are_named(fresh_cluster: ControlPlane, tmp_path: Path) -> None:
    kubeconfig = fresh_cluster.kubeconfig("nobody", tmp_path / "kubeconfig")
    with structlog.testing.capture_logs() as logs:
        async with running_edge(kubeconfig, resources=(NODES,), must_sync=False) as edge:
            await edge.until_state("nodes", "forbidden")
    (line,) = logs
    assert line["error"].startswith('nodes is forbidden: User "nobody" cannot watch resource "nodes"')
    assert line["advice"] == "grant list and watch on nodes in all namespaces (a ClusterRole)"


# -------------------------------------------------------------------------------------------------------------------- binds


async def test_a_pod_is_bound_once(admin: Admin, kubeconfig: Path) -> None:
    admin.create_all([node("node-1"), node("node-2"), pod_manifest("a")])
    async with running_edge(kubeconfig) as edge:
        assert isinstance(await edge.bind("a", "node-1"), PodBound)
        await edge.until(lambda: edge.pods["a"].spec.node_name == "node-1")
        answer = await edge.bind("a", "node-2")
        assert isinstance(answer, BindFailed)
        assert answer.error == (
            'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "node-1"'
        )
        # The same bind again is what a repeat after a lost answer comes to.
        assert isinstance(await edge.bind("a", "node-1"), PodBound)
        assert admin.get(POD_RESOURCE, "a", "default")["spec"]["nodeName"] == "node-1"


async def test_a_pod_recreated_under_its_name_is_not_bound(admin: Admin, kubeconfig: Path) -> None:
    admin.create_all([node("node-1"), pod_manifest("a")])
    async with running_edge(kubeconfig) as edge:
        uid = edge.pods["a"].metadata.uid
        admin.delete(POD_RESOURCE, "a", "default", grace_seconds=0)
        admin.create(pod_manifest("a"))
        await edge.until(lambda: "a" in edge.pods and edge.pods["a"].metadata.uid != uid)
        answer = await edge.bind("a", "node-1", uid=uid)
        assert isinstance(answer, BindFailed)
        assert "UID in precondition" in answer.error
        assert "nodeName" not in admin.get(POD_RESOURCE, "a", "default")["spec"]


async def test_a_pod_that_is_gone_is_a_failed_bind(admin: Admin, kubeconfig: Path) -> None:
    admin.create_all([node("node-1"), pod_manifest("a")])
    async with running_edge(kubeconfig) as edge:
        reference = edge.pods["a"]
        admin.delete(POD_RESOURCE, "a", "default", grace_seconds=0)
        await edge.until(lambda: not edge.pods)
        edge.pods["a"] = reference
        answer = await edge.bind("a", "node-1")
        assert isinstance(answer, BindFailed)
        assert answer.error == 'pods "a" not found'


# ---------------------------------------------------------------------------------------------------------- status, Events


async def test_a_condition_is_written_into_the_others(admin: Admin, kubeconfig: Path) -> None:
    admin.create(pod_manifest("a"))
    other = {"type": "example.com/Other", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}
    admin.patch(
        POD_RESOURCE,
        "a",
        {"status": {"conditions": [other]}},
        namespace="default",
        subresource="status",
        patch_type="strategic",
    )
    async with running_edge(kubeconfig) as edge:
        edge.write_condition("a", "0/1 nodes are available: 1 Too many pods.", at=1_767_225_600.0)
        await edge.until(lambda: len(edge.pods["a"].status.conditions or ()) == 2)
        edge.write_condition("a", "0/2 nodes are available: 2 Too many pods.")
        assert (await edge.dispatcher.drain(10)) == Unfinished(binds=0, status_patches=0, events=0)
    conditions = {row["type"]: row for row in admin.get(POD_RESOURCE, "a", "default")["status"]["conditions"]}
    written = conditions["PodScheduled"]
    assert written["message"] == "0/2 nodes are available: 2 Too many pods."
    assert (written["status"], written["reason"]) == ("False", "Unschedulable")
    assert written["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    assert written["observedGeneration"] == 1
    assert conditions["example.com/Other"]["status"] == "True"


async def test_the_condition_of_an_earlier_pod_of_that_name_is_not_written(admin: Admin, kubeconfig: Path) -> None:
    admin.create(pod_manifest("a"))
    async with running_edge(kubeconfig) as edge:
        edge.write_condition("a", "0/1 nodes", uid="0d0cf6b5-0000-4000-8000-000000000000")
        await edge.dispatcher.drain(10)
        assert edge.dispatcher.status.counters.pod_gone == 1
    assert "conditions" not in admin.get(POD_RESOURCE, "a", "default")["status"]


async def test_an_event_is_seen_by_kubectl_with_its_count(
    fresh_cluster: ControlPlane, admin: Admin, kubeconfig: Path
) -> None:
    kubectl = require_binaries("kubectl") / "kubectl"
    admin.create(pod_manifest("a"))
    async with running_edge(kubeconfig) as edge:
        for second in range(3):
            edge.record("a", "0/3 nodes are available: 100% full", 1_767_225_600.0 + second)
        assert (await edge.dispatcher.drain(10)).events == 0
        assert edge.dispatcher.events.counters.rejected == 0
    command = [str(kubectl), f"--kubeconfig={fresh_cluster.kubeconfig('admin')}", "get", "events", "--output=json"]
    output = await asyncio.to_thread(subprocess.check_output, command, timeout=60)
    (event,) = json.loads(output)["items"]
    assert (event["type"], event["reason"], event["message"]) == (
        "Warning",
        "FailedScheduling",
        "0/3 nodes are available: 100% full",
    )
    assert event["involvedObject"]["name"] == "a"
    assert (event["reportingComponent"], event["reportingInstance"]) == ("reprise", "reprise-test-host")
    assert event["series"]["count"] == 3


async def test_events_in_a_namespace_that_is_being_deleted_are_let_be(admin: Admin, kubeconfig: Path) -> None:
    admin.create(namespace_manifest("ending"))
    admin.create(pod_manifest("a", namespace="ending"))
    admin.call("DELETE", "/api/v1/namespaces/ending")
    with structlog.testing.capture_logs() as logs:
        async with running_edge(kubeconfig) as edge:
            edge.record("a", "0/0 nodes are available", 1_767_225_600.0)
            await edge.dispatcher.drain(10)
            assert edge.dispatcher.events.counters.rejected == 1
    assert [line for line in logs if line["log_level"] != "info"] == []


# ------------------------------------------------------------------------------------------------------------------- access


async def test_the_deployed_role_has_every_right_that_is_needed(kubeconfig: Path) -> None:
    async with ApiClient(load_credentials(kubeconfig), version="0") as client:
        assert await missing_rights(client) == []


async def test_all_rights_of_somebody_without_any_are_listed(fresh_cluster: ControlPlane, tmp_path: Path) -> None:
    kubeconfig = fresh_cluster.kubeconfig("nobody", tmp_path / "kubeconfig")
    async with ApiClient(load_credentials(kubeconfig), version="0") as client:
        assert await missing_rights(client) == [str(right) for right in REQUIRED]


async def until_granted(client: ApiClient, right: Right) -> None:
    """The authorizer hears of a new binding a moment after it was made."""
    async with asyncio.timeout(10):
        while await missing_rights(client, [right]):
            pass


@pytest.mark.parametrize("namespace", ["default", "kube-system"])
async def test_a_right_in_one_namespace_is_not_one_in_all(
    fresh_cluster: ControlPlane, admin: Admin, tmp_path: Path, namespace: str
) -> None:
    subjects = [{"apiGroup": RBAC, "kind": "User", "name": "nobody"}]
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "reprise:reprise"}
    metadata = {"name": "in-one-namespace", "namespace": namespace}
    admin.apply(
        {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": metadata, "roleRef": role, "subjects": subjects}
    )
    kubeconfig = fresh_cluster.kubeconfig("nobody", tmp_path / "kubeconfig")
    try:
        async with ApiClient(load_credentials(kubeconfig), version="0") as client:
            await until_granted(client, Right("watch", "pods", namespace=namespace))
            assert await missing_rights(client) == [str(right) for right in REQUIRED]
    finally:
        admin.delete(ROLE_BINDINGS, "in-one-namespace", namespace)


async def test_one_missing_right_is_named(fresh_cluster: ControlPlane, admin: Admin, tmp_path: Path) -> None:
    role = admin.get(CLUSTER_ROLES, "reprise:reprise")
    rules = [rule for rule in role["rules"] if rule["resources"] != ["pods/binding"]]
    subjects = [{"apiGroup": RBAC, "kind": "User", "name": "nobody"}]
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "almost"}
    metadata = {"name": "almost"}
    admin.apply({"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules})
    admin.apply(
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": reference,
            "subjects": subjects,
        }
    )
    kubeconfig = fresh_cluster.kubeconfig("nobody", tmp_path / "kubeconfig")
    try:
        async with ApiClient(load_credentials(kubeconfig), version="0") as client:
            await until_granted(client, Right("watch", "pods"))
            assert await missing_rights(client) == ["create pods/binding (all namespaces)"]
    finally:
        admin.delete(CLUSTER_ROLE_BINDINGS, "almost")
        admin.delete(CLUSTER_ROLES, "almost")
