"""Configurations that are changed while the scheduler runs, on the real API server: as a resource through kopf, and as a file."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.api_client import PATCH_TYPES, ApiClient
from tests.support.binaries import require_binaries
from tests.support.control_plane import ControlPlane, free_ports
from tests.support.granted_and_seen import AUDIT_VARIABLE
from tests.support.invalid_configurations import INVALID, kube
from tests.support.manifests import node_manifest, pod_manifest
from tests.support.reprise_process import KUBE_DOCUMENT, REPRISE_DOCUMENT, RepriseProcess
from tests.support.resources import NODES, PODS, Object
from tests.support.scheduler_configuration import (
    CLUSTER_ROLES,
    CRD_FILE,
    CRDS,
    Configurations,
    install,
    metric,
    only_on,
    wait_for,
)

pytestmark = pytest.mark.cluster
POD_COUNT = 2000
ROLE = "reprise:reprise"
OBEYS = ("--config-resource=reprise",)
RELOADS = "scheduler_configuration_reloads_total"
GENERATION = "scheduler_configuration_generation"
FIRST = {"profiles": [{"schedulerName": "reprise"}]}


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audit")


@pytest.fixture(scope="module")
def audited(audit: Path) -> Iterator[ControlPlane]:
    """An API server that writes down what Reprise asks for."""
    require_binaries("etcd", "kube-apiserver")
    before = os.environ.get(AUDIT_VARIABLE)
    os.environ[AUDIT_VARIABLE] = str(audit)
    try:
        with ControlPlane() as control_plane:
            yield control_plane
    finally:
        if before is None:
            del os.environ[AUDIT_VARIABLE]
        else:
            os.environ[AUDIT_VARIABLE] = before


@pytest.fixture
def cluster(audited: ControlPlane) -> ControlPlane:
    audited.reset()
    install(audited.client("admin"))
    Configurations(audited.client("admin")).remove_all()
    return audited


@pytest.fixture
def admin(cluster: ControlPlane) -> ApiClient:
    return cluster.client("admin")


@pytest.fixture
def configurations(admin: ApiClient) -> Configurations:
    return Configurations(admin)


def entries(audit: Path) -> list[Object]:
    return [json.loads(line) for log in audit.glob("*.log") for line in log.read_bytes().splitlines()]


def bound(admin: ApiClient) -> dict[str, str]:
    """Nodes by the names of pods that have one."""
    found = admin.list_objects(PODS)
    return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in found if pod["spec"].get("nodeName")}


def generation(reprise: RepriseProcess) -> float:
    ((_, value),) = metric(reprise.page("/metrics").body.decode(), GENERATION)
    return value


def test_a_change_takes_effect_within_a_second_while_2000_pods_are_being_scheduled(
    cluster: ControlPlane, admin: ApiClient, configurations: Configurations, audit: Path
) -> None:
    for side in "ab":
        admin.create_all(
            node_manifest(f"{side}-{number:02}", allocatable={"cpu": "32"}, labels={"side": side}, kwok=False)
            for number in range(40)
        )
    configurations.put(only_on("a"))
    asked_before = len(entries(audit))
    everybody = [pod_manifest(f"pod-{number:04}") for number in range(POD_COUNT)]
    with (
        RepriseProcess(cluster, FIRST, arguments=OBEYS) as reprise,
        admin.watch(PODS) as pods,
        ThreadPoolExecutor(1) as thread,
    ):
        first = generation(reprise)
        creating = thread.submit(admin.create_all, everybody)
        pods.wait_until(lambda seen: sum("nodeName" in one.object["spec"] for one in seen.events) > 200, seconds=60)
        configurations.put(only_on("b"))
        written = time.time()
        assert not creating.done()
        creating.result()
        wait_for(lambda: len(bound(admin)) == POD_COUNT, seconds=180, what="all pods are bound")
        decided = [
            line for line in reprise.lines() if line["msg"] == "scheduling cycle" and line["outcome"] == "assumed"
        ]
        lines = reprise.lines()
        assert generation(reprise) == first + 1

    (since,) = [number for number, line in enumerate(lines) if line["msg"] == "a configuration is in force"][1:]
    after = [line["node"] for line in lines[since:] if line.get("outcome") == "assumed"]
    before = [line["node"] for line in lines[:since] if line.get("outcome") == "assumed"]
    assert before
    assert after
    assert {node[0] for node in before} == {"a"}
    assert {node[0] for node in after} == {"b"}
    # Every decision from that line on is made by it.
    assert datetime.fromisoformat(lines[since]["timestamp"]).timestamp() - written < 1.0
    # None lost, none doubled.
    assert len(decided) == POD_COUNT
    assert len({line["uid"] for line in decided}) == POD_COUNT
    posts = [
        entry["objectRef"]["name"]
        for entry in entries(audit)[asked_before:]
        if entry["verb"] == "create" and entry["objectRef"].get("subresource") == "binding"
    ]
    assert len(posts) == len(set(posts)) == POD_COUNT


def test_each_kind_of_invalid_one_is_answered_and_changes_nothing(
    cluster: ControlPlane, admin: ApiClient, configurations: Configurations
) -> None:
    admin.create_all(node_manifest(name, labels={"side": name}, kwok=False) for name in "ab")
    assert configurations.put(only_on("a")) == 1
    with RepriseProcess(cluster, FIRST, arguments=OBEYS) as reprise:
        status, reason, _ = configurations.verdict(1)
        assert (status, reason) == ("True", "Applied")
        in_force = generation(reprise)
        for number, (what, spec, told) in enumerate(INVALID):
            status, reason, message = configurations.verdict(configurations.put(spec))
            assert (status, reason) == ("False", "Invalid"), what
            assert told in message, what
            assert generation(reprise) == in_force
            admin.create(pod_manifest(f"p{number}"))
        wait_for(lambda: len(bound(admin)) == len(INVALID), what="pods are bound")
        assert set(bound(admin).values()) == {"a"}
        reloads = dict(metric(reprise.page("/metrics").body.decode(), RELOADS))
        assert reloads['{reason="Invalid",result="rejected"}'] == len(INVALID)
        assert configurations.status()["profiles"] == "reprise"


def newer(admin: ApiClient) -> Object:
    """The definition with v1alpha2 beside v1alpha1: the same schema, and one field more of our own document."""
    definition: Object = YAML(typ="safe").load(CRD_FILE.read_text())
    (version,) = definition["spec"]["versions"]
    second = {**deepcopy(version), "name": "v1alpha2", "storage": False}
    spec = second["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["repriseConfiguration"]["properties"]["dreams"] = {"type": "boolean"}
    definition["spec"]["versions"].append(second)
    admin.apply(definition)
    wait_for(lambda: "v1alpha2" in served_versions(admin), what="v1alpha2 is served")
    return definition


def served_versions(admin: ApiClient) -> set[str]:
    groups: list[Object] = admin.call("GET", "/apis")["groups"]
    return {each["version"] for group in groups if group["name"] == "reprise.dev" for each in group["versions"]}


def put_newer(admin: ApiClient, spec: Object) -> int:
    """Write the resource in v1alpha2; its generation."""
    manifest = {"apiVersion": "reprise.dev/v1alpha2", "kind": "SchedulerConfiguration", "metadata": {"name": "reprise"}}
    path = "/apis/reprise.dev/v1alpha2/schedulerconfigurations/reprise"
    query = {"fieldManager": "tests", "force": "true", "fieldValidation": "Strict"}
    written = admin.call("PATCH", path, {**manifest, "spec": spec}, query=query, content_type=PATCH_TYPES["apply"])
    return int(written["metadata"]["generation"])


def test_one_of_a_newer_version_is_read_in_ours_and_what_is_new_in_it_is_refused(
    cluster: ControlPlane, admin: ApiClient, configurations: Configurations
) -> None:
    admin.create_all(node_manifest(name, labels={"side": name}, kwok=False) for name in "ab")
    definition = newer(admin)
    try:
        with RepriseProcess(cluster, FIRST, arguments=OBEYS) as reprise:
            assert configurations.verdict(put_newer(admin, only_on("a")))[:2] == ("True", "Applied")
            admin.create(pod_manifest("p1"))
            wait_for(lambda: bound(admin) == {"p1": "a"}, what="one in v1alpha2 decides")
            in_force = generation(reprise)

            refused = configurations.verdict(
                put_newer(admin, {**only_on("b"), "repriseConfiguration": {"dreams": True}})
            )
            assert refused == ("False", "Invalid", "dreams: unknown field")
            assert generation(reprise) == in_force
            admin.create(pod_manifest("p2"))
            wait_for(lambda: bound(admin).get("p2") == "a", what="the last good one decides")

            ours, theirs = definition["spec"]["versions"]
            definition["spec"]["versions"] = [{**ours, "storage": False}, {**theirs, "storage": True}]
            admin.apply(definition)
            assert configurations.verdict(put_newer(admin, only_on("b")))[0] == "True"
            admin.create(pod_manifest("p3"))
            wait_for(lambda: bound(admin).get("p3") == "b", what="one that is kept in v1alpha2 decides")
    finally:
        configurations.remove_all()
        install_one_version(admin)


def install_one_version(admin: ApiClient) -> None:
    """As the product brings it. What the server has kept in another version it would not serve otherwise."""
    admin.call("DELETE", CRDS.path(name="schedulerconfigurations.reprise.dev"))
    wait_for(lambda: "v1alpha2" not in served_versions(admin), what="the kind is gone")
    wait_for(lambda: not admin.list_objects(CRDS), what="its definition is gone")
    install(admin)


def test_what_needs_a_restart_is_in_use_or_may_not_be_read_is_refused_as_a_whole(
    cluster: ControlPlane, admin: ApiClient, configurations: Configurations
) -> None:
    role = admin.get(CLUSTER_ROLES, ROLE)
    volumes = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")
    without = {"multiPoint": {"disabled": [{"name": name} for name in volumes]}}
    two = [{"schedulerName": name, "plugins": without} for name in ("reprise", "second")]
    admin.patch(CLUSTER_ROLES, ROLE, {"rules": [_without(rule, "storageclasses") for rule in role["rules"]]})
    try:
        with RepriseProcess(cluster, {"profiles": two}, arguments=OBEYS) as reprise:
            assert configurations.verdict(configurations.put(kube(profiles=two)))[:2] == ("True", "Applied")
            admin.create(pod_manifest("waits", scheduler_name="second"))
            reprise.wait_until(lambda: bool(reprise.lines("scheduling cycle")), seconds=30, what="it was tried")

            election = {"leaderElection": {"leaderElect": False, "leaseDuration": "30s"}, "profiles": two}
            assert configurations.verdict(configurations.put(kube(**election))) == (
                "False",
                "RestartRequired",
                "leaderElection.leaseDuration: takes effect when a process starts; nothing of it is in force",
            )
            dropped = configurations.put(kube(profiles=two[:1]))
            assert configurations.verdict(dropped) == (
                "False",
                "InUse",
                (
                    'profiles: schedulerName "second" is missing while 1 pod waits for it, such as default/waits: '
                    "keep the profile until they are placed or deleted"
                ),
            )
            admin.delete(PODS, "waits", "default", grace_seconds=0)
            wait_for(lambda: configurations.verdict(dropped)[0] == "True", what="it is in use no more")

            allowed = configurations.put(kube())
            status, reason, message = configurations.verdict(allowed)
            assert (status, reason) == ("False", "MissingPermission")
            assert message == (
                "this identity may not: list storageclasses.storage.k8s.io; watch storageclasses.storage.k8s.io"
            )
            admin.patch(CLUSTER_ROLES, ROLE, {"rules": role["rules"]})
            wait_for(lambda: configurations.verdict(allowed)[0] == "True", what="it may be read")
    finally:
        admin.patch(CLUSTER_ROLES, ROLE, {"rules": role["rules"]})


def _without(rule: Object, resource: str) -> Object:
    return {**rule, "resources": [one for one in rule["resources"] if one != resource]}


def test_one_that_is_deleted_stays_in_force_and_another_one_is_not_obeyed(
    cluster: ControlPlane, admin: ApiClient, configurations: Configurations
) -> None:
    admin.create_all(node_manifest(name, labels={"side": name}, kwok=False) for name in "ab")
    configurations.put(only_on("a"))
    with RepriseProcess(cluster, FIRST, arguments=OBEYS) as reprise:
        configurations.verdict(1)
        configurations.put(only_on("b"), name="another")
        other = wait_for(lambda: configurations.condition("another"), what="the other one is answered")
        assert (other["status"], other["reason"]) == ("Unknown", "NotObeyed")
        assert '"reprise"' in other["message"]

        configurations.delete()
        gone = "the SchedulerConfiguration that this release obeys is not there; the last good configuration stays in force"
        reprise.wait_for_line(gone)
        admin.create(pod_manifest("p1"))
        wait_for(lambda: bound(admin) == {"p1": "a"}, what="the last good one decides")
        assert "[+]configuration ok: SchedulerConfiguration" in reprise.page("/readyz?verbose").body.decode()
        text = reprise.page("/metrics").body.decode()
        assert list(metric(text, "scheduler_configuration_last_reload_successful")) == [("", 0.0)]

        assert configurations.verdict(configurations.put(only_on("b")))[0] == "True"
        admin.create(pod_manifest("p2"))
        wait_for(lambda: bound(admin).get("p2") == "b", what="the new one decides")


def test_every_replica_applies_it_and_the_leader_alone_writes(
    cluster: ControlPlane, admin: ApiClient, configurations: Configurations, audit: Path
) -> None:
    elected = {**FIRST, "leaderElection": {"leaderElect": True, "resourceNamespace": "reprise"}}
    configurations.put(kube(leaderElection=elected["leaderElection"]))
    with (
        RepriseProcess(cluster, elected, arguments=OBEYS, name="first") as first,
        RepriseProcess(cluster, elected, arguments=OBEYS, name="second", user="reprise-2") as second,
    ):
        configurations.verdict(1)
        asked_before = len(entries(audit))
        election = elected["leaderElection"]
        assert (
            configurations.verdict(configurations.put(kube(leaderElection=election, podMaxBackoffSeconds=30)))[0]
            == "True"
        )
        for replica in (first, second):
            replica.wait_until(partial(shows_back_off, replica, 30), seconds=30, what="it is in force")
        written = [
            entry["user"]["uid"]
            for entry in entries(audit)[asked_before:]
            if (entry.get("objectRef") or {}).get("subresource") == "status"
            and entry["objectRef"]["resource"] == "schedulerconfigurations"
        ]
        assert len(set(written)) == 1


def shows_back_off(reprise: RepriseProcess, seconds: int) -> bool:
    shown: int = reprise.page("/configz").json()["componentconfig"]["podMaxBackoffSeconds"]
    return shown == seconds


def document(spec: dict[str, Any], port: int) -> str:
    serving = {"port": 0, "insecurePort": port}
    kube_document = {**KUBE_DOCUMENT, "leaderElection": {"leaderElect": False}, **spec["kubeSchedulerConfiguration"]}
    return json.dumps(kube_document) + "\n---\n" + json.dumps({**REPRISE_DOCUMENT, "serving": serving})


def test_a_mounted_file_is_read_again_when_its_link_is_swapped_or_it_is_written_and_whole(
    cluster: ControlPlane, admin: ApiClient, tmp_path: Path
) -> None:
    (port,) = free_ports(1)
    admin.create_all(node_manifest(name, labels={"side": name}, kwok=False) for name in "abc")
    for number, side in enumerate("ab"):
        (tmp_path / f"..{number}").mkdir()
        (tmp_path / f"..{number}" / "config.yaml").write_text(document(only_on(side), port))
    (tmp_path / "..data").symlink_to("..0")
    (tmp_path / "config.yaml").symlink_to("..data/config.yaml")
    with RepriseProcess(cluster, tmp_path / "config.yaml") as reprise:
        admin.create(pod_manifest("p0"))
        wait_for(lambda: bound(admin) == {"p0": "a"}, what="the first one decides")

        (tmp_path / "..tmp").symlink_to("..1")
        (tmp_path / "..tmp").rename(tmp_path / "..data")
        reprise.wait_until(lambda: generation(reprise) == 2, seconds=10, what="the swap was seen")
        admin.create(pod_manifest("p1"))
        wait_for(lambda: bound(admin).get("p1") == "b", what="the second one decides")

        whole = document(only_on("c"), port)
        file = tmp_path / "..1" / "config.yaml"
        file.write_text(whole[: len(whole) // 2])
        reprise.wait_for_line("a configuration was refused; the last good one stays in force")
        admin.create(pod_manifest("p2"))
        wait_for(lambda: bound(admin).get("p2") == "b", what="the last good one decides")
        file.write_text(whole)
        reprise.wait_until(lambda: generation(reprise) == 3, seconds=10, what="the whole file was read")
        admin.create(pod_manifest("p3"))
        wait_for(lambda: bound(admin).get("p3") == "c", what="the third one decides")


def test_kopf_has_written_nothing_and_of_the_resource_only_its_status_was_written(
    audited: ControlPlane, audit: Path
) -> None:
    """Looks at what all tests before this one have caused, and at one start of its own."""
    admin = audited.client("admin")
    install(admin)
    configurations = Configurations(admin)
    configurations.remove_all()
    configurations.put(kube())
    with RepriseProcess(audited, FIRST, arguments=OBEYS):
        assert configurations.verdict(1)[0] == "True"
        configurations.verdict(configurations.put(kube(podMaxBackoffSeconds=11)))
    asked = entries(audit)
    by_kopf = [entry for entry in asked if "kopf" in entry.get("userAgent", "")]

    assert "watch" in {entry["verb"] for entry in by_kopf}
    assert {entry["verb"] for entry in by_kopf} <= {"get", "list", "watch"}
    written = {
        (entry["verb"], entry["objectRef"].get("subresource", ""))
        for entry in asked
        if (entry.get("objectRef") or {}).get("resource") == "schedulerconfigurations"
        and entry["verb"] not in ("get", "list", "watch")
    }
    assert written == {("patch", "status")}
    found = admin.call("GET", "/apis/reprise.dev/v1alpha1/schedulerconfigurations/reprise")
    assert set(found["metadata"]) <= {
        "name",
        "uid",
        "generation",
        "resourceVersion",
        "creationTimestamp",
        "managedFields",
    }
    assert admin.list_objects(NODES) is not None
