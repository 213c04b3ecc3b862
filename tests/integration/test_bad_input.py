"""What cannot be used is named, and nothing is done by halves: configurations, API servers, rights, and pods."""

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest

from tests.integration.conftest import Say, StartReprise
from tests.support.api_client import ApiClient
from tests.support.control_plane import ControlPlane, free_ports
from tests.support.kubeconfig import write_kubeconfig
from tests.support.manifests import node_manifest, pod_manifest
from tests.support.rbac import reprise_rbac
from tests.support.reprise_process import COMMAND, RepriseProcess
from tests.support.resources import DEVICE_CLASSES, EVENTS, PODS, Object, resource_of
from tests.support.watch import Watch

NOT_READY = (
    "[+]ping ok\n[+]shutdown ok\n[-]sched-handler-sync failed: reason withheld\n[+]configuration ok\n[+]rights ok\n"
    "readyz check failed\n"
)
CANNOT_ASK = "cannot ask the API server for our rights; will retry"
MISSING = "rights are missing; grant them to this identity, then scheduling starts"


# ------------------------------------------------------------------------------------------------------- configuration

BROKEN = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: 0
percentageOfNodesToScore: 101
noSuchField: 1
leaderElection: {leaderElect: true, resourceLock: endpoints}
profiles:
- schedulerName: default-scheduler
  plugins:
    filter: {enabled: [{name: NoSuchPlugin}]}
- schedulerName: second
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: NoSuchStrategy}}
---
apiVersion: reprise.dev/v1alpha1
kind: RepriseConfiguration
serving: {insecureBindAddress: 0.0.0.0, port: %d}
"""
PATHS = {
    "parallelism",
    "percentageOfNodesToScore",
    "noSuchField",
    "leaderElection.resourceLock",
    "profiles[0].schedulerName",
    "profiles[0].plugins.filter.enabled[0]",
    "profiles[1].pluginConfig[0].args.scoringStrategy.type",
    "serving.insecureBindAddress",
}


class Listener:
    """A server that takes connections and closes them after the first word; it counts them."""

    def __init__(self) -> None:
        self.connections = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.recv(1 << 16)
            self.connections += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


def kubeconfig_for(control_plane: ControlPlane, listener: Listener, path: Path) -> Path:
    """A kubeconfig of somebody at that server; the authority is that of another, which is of no matter here."""
    url = f"https://127.0.0.1:{listener.port}"
    return write_kubeconfig(path, url=url, ca_file=control_plane.ca_file, user="reprise", token="t")


def test_a_broken_configuration_is_told_with_every_path_and_nothing_is_started(
    control_plane: ControlPlane, tmp_path: Path
):
    configuration, story = tmp_path / "broken.yaml", tmp_path / "story.jsonl"
    with Listener() as listener, socket.create_server(("127.0.0.1", 0)) as taken:
        kubeconfig = kubeconfig_for(control_plane, listener, tmp_path / "kubeconfig")
        # Were the pages served before the configuration is checked, this port would be the error.
        configuration.write_text(BROKEN % taken.getsockname()[1])
        command: list[str | Path] = [
            COMMAND,
            "run",
            f"--config={configuration}",
            f"--kubeconfig={kubeconfig}",
            f"--story={story}",
        ]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    lines = ended.stderr.splitlines()
    assert (ended.returncode, ended.stdout) == (2, "")
    assert {line.partition(": ")[0] for line in lines} == PATHS, ended.stderr
    assert len(lines) == len(PATHS)
    assert listener.connections == 0
    assert not story.exists()


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("--config=/no/such/file.yaml", "/no/such/file.yaml"),
        ("--kubeconfig=/no/such/kubeconfig", "/no/such/kubeconfig"),
    ],
)
def test_a_file_that_is_not_there_is_named(argument: str, said: str):
    ended = subprocess.run([COMMAND, "run", argument], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr


# ---------------------------------------------------------------------------------------------------------- API server


def complaints(process: RepriseProcess) -> list[str]:
    """Warnings and errors since it serves its pages."""
    lines = process.lines()
    began = next(index for index, line in enumerate(lines) if line["msg"] == "serving")
    return [line["msg"] for line in lines[began:] if line["level"] in {"warning", "error"}]


def test_retries_are_not_logged(control_plane: ControlPlane, tmp_path: Path):
    with Listener() as listener:
        kubeconfig = kubeconfig_for(control_plane, listener, tmp_path / "kubeconfig")
        process = RepriseProcess(control_plane, arguments=[f"--kubeconfig={kubeconfig}"]).start(wait_ready=False)
        try:
            process.wait_until(lambda: listener.connections >= 3, seconds=30, what="three tries")
            assert complaints(process) == [CANNOT_ASK]
            assert (process.page("/readyz").status, process.page("/livez").status) == (500, 200)
        finally:
            assert process.stop() == 0


def test_without_an_api_server_it_stays_up_and_red_and_schedules_when_there_is_one(
    control_plane: ControlPlane, admin: ApiClient, say: Say
):
    admin.create(node_manifest("n"))
    admin.create(pod_manifest("p"))
    process = RepriseProcess(control_plane)
    control_plane.stop_apiserver()
    try:
        process.start(wait_ready=False)
        process.wait_for_line(CANNOT_ASK)
        assert (process.page("/readyz").status, process.page("/readyz").body.decode()) == (500, NOT_READY)
        assert (process.page("/livez").status, process.page("/livez").body) == (200, b"ok")
    finally:
        control_plane.start_apiserver()
    try:
        with control_plane.client().watch(PODS) as pods:
            pods.wait_until(lambda watch: bool(node_of(watch, "p")), seconds=60, what="p is bound")
        assert process.page("/readyz").body == b"ok"
        errors = [line["error"] for line in process.lines(CANNOT_ASK)]
        say(f"no API server: {len(errors)} lines until it was there and ready")
        assert complaints(process) == [CANNOT_ASK] * len(errors)
        # A server that has only begun to start may refuse the question itself: another state, another line.
        assert ["Connection refused" in error for error in errors] == [True] + [False] * (len(errors) - 1)
        assert len(set(errors)) == len(errors)
        assert len(process.lines("the API server answers and grants what is needed")) == 1
    finally:
        assert process.stop() == 0


def node_of(watch: Watch, name: str) -> str | None:
    pods = watch.objects.values()
    return next((pod["spec"].get("nodeName") for pod in pods if pod["metadata"]["name"] == name), None)


# -------------------------------------------------------------------------------------------------------------- rights

ALL_RIGHTS = [
    "list nodes",
    "watch nodes",
    "list namespaces",
    "watch namespaces",
    "get pods (all namespaces)",
    "list pods (all namespaces)",
    "watch pods (all namespaces)",
    "create pods/binding (all namespaces)",
    "patch pods/status (all namespaces)",
    "create events.events.k8s.io (all namespaces)",
    "patch events.events.k8s.io (all namespaces)",
    "list deviceclasses.resource.k8s.io",
    "watch deviceclasses.resource.k8s.io",
    "list services (all namespaces)",
    "watch services (all namespaces)",
    "list replicationcontrollers (all namespaces)",
    "watch replicationcontrollers (all namespaces)",
    "list replicasets.apps (all namespaces)",
    "watch replicasets.apps (all namespaces)",
    "list statefulsets.apps (all namespaces)",
    "watch statefulsets.apps (all namespaces)",
    "list persistentvolumeclaims (all namespaces)",
    "watch persistentvolumeclaims (all namespaces)",
    "list persistentvolumes",
    "watch persistentvolumes",
    "list storageclasses.storage.k8s.io",
    "watch storageclasses.storage.k8s.io",
    "list csinodes.storage.k8s.io",
    "watch csinodes.storage.k8s.io",
    "list csidrivers.storage.k8s.io",
    "watch csidrivers.storage.k8s.io",
    "list csistoragecapacities.storage.k8s.io (all namespaces)",
    "watch csistoragecapacities.storage.k8s.io (all namespaces)",
    "list volumeattachments.storage.k8s.io",
    "watch volumeattachments.storage.k8s.io",
    "list poddisruptionbudgets.policy (all namespaces)",
    "watch poddisruptionbudgets.policy (all namespaces)",
    "get persistentvolumes",
    "patch persistentvolumes",
    "get persistentvolumeclaims (all namespaces)",
    "patch persistentvolumeclaims (all namespaces)",
    "delete pods (all namespaces)",
    "list events (all namespaces)",
    "create tokenreviews.authentication.k8s.io",
    "create subjectaccessreviews.authorization.k8s.io",
]


@contextmanager
def granted(admin: ApiClient, *manifests: Object) -> Iterator[None]:
    """Roles and bindings that end with the block."""
    for manifest in manifests:
        admin.apply(manifest)
    try:
        yield
    finally:
        for manifest in manifests:
            metadata = manifest["metadata"]
            admin.delete(resource_of(manifest), metadata["name"], metadata.get("namespace"))


def role(*rules: Object, kind: str = "ClusterRole") -> list[Object]:
    """Rules for the user `nobody`: a role and its binding."""
    metadata: Object = {"name": "tests-nobody"} | ({"namespace": "default"} if kind == "Role" else {})
    group = "rbac.authorization.k8s.io"
    return [
        {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "rules": list(rules)},
        {
            "apiVersion": f"{group}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": kind, "name": "tests-nobody"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "nobody"}],
        },
    ]


def our_rules() -> list[Object]:
    [found] = [each for each in reprise_rbac() if each["kind"] == "ClusterRole"]
    return list(found["rules"])


def test_all_missing_rights_are_named_in_one_line_at_the_start(fresh_cluster: ControlPlane):
    serving = {"serving": {"port": free_ports(1)[0]}}
    process = RepriseProcess(fresh_cluster, user="nobody", reprise=serving).start(wait_ready=False)
    try:
        assert process.wait_for_line(MISSING)["missing"] == ALL_RIGHTS
        assert complaints(process) == [MISSING]
        said = f"[-]rights failed: missing: {'; '.join(ALL_RIGHTS)}"
        assert (process.page("/readyz").status, process.page("/readyz").body.decode()) == (
            500,
            NOT_READY.replace("[+]rights ok", said),
        )
        assert process.page("/livez").status == 200
        assert process.lines("Listed") == []
    finally:
        assert process.stop() == 0


def test_the_shipped_role_grants_these_rights_and_no_others():
    named = {text.removesuffix(" (all namespaces)") for text in ALL_RIGHTS}
    granted_rights = [
        f"{verb} {resource}{group and '.' + group}{slash}{subresource}"
        for rule in our_rules()
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource, slash, subresource in (each.partition("/") for each in rule["resources"])
    ]
    assert sorted(granted_rights) == sorted(named)
    assert all(rule.keys() == {"apiGroups", "resources", "verbs"} for rule in our_rules())


def test_a_right_in_one_namespace_is_not_enough_and_scheduling_starts_when_it_is_granted(
    fresh_cluster: ControlPlane, admin: ApiClient
):
    admin.create(node_manifest("n"))
    admin.create(pod_manifest("p"))
    binding = next(rule for rule in our_rules() if rule["resources"] == ["pods/binding"])
    others = [rule for rule in our_rules() if rule != binding]
    process = RepriseProcess(fresh_cluster, user="nobody")
    with granted(admin, *role(*others), *role(binding, kind="Role")), admin.watch(PODS) as pods:
        process.start(wait_ready=False)
        try:
            assert process.wait_for_line(MISSING)["missing"] == ["create pods/binding (all namespaces)"]
            assert process.page("/readyz").status == 500
            assert node_of(pods, "p") is None
            admin.apply(role(*our_rules())[0])
            pods.wait_until(lambda watch: node_of(watch, "p") == "n", seconds=30, what="p is bound")
            assert process.page("/readyz").status == 200
            assert complaints(process) == [MISSING]
        finally:
            assert process.stop() == 0


# ---------------------------------------------------------------------------------------------------------------- pods


def with_limits(pod: Object, limits: Object) -> Object:
    pod["spec"]["containers"][0]["resources"] = {"limits": limits}
    return pod


# Pod -> the field or the object in the way, and the plugin that is not there.
REFUSED = {
    "device": (
        pod_manifest("device", resourceClaims=[{"name": "gpu", "resourceClaimName": "c"}]),
        "spec.resourceClaims",
        "DynamicResources",
    ),
    "class": (with_limits(pod_manifest("class"), {"example.com/gpu": "1"}), "DeviceClass 'gpus'", "DynamicResources"),
}
FREED = {"class": "the DeviceClass is gone"}


@pytest.fixture
def refusing(fresh_cluster: ControlPlane, admin: ApiClient) -> ApiClient:
    """A node that has room for all of them, and what stands in the way of some."""
    admin.create(node_manifest("n", allocatable={"example.com/gpu": "8"}))
    admin.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": "gpus"},
            "spec": {"extendedResourceName": "example.com/gpu"},
        }
    )
    return admin


def condition_of(pod: Object) -> Object:
    found = [each for each in pod["status"].get("conditions", ()) if each["type"] == "PodScheduled"]
    return found[0] if found else {}


def test_pods_that_need_a_missing_rule_are_refused_by_its_name_until_they_do_not_need_it(
    refusing: ApiClient, start_reprise: StartReprise, say: Say
):
    with refusing.watch(PODS) as pods, refusing.watch(EVENTS) as events:
        start_reprise()
        for manifest, _, _ in REFUSED.values():
            refusing.create(manifest)
        refusing.create(pod_manifest("plain"))
        pods.wait_until(lambda watch: bool(node_of(watch, "plain")), what="an ordinary pod is bound")
        events.wait_until(lambda watch: warned(watch) >= REFUSED.keys(), what="an Event for each of them")
        pods.wait_until(lambda watch: all(reason_of(watch, name) for name in REFUSED), what="a condition for each")

        for name, (manifest, obstacle, plugin) in REFUSED.items():
            pod = pods.find(name, manifest["metadata"]["namespace"])
            assert pod is not None
            assert "nodeName" not in pod["spec"]
            told = condition_of(pod)
            assert (told["status"], told["reason"]) == ("False", "SchedulerError")
            assert obstacle in told["message"]
            assert f"{plugin} is not implemented" in told["message"]
            [event] = [each for each in events.objects.values() if each["regarding"]["name"] == name]
            assert event["note"] == told["message"]
            assert (event["type"], event["reason"], event["action"]) == ("Warning", "FailedScheduling", "Scheduling")

        refusing.delete(DEVICE_CLASSES, "gpus")
        pods.wait_until(lambda watch: all(node_of(watch, name) for name in FREED), what=" and ".join(FREED.values()))
        say(f"refused: {len(REFUSED)} pods by the name of the missing rule, {len(FREED)} bound once nothing needed it")
        bound = {pod["metadata"]["name"] for pod in pods.objects.values() if "nodeName" in pod["spec"]}
        assert bound == {"plain", *FREED}


def warned(events: Watch) -> set[str]:
    return {each["regarding"]["name"] for each in events.objects.values() if each["type"] == "Warning"}


def reason_of(pods: Watch, name: str) -> str | None:
    return next(
        (condition_of(pod).get("reason") for pod in pods.objects.values() if pod["metadata"]["name"] == name), None
    )
