"""The test control plane does what tests rely on: real parts, real rights, quick, and nothing left behind."""

import json
import os
import signal
import ssl
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.conftest import StartKubeScheduler
from tests.support.api_client import ApiClient, ApiError, run_all
from tests.support.binaries import CONTROL_PLANE_MODULE, binaries_folder, require_binaries
from tests.support.control_plane import ControlPlane
from tests.support.daemons import Daemon, DaemonError
from tests.support.kwok import Kwok, create_nodes
from tests.support.manifests import namespace_manifest, node_manifest, pod_manifest
from tests.support.rbac import reprise_rbac
from tests.support.resources import (
    CORE_EVENTS,
    DEVICE_CLASSES,
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    SECRETS,
    SERVICES,
    Object,
)
from tests.support.watch import Watch, WatchError

ROOT = Path(__file__).parents[2]


def phase(watch: Watch, name: str) -> str | None:
    found = next((pod for pod in watch.objects.values() if pod["metadata"]["name"] == name), None)
    return None if found is None else found["status"]["phase"]


def running_per_node(watch: Watch) -> Counter[str]:
    pods = (pod for pod in watch.objects.values() if pod["status"]["phase"] == "Running")
    return Counter(pod["spec"]["nodeName"] for pod in pods)


def is_running(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


# ------------------------------------------------------------------------------------------------------- the API server


def test_the_pinned_api_server_is_ready_within_seconds(control_plane: ControlPlane):
    print(f"\nstart: {json.dumps({name: round(took, 2) for name, took in control_plane.start_seconds.items()})} s")
    assert control_plane.client().text("/readyz") == "ok"
    assert control_plane.client().call("GET", "/version")["gitVersion"] == "v1.37.2"
    assert control_plane.start_seconds["all"] < 30


def test_the_api_server_proves_itself_to_strict_clients(control_plane: ControlPlane):
    strict = ApiClient(control_plane.url, ca_file=control_plane.ca_file, token=control_plane.token("admin"))
    assert strict._tls is not None
    strict._tls.verify_flags |= ssl.VERIFY_X509_STRICT  # the default from Python 3.13 on
    with strict:
        assert strict.text("/readyz") == "ok"


def test_another_authority_is_not_believed(control_plane: ControlPlane):
    stranger = ApiClient(control_plane.url, token=control_plane.token("admin"))  # trusts the system's authorities alone
    with pytest.raises(ssl.SSLCertVerificationError):
        stranger.text("/readyz")


def test_an_unknown_token_is_refused(control_plane: ControlPlane):
    with (
        ApiClient(control_plane.url, ca_file=control_plane.ca_file, token="made-up") as intruder,
        pytest.raises(ApiError) as refusal,
    ):
        intruder.list_objects(NODES)
    assert refusal.value.status == 401


def test_kubectl_knows_reprise_by_its_kubeconfig(control_plane: ControlPlane, tmp_path: Path):
    kubectl = require_binaries("kubectl") / "kubectl"
    kubeconfig = control_plane.kubeconfig("reprise", tmp_path / "kubeconfig")
    command = [str(kubectl), f"--kubeconfig={kubeconfig}", "auth", "whoami", "--output=json"]
    answer = subprocess.run(command, capture_output=True, check=True, env={"HOME": str(tmp_path)})
    assert json.loads(answer.stdout)["status"]["userInfo"]["username"] == "system:serviceaccount:reprise:reprise"


def test_a_restarted_api_server_has_the_same_address_and_state(fresh_cluster: ControlPlane, admin: ApiClient):
    url = fresh_cluster.url
    made = admin.create(node_manifest("survivor"))
    fresh_cluster.stop_apiserver()
    try:
        with pytest.raises(OSError, match="refused"):
            admin.list_objects(NODES)
    finally:
        fresh_cluster.start_apiserver()
    assert fresh_cluster.url == url
    assert admin.get(NODES, "survivor")["metadata"]["uid"] == made["metadata"]["uid"]


# ------------------------------------------------------------------------------------------------------------- rights


@pytest.mark.parametrize("resource", [NODES, PODS, NAMESPACES, DEVICE_CLASSES], ids=lambda each: each.plural)
def test_reprise_lists_what_it_schedules_by(control_plane: ControlPlane, resource):
    control_plane.client("reprise").list_objects(resource)


REFUSED_TO_REPRISE: dict[str, Callable[[ApiClient], object]] = {
    "delete a node": lambda client: client.delete(NODES, "n"),
    "change a node": lambda client: client.patch(NODES, "n", {"metadata": {"labels": {"a": "b"}}}),
    "read secrets": lambda client: client.list_objects(SECRETS),
    "create a pod": lambda client: client.create(pod_manifest("p")),
    "change a pod's spec": lambda client: client.patch(PODS, "p", {"spec": {}}, namespace="default"),
    "read Events": lambda client: client.list_objects(EVENTS),
    "read leases": lambda client: client.list_objects(LEASES),
}


@pytest.mark.parametrize("attempt", REFUSED_TO_REPRISE.values(), ids=REFUSED_TO_REPRISE.keys())
def test_reprise_is_refused_what_it_does_not_need(control_plane: ControlPlane, attempt):
    with pytest.raises(ApiError) as refusal:
        attempt(control_plane.client("reprise"))
    assert (refusal.value.status, refusal.value.reason) == (403, "Forbidden")
    assert 'User "system:serviceaccount:reprise:reprise" cannot' in refusal.value.message


@pytest.mark.parametrize(("verb", "allowed"), [("list", True), ("delete", False)])
def test_reprise_may_ask_what_it_may_do(control_plane: ControlPlane, verb, allowed):
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "metadata": {},
        "spec": {"resourceAttributes": {"verb": verb, "resource": "nodes"}},
    }
    assert control_plane.client("reprise").create(review)["status"]["allowed"] is allowed


def test_reprise_binds_writes_a_status_and_records_an_event(fresh_cluster: ControlPlane, admin: ApiClient):
    reprise = fresh_cluster.client("reprise")
    admin.create(node_manifest("n"))
    pod = admin.create(pod_manifest("p"))
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "seen"}
    status = {"status": {"conditions": [condition]}}
    reprise.patch(PODS, "p", status, namespace="default", subresource="status", patch_type="strategic")
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "p.1", "namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "type": "Normal",
        "reason": "Scheduled",
        "action": "Binding",
        "note": "seen",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "default"},
        "reportingController": "reprise",
        "reportingInstance": "reprise-1",
    }
    reprise.create(event)
    reprise.patch(EVENTS, "p.1", {"series": {"count": 2, "lastObservedTime": event["eventTime"]}}, namespace="default")
    assert admin.get(PODS, "p", "default")["status"]["conditions"][0]["message"] == "seen"
    reprise.bind("default", "p", "n", uid=pod["metadata"]["uid"])
    assert admin.get(PODS, "p", "default")["spec"]["nodeName"] == "n"
    assert [each["message"] for each in admin.list_objects(CORE_EVENTS)] == ["seen"]


def test_the_granted_rights_have_no_wildcard():
    [role] = [each for each in reprise_rbac() if each["kind"] == "ClusterRole"]
    words = [word for rule in role["rules"] for values in rule.values() for word in values]
    assert "pods/binding" in words
    assert not [word for word in words if "*" in word]


def test_a_foreign_binder_binds_and_does_nothing_else(fresh_cluster: ControlPlane, admin: ApiClient):
    foreign = fresh_cluster.client("foreign-binder")
    admin.create(node_manifest("n"))
    admin.create(pod_manifest("p"))
    foreign.bind("default", "p", "n")
    assert foreign.get(PODS, "p", "default")["spec"]["nodeName"] == "n"
    with pytest.raises(ApiError) as refusal:
        foreign.delete(PODS, "p", "default")
    assert refusal.value.status == 403


def test_nobody_may_not_even_list_nodes(control_plane: ControlPlane):
    with pytest.raises(ApiError) as refusal:
        control_plane.client("nobody").list_objects(NODES)
    assert refusal.value.status == 403


# ------------------------------------------------------------------------------------------- kube-scheduler and kwok


def profile(name: str) -> Object:
    return {"profiles": [{"schedulerName": name}]}


def test_the_real_kube_scheduler_binds_a_pod_and_kwok_runs_it(
    kwok: Kwok, start_kube_scheduler: StartKubeScheduler, admin: ApiClient
):
    admin.create(node_manifest("small", allocatable={"cpu": "1"}))
    admin.create(node_manifest("large", allocatable={"cpu": "8"}))
    scheduler = start_kube_scheduler(profile("theirs"))
    print(f"\nstart: kwok {kwok.start_seconds:.2f} s, kube-scheduler {scheduler.start_seconds:.2f} s")
    with admin.watch(PODS) as pods:
        admin.create(pod_manifest("p", scheduler_name="theirs", requests={"cpu": "2"}))
        admin.create(pod_manifest("q", scheduler_name="nobody's", requests={"cpu": "2"}))
        pods.wait_until(lambda watch: phase(watch, "p") == "Running", what="p is Running")
        running = pods.find("p", "default")
        assert running is not None
        assert running["spec"]["nodeName"] == "large"
        conditions = {each["type"]: each["status"] for each in running["status"]["conditions"]}
        assert conditions["PodScheduled"] == conditions["Ready"] == "True"
        assert phase(pods, "q") == "Pending"
        admin.delete(PODS, "p", "default")  # with the usual grace: a kubelet must confirm
        pods.wait_until(lambda watch: phase(watch, "p") is None, what="p is gone")
    assert "scheduler_schedule_attempts_total" in scheduler.page("/metrics")


def test_kwok_leaves_pods_on_other_nodes_alone(kwok: Kwok, admin: ApiClient):
    create_nodes(kwok.control_plane, [node_manifest("theirs", kwok=False), node_manifest("ours")])
    with admin.watch(PODS) as pods:
        for name, node in (("first", "theirs"), ("second", "ours")):
            admin.create(pod_manifest(name))
            admin.bind("default", name, node)
        pods.wait_until(lambda watch: phase(watch, "second") == "Running", what="second is Running")
        assert phase(pods, "first") == "Pending"


def test_kube_scheduler_reads_a_configuration_file(
    start_kube_scheduler: StartKubeScheduler, admin: ApiClient, tmp_path: Path
):
    file = tmp_path / "scheduler.yaml"
    file.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "leaderElection: {leaderElect: true}\n"
        "profiles:\n"
        "- schedulerName: from-a-file\n"
    )
    effective = json.loads(start_kube_scheduler(file).page("/configz"))["componentconfig"]
    assert [each["schedulerName"] for each in effective["profiles"]] == ["from-a-file"]
    assert effective["leaderElection"]["leaderElect"] is False
    assert (effective["clientConnection"]["qps"], effective["clientConnection"]["burst"]) == (5000, 5000)


def test_a_configuration_that_kube_scheduler_refuses_is_reported_with_its_log(
    start_kube_scheduler: StartKubeScheduler,
):
    with pytest.raises(DaemonError, match="noSuchField"):
        start_kube_scheduler({"noSuchField": 1})


# ---------------------------------------------------------------------------------------------------------------- many


def test_many_pods_are_created_and_bound_at_once_run_on_kwok_and_are_gone_after_a_reset(
    kwok: Kwok, admin: ApiClient, monkeypatch: pytest.MonkeyPatch
):
    create_nodes(kwok.control_plane, [node_manifest(f"node-{index:02}") for index in range(50)])
    names = [f"pod-{index:03}" for index in range(300)]
    with admin.watch(PODS) as pods:
        made = admin.create_all(pod_manifest(name, labels={"app": "burst"}) for name in names)
        pods.wait_until(lambda watch: len(watch.objects) == 300, what="300 pods")
        assert [pod["metadata"]["name"] for pod in made] == names
        assert len(admin.list_objects(PODS, "default", labels="app=burst")) == 300

        run_all(lambda index: admin.bind("default", names[index], f"node-{index % 50:02}"), range(100))
        pods.wait_until(lambda watch: running_per_node(watch).total() == 100, what="100 pods are Running")
        per_node = running_per_node(pods)
    assert (len(per_node), set(per_node.values())) == (50, {2})

    # As with thousands of objects: both programs start again without their data.
    monkeypatch.setattr("tests.support.control_plane.MANY_OBJECTS", 300)
    etcd = kwok.control_plane.etcd
    kwok.control_plane.reset()
    assert kwok.control_plane.etcd is not etcd
    assert admin.list_objects(PODS) == admin.list_objects(NODES) == []


# ------------------------------------------------------------------------------------------------- watching, emptying


def test_a_watch_has_the_list_and_every_event_after_it(admin: ApiClient):
    admin.create(node_manifest("listed"))
    with admin.watch(NODES) as nodes:
        admin.create(node_manifest("later"))
        admin.patch(NODES, "listed", {"metadata": {"labels": {"color": "blue"}}})
        admin.delete(NODES, "later")
        nodes.wait_until(lambda watch: len(watch.events) == 3, what="three events")
        assert [(event.type, event.object["metadata"]["name"]) for event in nodes.events] == [
            ("ADDED", "later"),
            ("MODIFIED", "listed"),
            ("DELETED", "later"),
        ]
        assert [node["metadata"]["labels"]["color"] for node in nodes.objects.values()] == ["blue"]


def test_a_watch_says_what_it_waited_for_in_vain(admin: ApiClient):
    with (
        admin.watch(NODES) as nodes,
        pytest.raises(WatchError, match=r"not seen in 0\.1 s: a node \(0 nodes, 0 events\)"),
    ):
        nodes.wait_until(lambda watch: bool(watch.objects), seconds=0.1, what="a node")


def test_a_fresh_cluster_has_nothing_of_earlier_tests(fresh_cluster: ControlPlane, admin: ApiClient):
    admin.create(namespace_manifest("team"))
    admin.create(node_manifest("n"))
    held = pod_manifest("held", namespace="team")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    admin.create(held)
    admin.create(pod_manifest("bound"))
    admin.bind("default", "bound", "n")
    admin.delete(PODS, "bound", "default")  # terminating: no kubelet confirms it
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}
    admin.create(service)
    fresh_cluster.reset()
    assert [admin.list_objects(each) for each in (PODS, NODES, EVENTS)] == [[], [], []]
    assert [each["metadata"]["name"] for each in admin.list_objects(SERVICES)] == ["kubernetes"]
    assert {each["metadata"]["name"] for each in admin.list_objects(NAMESPACES)} == {
        "default",
        "kube-node-lease",
        "kube-public",
        "kube-system",
        "reprise",
    }


# ------------------------------------------------------------------------------------------------ programs and parts


def test_a_program_that_cannot_start_is_reported_with_the_end_of_its_log():
    require_binaries("etcd", "kube-apiserver")
    own = ControlPlane(apiserver_arguments=["--no-such-flag"])
    with pytest.raises(DaemonError, match=r"kube-apiserver ended with code 1(.|\n)*unknown flag: --no-such-flag"):
        own.start()
    assert not own.etcd.running
    assert not own.folder.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_programs_end_with_a_test_run_that_is_killed(tmp_path: Path):
    folder = tmp_path / "folder"
    folder.mkdir()
    owner_code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tests.support.daemons import Daemon\n"
        "daemon = Daemon('sleep', ['/bin/sleep', '600'], folder=Path(sys.argv[1]))\n"
        "print(daemon.pid, daemon._guard.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", owner_code, str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        pid, guard = map(int, owner.stdout.readline().split())
        assert is_running(pid)
        guard_handle = os.pidfd_open(guard)
        owner.send_signal(signal.SIGKILL)
    with os.fdopen(guard_handle) as handle:
        signalled = subprocess.run(
            [sys.executable, "-c", "import select; assert select.select([0], [], [], 30)[0]"], stdin=handle, check=True
        )
    assert signalled.returncode == 0
    assert not is_running(pid)
    assert not folder.exists()


def test_a_program_that_ignores_the_request_to_end_can_be_killed(tmp_path: Path):
    stubborn = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); sys.stdin.read(); signal.pause()"
    daemon = Daemon("stubborn", [sys.executable, "-c", stubborn], folder=tmp_path)
    daemon.wait_ready(lambda: "up" in daemon.tail(), seconds=20)
    os.kill(daemon.pid, signal.SIGTERM)
    assert daemon.running
    daemon.kill()
    assert daemon.exit_code == -signal.SIGKILL


@pytest.mark.parametrize(("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_a_missing_part_fails_in_ci_and_skips_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ci, outcome):
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match=r"needs the real etcd, kwok \(run `make control-plane`"):
        require_binaries("etcd", "kwok")


def test_the_tests_look_where_the_build_puts_its_programs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    if not (binaries_folder() / "complete").exists():
        pytest.skip("needs a complete build (run `make control-plane`)")
    built = subprocess.run([CONTROL_PLANE_MODULE / "build.sh"], capture_output=True, text=True, check=True)
    assert Path(built.stdout.strip()) == binaries_folder()
