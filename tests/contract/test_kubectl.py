"""kubectl works on the embedded server as it does on the real one."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.servers import Server
from tests.support.binaries import require_binaries
from tests.support.manifests import node_manifest
from tests.support.resources import NODES, PODS

pytestmark = pytest.mark.cluster

Kubectl = Callable[..., str]


@pytest.fixture
def kubectl(server: Server, tmp_path: Path) -> Kubectl:
    """Run kubectl in the test's namespace; returns what it printed."""
    program = str(require_binaries("kubectl") / "kubectl")
    kubeconfig = str(server.write_kubeconfig(tmp_path / "kubeconfig"))

    def run(*arguments: str, stdin: str = "") -> str:
        command = [program, "--kubeconfig", kubeconfig, "--namespace", server.namespace, *arguments]
        done = subprocess.run(
            command, input=stdin, env={"HOME": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_pods_are_created_shown_and_deleted(server: Server, kubectl: Kubectl) -> None:
    created = kubectl("create", "-f", "-", stdin=json.dumps(server.pod("web")))
    pending = kubectl("get", "pods").splitlines()
    server.bind("web", "node-x")
    wide = kubectl("get", "pods", "-o", "wide").splitlines()
    server.client.delete(PODS, "web", server.namespace, grace_seconds=0)
    server.create_pod("web")
    deleted = kubectl("delete", "pod", "web")

    assert created == "pod/web created\n"
    assert pending[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert pending[1].split()[:4] == ["web", "0/1", "Pending", "0"]
    assert wide[0].split()[:7] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE"]
    assert wide[1].split()[5:7] == ["<none>", "node-x"]
    assert deleted.startswith('pod "web" deleted')
    assert server.names() == []


def test_nodes_are_shown_cordoned_and_labelled(server: Server, kubectl: Kubectl) -> None:
    name = f"node-{server.namespace}"
    server.client.create(node_manifest(name))
    try:
        shown = kubectl("get", "node", name).splitlines()
        kubectl("cordon", name)
        cordoned = kubectl("get", "node", name).splitlines()
        kubectl("label", "node", name, "example.com/pool=batch")
        node = server.client.get(NODES, name)
    finally:
        server.client.delete(NODES, name)

    assert shown[0].split()[:4] == ["NAME", "STATUS", "ROLES", "AGE"]
    assert shown[1].split()[:3] == [name, "Ready", "<none>"]
    assert cordoned[1].split()[1] == "Ready,SchedulingDisabled"
    assert node["metadata"]["labels"]["example.com/pool"] == "batch"
    assert node["spec"]["unschedulable"] is True


def test_nodes_and_pods_together_are_a_list(server: Server, kubectl: Kubectl) -> None:
    name = f"node-{server.namespace}"
    server.client.create(node_manifest(name))
    server.create_pod("web")
    try:
        found = json.loads(kubectl("get", "nodes,pods", "-o", "json"))
        everywhere = kubectl("get", "nodes,pods", "-A")
    finally:
        server.client.delete(NODES, name)

    kinds = {(item["kind"], item["metadata"]["name"]) for item in found["items"]}
    assert found["kind"] == "List"
    assert {("Node", name), ("Pod", "web")} <= kinds
    assert f"node/{name}" in everywhere
    assert "pod/web" in everywhere


def test_a_watch_prints_what_happens(server: Server, kubectl: Kubectl) -> None:
    server.create_pod("web")

    printed = kubectl("wait", "--for=create", "pod/web", "--timeout=5s")

    assert "condition met" in printed


def test_other_kinds_are_shown_too(server: Server, kubectl: Kubectl) -> None:
    assert kubectl("get", "namespace", server.namespace).splitlines()[1].split()[:2] == [server.namespace, "Active"]
    assert kubectl("get", "svc,rc,rs,sts,leases", "--ignore-not-found") == ""
