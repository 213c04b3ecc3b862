"""Releases on a real API server: installed by the real helm, run under the identity and the rights that they bring, audited."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.chart.conftest import Audited
from tests.chart.doubting_server import DoubtingServer
from tests.chart.release import REPRISE, Release, Scheduler
from tests.support.api_client import ApiClient, ApiError
from tests.support.cluster_reset import reset_cluster
from tests.support.granted_and_seen import Grant, granted, unused
from tests.support.helm import CHART, Helm, only
from tests.support.manifests import namespace_manifest, node_manifest, pod_manifest
from tests.support.resources import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    EVENTS,
    JOBS,
    LEASES,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
)
from tests.support.storage_manifests import claim_manifest, claiming_pod, class_manifest, volume_manifest

NAMESPACES = ("default", "one", "two")
MakeRelease = Callable[..., Release]


@pytest.fixture
def admin(audited: Audited) -> ApiClient:
    """An empty cluster with a place for two releases. No controller makes the ServiceAccounts that pods need by default."""
    client = audited.control_plane.client()
    reset_cluster(client)
    for name in NAMESPACES:
        client.apply(namespace_manifest(name))
        client.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}})
    return client


@pytest.fixture
def release(admin: ApiClient, audited: Audited, helm_programs: Path, tmp_path: Path) -> MakeRelease:
    """Prepare a release; the test installs it."""
    kubeconfig = audited.control_plane.kubeconfig("admin", tmp_path / "admin.kubeconfig")

    def make(name: str, namespace: str, values: dict[str, Any] | None = None, *, program: str = "helm") -> Release:
        helm = Helm(helm_programs / program, tmp_path, kubeconfig)
        return Release(helm, audited.control_plane, name, namespace, values)

    return make


def bound(admin: ApiClient, scheduler_name: str) -> int:
    pods = admin.list_objects(PODS, fields=f"spec.schedulerName={scheduler_name}")
    return sum(1 for pod in pods if pod["spec"].get("nodeName"))


def test_each_of_two_releases_binds_its_own_pods_alone(
    admin: ApiClient, audited: Audited, release: MakeRelease, tmp_path: Path
) -> None:
    admin.create_all(node_manifest(f"node-{index}", kwok=False) for index in range(4))
    night, day = release("night", "one"), release("day", "two")
    with night, day, Scheduler(night, tmp_path) as of_night, Scheduler(day, tmp_path):
        for name in ("night", "day", "nobody"):
            admin.create_all(pod_manifest(f"{name}-{index}", scheduler_name=name) for index in range(20))
        of_night.wait_until(
            lambda: (bound(admin, "night"), bound(admin, "day")) == (20, 20), "both have bound what is theirs"
        )
        leaders = {
            place: admin.get(LEASES, f"{name}-reprise", place)["spec"]["holderIdentity"]
            for name, place in (("night", "one"), ("day", "two"))
        }
    assert bound(admin, "nobody") == 0
    assert len(set(leaders.values())) == 2
    for each in (night, day):
        asked = audited.requests(each.user)
        assert [str(request) for request in asked if request.is_forbidden] == []
        binds = [request.grant.name for request in asked if request.grant.resource == "pods/binding"]
        assert len(binds) == 20
        assert {name.partition("-")[0] for name in binds} == {each.name}
    told = {
        (event["reportingController"], event["regarding"]["name"].partition("-")[0])
        for event in admin.list_objects(EVENTS, "default")
        if event["reason"] == "Scheduled"
    }
    assert told == {("night", "night"), ("day", "day")}


def test_nothing_is_forbidden_and_nothing_is_granted_in_vain(
    admin: ApiClient, audited: Audited, release: MakeRelease, tmp_path: Path
) -> None:
    """A story in which everything happens once that takes a right; three writes are left in doubt."""
    night = release("full", "one")
    low, high = ({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"} for _ in range(2))
    admin.create({**low, "metadata": {"name": "low"}, "value": 1})
    admin.create({**high, "metadata": {"name": "high"}, "value": 1000})
    admin.create_all(
        [
            *(node_manifest(f"node-{index}", kwok=False) for index in range(2)),
            node_manifest("small", kwok=False, allocatable={"cpu": "1"}, labels={"size": "small"}),
            class_manifest("made", provisioner="provisioner.example.com"),
            class_manifest("static"),
            claim_manifest("to-be-made", "made"),
            claim_manifest("to-be-found", "static"),
            volume_manifest("found", "static", node="node-0"),
        ]
    )
    available = {"status": {"phase": "Available"}}  # as the controller would write it
    admin.patch(PERSISTENT_VOLUMES, "found", available, subresource="status")
    # To use that one takes five minutes: tests/integration/test_typo_warnings.py does.
    grants = granted(night.objects(), night.user) - {Grant("list", "events")}

    def times_told(pod: str) -> int:
        return sum(1 for event in admin.list_objects(EVENTS, "default") if event["regarding"]["name"] == pod)

    small: dict[str, Any] = {"scheduler_name": "full", "nodeSelector": {"size": "small"}}
    with (
        night,
        DoubtingServer(audited.control_plane, night.token()) as server,
        Scheduler(night, tmp_path, server.kubeconfig(tmp_path / "doubting.kubeconfig")) as scheduler,
    ):
        admin.create(pod_manifest("victim", requests={"cpu": "900m"}, priorityClassName="low", **small))
        admin.create(pod_manifest("filler", scheduler_name="full"))
        scheduler.wait_until(lambda: bound(admin, "full") == 2, "both are bound")
        admin.create(pod_manifest("preemptor", requests={"cpu": "900m"}, priorityClassName="high", **small))
        admin.create(claiming_pod("claims-made", "to-be-made", scheduler_name="full"))
        admin.create(claiming_pod("claims-found", "to-be-found", scheduler_name="full"))
        admin.create(pod_manifest("too-large", requests={"cpu": "64"}, scheduler_name="full"))
        scheduler.wait_until(lambda: times_told("too-large") == 1, "it is told of the pod that fits nowhere")
        # No kubelet is here to do it.
        scheduler.wait_until(
            lambda: "deletionTimestamp" in admin.get(PODS, "victim", "default")["metadata"], "the victim has to go"
        )
        admin.delete(PODS, "victim", "default", grace_seconds=0)
        scheduler.wait_until(lambda: times_told("too-large") == 2, "it was tried again, and has a condition now")
        # Nothing has changed about the pod since: what is told becomes a series.
        admin.delete(PODS, "filler", "default", grace_seconds=0)
        assert scheduler.page("/metrics", audited.control_plane.token("admin")) == 200
        assert scheduler.page("/metrics") in (401, 403)
        assert scheduler.page("/metrics", audited.control_plane.token("nobody")) == 403
        left: list[Any] = []

        def everything_is_used() -> bool:
            left[:] = unused(grants, audited.requests(night.user))
            return not left

        try:
            scheduler.wait_until(everything_is_used, "every right is used", seconds=30)
        except AssertionError as error:
            pytest.fail(f"granted and not seen: {', '.join(map(str, left))}\n{error}")
        assert server.left == set(), "these writes were not tried"
    assert [str(request) for request in audited.requests(night.user) if request.is_forbidden] == []


@pytest.mark.parametrize("program", ["helm", "helm3"])
def test_an_upgrade_leaves_the_lease_to_its_holder(
    admin: ApiClient, release: MakeRelease, tmp_path: Path, program: str
) -> None:
    with release("kept", "one", program=program) as kept, Scheduler(kept, tmp_path) as scheduler:

        def spec() -> dict[str, Any]:
            found: dict[str, Any] = admin.get(LEASES, "kept-reprise", "one").get("spec") or {}
            return found

        scheduler.wait_until(lambda: bool(spec().get("holderIdentity")), "it leads")
        before = spec()
        kept.upgrade(commonLabels={"team": "a"})
        lease = admin.get(LEASES, "kept-reprise", "one")
        assert lease["metadata"]["labels"]["team"] == "a"
        same = ("holderIdentity", "acquireTime", "leaseTransitions", "leaseDurationSeconds")
        assert {name: spec().get(name) for name in same} == {name: before.get(name) for name in same}
        renewed = spec()["renewTime"]
        scheduler.wait_until(lambda: spec()["renewTime"] > renewed, "it goes on leading")
        assert not [line for line in scheduler.log() if line["level"] == "error"]


@pytest.mark.parametrize("program", ["helm", "helm3"])
def test_an_uninstall_leaves_nothing_behind(admin: ApiClient, release: MakeRelease, program: str) -> None:
    kinds = (
        CLUSTER_ROLES,
        CLUSTER_ROLE_BINDINGS,
        CONFIG_MAPS,
        DEPLOYMENTS,
        JOBS,
        LEASES,
        POD_DISRUPTION_BUDGETS,
        ROLES,
        ROLE_BINDINGS,
        SECRETS,
        SERVICES,
        SERVICE_ACCOUNTS,
    )

    def names() -> set[tuple[str, str, str]]:
        return {
            (kind.kind, each["metadata"].get("namespace", ""), each["metadata"]["name"])
            for kind in kinds
            for each in admin.list_objects(kind, metadata_only=True)
        }

    before = names()
    with release("gone", "two", {"replicas": 2}, program=program):
        assert len(names() - before) == 11  # the release's own Secret among them
    assert names() == before


@pytest.mark.parametrize("program", ["helm", "helm3"])
def test_an_upgrade_that_reuses_the_values_of_an_older_chart_succeeds(
    admin: ApiClient, release: MakeRelease, tmp_path: Path, program: str
) -> None:
    """As of a chart that had no `config`: helm takes that chart's defaults, so there is none after the upgrade either."""
    older = tmp_path / "reprise"
    shutil.copytree(CHART, older)
    values = older / "values.yaml"
    text = values.read_text()
    config = 'config:\n  onChange: reload\n  resource: ""\n'
    assert config in text
    values.write_text(text.replace(config, ""))
    of_older = release("grown", "one", program=program)
    namespace = f"--namespace={of_older.namespace}"
    helm = of_older.helm
    helm.run("install", "grown", older, namespace, values=of_older.values)
    try:
        helm.run("upgrade", "grown", CHART, namespace, "--reuse-values")
        assert "config" not in helm.run("get", "values", "grown", namespace, "--all").split()
        helm.run("upgrade", "grown", CHART, namespace, "--reuse-values", "--set=config.resource=night")
        template = admin.get(DEPLOYMENTS, "grown-reprise", "one")["spec"]["template"]
        assert template["spec"]["containers"][0]["args"][-2:] == ["--config-resource", "night"]
    finally:
        of_older.uninstall()


@pytest.mark.parametrize("program", ["helm", "helm3"])
def test_the_kind_of_the_resource_comes_with_an_install_and_stays(
    admin: ApiClient, release: MakeRelease, program: str
) -> None:
    name = "schedulerconfigurations.reprise.dev"
    for found in admin.list_objects(CUSTOM_RESOURCE_DEFINITIONS, metadata_only=True):
        if found["metadata"]["name"] == name:
            admin.delete(CUSTOM_RESOURCE_DEFINITIONS, name)
    with admin.watch(CUSTOM_RESOURCE_DEFINITIONS) as kinds:
        kinds.wait_until(lambda watch: watch.find(name) is None, what="the kind is gone")
    with release("kind", "one", program=program):
        written = YAML(typ="safe").load((CHART / "crds" / "schedulerconfigurations.yaml").read_text())
        assert admin.get(CUSTOM_RESOURCE_DEFINITIONS, name)["spec"]["versions"] == written["spec"]["versions"]
    assert admin.get(CUSTOM_RESOURCE_DEFINITIONS, name)["metadata"]["name"] == name


def test_who_is_about_to_uninstall_is_told_which_pods_are_left(
    admin: ApiClient, audited: Audited, release: MakeRelease, tmp_path: Path
) -> None:
    """As the hook's Job does it, under the release's own rights."""
    with release("leaving", "one") as leaving:
        admin.create(pod_manifest("stays", scheduler_name="leaving"))
        admin.create(pod_manifest("other", scheduler_name="somebody"))
        (job,) = leaving.helm.template(leaving.values, release="leaving", namespace="one", hooks=True)[-1:]
        assert job["kind"] == "Job"
        arguments = job["spec"]["template"]["spec"]["containers"][0]["args"]
        configuration = str(leaving.configuration(tmp_path))
        command = [
            configuration if argument == "/etc/reprise/configuration.yaml" else argument for argument in arguments
        ]
        done = subprocess.run(
            [REPRISE, *command, f"--kubeconfig={leaving.kubeconfig(tmp_path)}"],
            capture_output=True,
            text=True,
            check=True,
        )
    assert "1 pods still ask for leaving" in done.stdout
    assert "  default/stays (leaving): waiting" in done.stdout
    assert not [request for request in audited.requests(leaving.user) if request.is_forbidden]


def test_a_namespace_for_restricted_pods_takes_the_schedulers(
    admin: ApiClient, release: MakeRelease, audited: Audited
) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    admin.apply(namespace_manifest("two", labels=labels))
    with release("strict", "two") as strict:
        template = only(strict.objects(), "Deployment")["spec"]["template"]
        pod = {"apiVersion": "v1", "kind": "Pod", **template}
        pod["metadata"] = {**template["metadata"], "name": "tried", "namespace": "two"}
        admin.create(pod)
        del pod["spec"]["containers"][0]["securityContext"]
        pod["metadata"] = {**pod["metadata"], "name": "refused"}
        with pytest.raises(ApiError, match="violates PodSecurity"):
            admin.create(pod)
