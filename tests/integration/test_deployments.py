"""Deployments of 200 pods, made by the real controllers: decided on from the batch cache, and spread, in the default configuration.

Pods of a ReplicaSet are spread by default, over zones and nodes, so where each goes changes what is best for the next one.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from scheduler.api.objects import ReplicaSet, SelectingObject, Service
from tests.integration.conftest import Say, StartReprise
from tests.support.api_client import ApiClient
from tests.support.binaries import require_binaries
from tests.support.burst import Binds, series
from tests.support.control_plane import ControlPlane
from tests.support.controller_manager import ControllerManager
from tests.support.fresh_evaluation import FreshEvaluations
from tests.support.kube_scheduler import KubeScheduler
from tests.support.manifests import node_manifest
from tests.support.plain_account import PlainAccount, Version, version_of
from tests.support.reprise_process import RepriseProcess
from tests.support.resources import DEPLOYMENTS, NODES, PODS, REPLICA_SETS, SERVICES, Object
from tests.support.watch import Watch

POD_COUNT = 200
PATIENCE_SECONDS = 120.0
ZONES = {"large": 6, "middle": 4, "small": 2}
"""Nodes of each zone."""
ZONE = "topology.kubernetes.io/zone"


def nodes() -> list[Object]:
    return [
        node_manifest(f"{zone}-{index}", zone=zone, allocatable={"cpu": cpu, "memory": "64Gi"}, kwok=False)
        for (zone, count), cpu in zip(ZONES.items(), ("32", "16", "32"), strict=True)
        for index in range(count)
    ]


def deployment(name: str, replicas: int = POD_COUNT) -> Object:
    labels = {"app": name}
    requests = {"cpu": "100m", "memory": "128Mi"}
    container = {"name": "main", "image": "registry.example/app:1", "resources": {"requests": requests}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"schedulerName": "reprise", "containers": [container]},
            },
        },
    }


def service(name: str) -> Object:
    """A Service that selects the pods of the Deployment of this name."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80}]},
    }


def by_label(reprise: RepriseProcess, metric: str) -> Mapping[str, float]:
    """The samples of a metric of the profile by its other label; those that are 0 left out."""
    pattern = re.compile(rf'{metric}{{profile="reprise",\w+="(\w+)"}}')
    samples = series(reprise.page("/metrics").body.decode())
    return {found[1]: value for name, value in samples.items() if value and (found := pattern.fullmatch(name))}


@dataclass
class Rollout:
    """What came of a Deployment whose pods were waiting when the scheduler started."""

    story: Path = Path()
    originals: dict[Version, Object] = field(default_factory=dict)
    """Every state of every pod and node."""
    selecting: list[SelectingObject] = field(default_factory=list)
    attempts: Mapping[str, float] = field(default_factory=dict)
    flushed: Mapping[str, float] = field(default_factory=dict)
    bypassed: Mapping[str, float] = field(default_factory=dict)
    checks: Mapping[str, float] = field(default_factory=dict)
    zones: Counter[str] = field(default_factory=Counter)
    """Pods by the zone they were bound in."""
    complaints: list[Object] = field(default_factory=list)


@contextmanager
def waiting_pods(control_plane: ControlPlane, *, with_service: bool) -> Iterator[Watch]:
    """The pods of a Deployment, all made; the controllers go on."""
    control_plane.reset()
    admin = control_plane.client()
    admin.create_all([*nodes(), deployment("web"), *([service("web")] if with_service else [])])
    with ControllerManager(control_plane), admin.watch(PODS) as pods:
        pods.wait_until(
            lambda watch: len(watch.objects) == POD_COUNT, seconds=PATIENCE_SECONDS, what="200 pods are made"
        )
        yield pods


def wait_until_bound(pods: Watch, binds: Binds, count: int = POD_COUNT) -> None:
    pods.wait_until(lambda watch: binds.count(watch) == count, seconds=PATIENCE_SECONDS, what=f"{count} pods are bound")


def zones_of(binds: Binds) -> Counter[str]:
    """Pods by the zone they were bound in."""
    zone_of = {node["metadata"]["name"]: node["metadata"]["labels"][ZONE] for node in nodes()}
    return Counter(zone_of[node] for node in binds.nodes.values())


def roll_out(control_plane: ControlPlane, *, with_service: bool) -> Rollout:
    """Have the pods bound in the default configuration."""
    with waiting_pods(control_plane, with_service=with_service) as pods:
        admin = control_plane.client()
        waiting, cluster = list(pods.objects.values()), admin.list_objects(NODES)
        selecting: list[SelectingObject] = [
            *(msgspec.convert(each, ReplicaSet) for each in admin.list_objects(REPLICA_SETS)),
            *(msgspec.convert(each, Service) for each in admin.list_objects(SERVICES)),
        ]
        assert [each.metadata.name for each in selecting[1:]] == ["kubernetes"] + ["web"] * with_service
        binds = Binds()
        with RepriseProcess(control_plane, tells_story=True) as reprise:
            wait_until_bound(pods, binds)
            found = Rollout(
                attempts=by_label(reprise, "scheduler_batch_attempts_total"),
                flushed=by_label(reprise, "scheduler_batch_cache_flushed_total"),
                bypassed=by_label(reprise, "scheduler_batch_bypass_total"),
                checks=by_label(reprise, "scheduler_batch_verifications_total"),
                zones=zones_of(binds),
                selecting=selecting,
                story=reprise.story,
            )
            reprise.stop()
            found.complaints = reprise.complaints()
        states = [*waiting, *cluster, *(event.object for event in pods.events)]
        found.originals = {version_of(each): each for each in states}
    return found


@pytest.fixture(scope="module", params=[True, False], ids=["with a Service", "without a Service"])
def rollout(request: pytest.FixtureRequest, control_plane: ControlPlane) -> Rollout:
    require_binaries("kube-controller-manager")
    return roll_out(control_plane, with_service=request.param)


@pytest.fixture(scope="module")
def theirs(control_plane: ControlPlane) -> Counter[str]:
    """Pods by zone as the real kube-scheduler binds them, with the Service."""
    require_binaries("kube-scheduler", "kube-controller-manager")
    binds = Binds()
    with (
        waiting_pods(control_plane, with_service=True) as pods,
        KubeScheduler(control_plane, {"profiles": [{"schedulerName": "reprise"}]}),
    ):
        wait_until_bound(pods, binds)
    return zones_of(binds)


def test_every_decision_but_the_first_comes_from_the_batch_cache(rollout: Rollout, say: Say):
    """But for those that find the entry older than maxBatchAge: one each half second, so more the slower the machine binds."""
    hits = rollout.attempts.get("hint_used", 0) + rollout.attempts.get("fit_error", 0)
    expired = rollout.flushed.get("expired", 0)
    say(f"deployment: {hits / POD_COUNT:.3f} from the cache, {expired:.0f} expired, bound: {dict(rollout.zones)}")
    assert sum(rollout.attempts.values()) == POD_COUNT
    assert hits == POD_COUNT - 1 - expired
    assert hits / (POD_COUNT - expired) >= 0.99
    assert (rollout.bypassed, rollout.flushed.keys() - {"expired"}) == ({}, set())


def test_what_was_checked_while_it_ran_was_right(rollout: Rollout):
    assert "mismatch" not in rollout.checks


def test_each_pod_got_a_node_with_the_best_total_worked_out_afresh(rollout: Rollout):
    fresh = FreshEvaluations(rollout.story, rollout.selecting)
    account = PlainAccount(rollout.originals)
    decided, wrong = 0, []
    for decision in account.follow(rollout.story):
        totals = fresh.totals(account, decision.pod)
        decided += 1
        if totals[decision.node] != max(totals.values()):
            wrong.append((decision.line, decision.node, totals))
    assert wrong == []
    assert decided == POD_COUNT


def test_pods_are_spread_over_zones_of_different_size_as_kube_scheduler_spreads_them(
    rollout: Rollout, theirs: Counter[str]
):
    """Ties are broken at random by both; without the default constraints the zone with most room has 40 pods more."""
    assert rollout.zones.keys() == theirs.keys() == ZONES.keys()
    assert {zone: count for zone, count in theirs.items() if abs(rollout.zones[zone] - count) > 2} == {}


def test_it_has_nothing_to_complain_of_and_no_right_is_missing(rollout: Rollout):
    assert rollout.complaints == []


def test_pods_that_come_while_it_runs_miss_the_cache_only_after_a_pause(
    admin: ApiClient, controller_manager: ControllerManager, start_reprise: StartReprise, say: Say
):
    """Whatever the controllers write of the ReplicaSet in the meantime; after a pause longer than maxBatchAge two pods may miss."""
    admin.create_all([*nodes(), service("web")])
    reprise = start_reprise()
    binds = Binds()
    with admin.watch(PODS) as pods:
        admin.create(deployment("web", POD_COUNT // 2))
        wait_until_bound(pods, binds, POD_COUNT // 2)
        admin.patch(DEPLOYMENTS, "web", {"spec": {"replicas": POD_COUNT}}, namespace="default")
        wait_until_bound(pods, binds)
    attempts = by_label(reprise, "scheduler_batch_attempts_total")
    flushed = by_label(reprise, "scheduler_batch_cache_flushed_total")
    say(f"deployment: {dict(attempts)} while the pods came, dropped: {dict(flushed)}")
    assert sum(attempts.values()) == POD_COUNT
    assert flushed.keys() <= {"expired"}
    assert attempts["no_hint"] <= 2 + 2 * flushed.get("expired", 0)
