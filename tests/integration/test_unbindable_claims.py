"""Pods that wait for their claims are told what a real kube-scheduler without preemption tells them, and bound when it is mended.

Both schedulers run the same configuration, one after the other, on the same objects (tests/support/claim_cases.py), with the real
controllers beside them, which bind volumes.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.conftest import Say
from tests.support.api_client import ApiClient
from tests.support.binaries import require_binaries
from tests.support.claim_cases import ClaimCase, claim_cases, cluster
from tests.support.control_plane import ControlPlane
from tests.support.controller_manager import ControllerManager
from tests.support.kube_scheduler import KubeScheduler
from tests.support.reprise_process import RepriseProcess
from tests.support.resources import EVENTS, PERSISTENT_VOLUME_CLAIMS, PODS, Object
from tests.support.watch import Watch

CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: reprise
  plugins:
    multiPoint:
      disabled:
      - {name: DynamicResources}
      - {name: DefaultPreemption}
"""
PATIENCE_SECONDS = 120.0
CASES = claim_cases()
HELPED = {name: case for name, case in CASES.items() if case.helped is not None}
EXPECTED = {
    # Worked out by hand; all others are compared with the real scheduler's alone.
    "no-volume": "0/4 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
    "none-waits": "0/4 nodes are available: 1 node(s) were unschedulable, "
    "3 node(s) didn't find available persistent volumes to bind.",
    "missing-claim": '0/4 nodes are available: persistentvolumeclaim "missing-claim" not found.',
}
Start = Callable[[], AbstractContextManager[KubeScheduler | RepriseProcess]]


@dataclass(frozen=True)
class Told:
    """What a pod was told: its PodScheduled condition without times, and its first Event."""

    condition: Object
    event: tuple[str, str, str]


@dataclass(frozen=True)
class Outcome:
    """What one scheduler did."""

    told: Mapping[str, Told]
    bound: Mapping[str, str]
    """The node of each pod that was helped."""
    claims: Mapping[str, str]
    """The volume of each claim, at the end."""
    complaints: list[Object]
    """What Reprise logged beyond information."""


def observe(control_plane: ControlPlane, start: Start) -> Outcome:
    """Have a scheduler fail on all pods, then help some of them."""
    control_plane.reset()
    admin = control_plane.client()
    with ControllerManager(control_plane), admin.watch(PODS) as pods, admin.watch(EVENTS) as events:
        admin.create_all(cluster())
        made = {name: prepare(admin, case) for name, case in CASES.items()}
        with admin.watch(PERSISTENT_VOLUME_CLAIMS) as claims:
            wanted = {name: phase for case in CASES.values() for name, phase in case.claims.items()}
            claims.wait_until(
                lambda watch: wanted.items() <= phases(watch).items(),
                seconds=PATIENCE_SECONDS,
                what="claims are as they should be",
            )
        with start() as scheduler:
            pods.wait_until(
                lambda watch: all("status" in condition_of(watch, name) for name in CASES),
                seconds=PATIENCE_SECONDS,
                what="all pods are told",
            )
            events.wait_until(
                lambda watch: CASES.keys() <= {each["regarding"]["name"] for each in failures(watch)},
                seconds=PATIENCE_SECONDS,
                what="all pods have an Event",
            )
            told = {name: told_of(name, pods, events) for name in CASES}
            for name, case in HELPED.items():
                assert case.helped is not None
                case.helped(admin, made[name])
            pods.wait_until(
                lambda watch: all(node_of(watch, name) for name in HELPED),
                seconds=PATIENCE_SECONDS,
                what="the helped pods are bound",
            )
            complaints = [] if isinstance(scheduler, KubeScheduler) else scheduler.complaints()
        volumes = {
            claim["metadata"]["name"]: claim["spec"].get("volumeName", "")
            for claim in admin.list_objects(PERSISTENT_VOLUME_CLAIMS)
        }
        return Outcome(told, {name: node_of(pods, name) for name in HELPED}, volumes, complaints)


def prepare(admin: ApiClient, case: ClaimCase) -> Object:
    """Create the objects of a case, then its pod, which is returned."""
    for manifest in case.objects:
        admin.create(manifest)
    if case.occupant is not None:
        admin.create(case.occupant)
        admin.bind("default", case.occupant["metadata"]["name"], "a")
    for name in case.deleted_claims:
        admin.delete(PERSISTENT_VOLUME_CLAIMS, name, "default")  # it has a finalizer, which nobody takes away
    return admin.create(case.pod)


def phases(claims: Watch) -> dict[str, str]:
    return {claim["metadata"]["name"]: claim["status"].get("phase", "") for claim in claims.objects.values()}


def pod_of(pods: Watch, name: str) -> Object:
    return next(pod for pod in pods.objects.values() if pod["metadata"]["name"] == name)


def condition_of(pods: Watch, name: str) -> Object:
    conditions = pod_of(pods, name)["status"].get("conditions", ())
    return next((each for each in conditions if each["type"] == "PodScheduled"), {})


def node_of(pods: Watch, name: str) -> str:
    node: str = pod_of(pods, name)["spec"].get("nodeName", "")
    return node


def failures(events: Watch) -> list[Object]:
    """Events of failed scheduling, in the order they came; the controllers write others."""
    return [each.object for each in events.events if each.object.get("reason") == "FailedScheduling"]


def told_of(name: str, pods: Watch, events: Watch) -> Told:
    condition = {key: value for key, value in condition_of(pods, name).items() if not key.endswith("Time")}
    first = next(each for each in failures(events) if each["regarding"]["name"] == name)
    return Told(condition, (first["type"], first["action"], first["note"]))


@pytest.fixture(scope="module")
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("configuration") / "scheduler.yaml"
    file.write_text(CONFIGURATION)
    return file


@pytest.fixture(scope="module")
def theirs(control_plane: ControlPlane, configuration: Path) -> Outcome:
    require_binaries("kube-scheduler", "kube-controller-manager")
    return observe(control_plane, lambda: KubeScheduler(control_plane, configuration))


@pytest.fixture(scope="module")
def ours(control_plane: ControlPlane, configuration: Path) -> Outcome:
    require_binaries("kube-controller-manager")
    return observe(control_plane, lambda: RepriseProcess(control_plane, configuration))


@pytest.mark.parametrize("name", CASES)
def test_the_pod_is_told_what_kube_scheduler_tells_it(ours: Outcome, theirs: Outcome, name: str):
    assert ours.told[name] == theirs.told[name]
    assert ours.told[name].condition["status"] == "False"


@pytest.mark.parametrize("name", EXPECTED)
def test_the_message_is_the_one_worked_out_by_hand(theirs: Outcome, name: str):
    assert theirs.told[name].condition["message"] == EXPECTED[name]


def test_pods_are_bound_when_their_claims_can_be(ours: Outcome, theirs: Outcome, say: Say):
    say(f"claims: {len(CASES)} pods told as kube-scheduler tells them, {len(HELPED)} bound when helped")
    places = {name: case.helped_to for name, case in HELPED.items() if case.helped_to}
    for outcome in (ours, theirs):
        assert {name: outcome.bound[name] for name in places} == places
    assert _alike(ours.claims) == _alike(theirs.claims)


def _alike(claims: Mapping[str, str]) -> dict[str, str]:
    """Volumes by claim. Of equal ones kube-scheduler takes any, so that two runs of it differ (docs/differences.md)."""
    return {
        claim: {"one-of-two-a": "a or c", "one-of-two-c": "a or c"}.get(name, name) for claim, name in claims.items()
    }


def test_it_has_nothing_to_complain_of_and_no_right_is_missing(ours: Outcome):
    assert ours.complaints == []
