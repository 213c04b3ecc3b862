"""Pods that fit nowhere are told what a real kube-scheduler tells them, word for word, and are bound when a node fits.

Both schedulers run the same configuration file, one after the other, on a cluster made alike, and what the API server has
of the pods afterwards is compared.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Say
from tests.support.api_client import ApiClient
from tests.support.binaries import require_binaries
from tests.support.control_plane import ControlPlane
from tests.support.kube_scheduler import KubeScheduler
from tests.support.manifests import node_manifest, pod_manifest
from tests.support.reprise_process import RepriseProcess
from tests.support.resources import EVENTS, PODS, Object
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
Start = Callable[[], AbstractContextManager[object]]

SMALL_COUNT = 12  # so that counts of one and of two digits are sorted as words
SCARCE = [f"example.com/a-resource-of-which-there-is-none-here-{index:02}" for index in range(20)]
HOST_PORT = 8080


# ------------------------------------------------------------------------------------------------------------ a cluster


def nodes() -> list[Object]:
    batch = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
    broken = {"key": "example.com/broken", "effect": "NoExecute"}
    large = {"cpu": "16"}
    return [
        *(
            node_manifest(f"small-{index:02}", allocatable={"cpu": "1", "memory": "2Gi"}, labels={"size": "small"})
            for index in range(SMALL_COUNT)
        ),
        *(node_manifest(f"batch-{index}", allocatable=large, taints=[batch]) for index in range(2)),
        node_manifest("broken", allocatable=large, taints=[broken]),
        node_manifest("cordoned", allocatable=large, unschedulable=True),
        node_manifest("full", allocatable={**large, "pods": "1"}),
    ]


def rescue_node() -> Object:
    plenty = {"cpu": "128", "memory": "64Gi", "ephemeral-storage": "1Ti", **dict.fromkeys(SCARCE, "1")}
    return node_manifest("rescue", allocatable=plenty, labels={"size": "small", "color": "green"})


def occupants() -> dict[str, Object]:
    """By node, a pod of somebody else's that uses a host port."""
    names = [node["metadata"]["name"] for node in nodes()]
    places = [name for name in names if name.startswith("small") or name == "full"]
    return {
        place: with_host_port(pod_manifest(f"occupant-of-{place}", scheduler_name="somebody", requests={"cpu": "100m"}))
        for place in places
    }


def with_host_port(pod: Object) -> Object:
    pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": HOST_PORT}]
    return pod


def named(*terms: list[str]) -> Object:
    """Required node affinity: the node has all names of one of the terms."""
    term = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]}
        for names in terms
    ]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": term}}}


def scarce_pod() -> Object:
    pod = pod_manifest("scarce")
    pod["spec"]["containers"][0]["resources"] = {"limits": dict.fromkeys(SCARCE, "1")}
    return pod


def init_pod() -> Object:
    pod = pod_manifest("init")
    pod["spec"]["initContainers"] = [{"name": "first", "image": "i", "resources": {"requests": {"cpu": "2"}}}]
    return pod


BIG = {"cpu": "2"}
HELPED = {
    # Those that the rescue node helps.
    "big": pod_manifest("big", requests=BIG),
    "big-in-all": pod_manifest("big-in-all", requests={"cpu": "2", "memory": "20Gi", "ephemeral-storage": "200Gi"}),
    "selecting": pod_manifest("selecting", nodeSelector={"color": "green"}),
    "selecting-and-big": pod_manifest("selecting-and-big", requests=BIG, nodeSelector={"size": "small"}),
    "port": with_host_port(pod_manifest("port")),
    "tolerating": pod_manifest(
        "tolerating", requests={"cpu": "20"}, tolerations=[{"key": "dedicated", "operator": "Exists"}]
    ),
    "tolerating-all": pod_manifest("tolerating-all", requests={"cpu": "20"}, tolerations=[{"operator": "Exists"}]),
    "named-not-there": pod_manifest("named-not-there", affinity=named(["rescue"], ["lost"])),
    "scarce": scarce_pod(),
    "init": init_pod(),
    "pod-level": pod_manifest("pod-level", requests={}, resources={"requests": BIG}),
    "other-condition": pod_manifest("other-condition", requests=BIG),
    "ungated": pod_manifest("ungated", requests=BIG, schedulingGates=[{"name": "example.com/wait"}]),
}
NOT_HELPED = {
    "named-and-big": pod_manifest("named-and-big", requests=BIG, affinity=named(["small-03"], ["small-11"])),
    "conflicting": pod_manifest("conflicting", affinity=named(["small-01", "small-02"])),
    "on-cordoned": pod_manifest("on-cordoned", nodeSelector={"kubernetes.io/hostname": "cordoned"}),
    "on-full": pod_manifest("on-full", nodeSelector={"kubernetes.io/hostname": "full"}),
}
FAILING = {**HELPED, **NOT_HELPED}
GATED = pod_manifest("gated", requests=BIG, schedulingGates=[{"name": "example.com/wait"}])
HOMELESS = pod_manifest("homeless")

READY = {"type": "example.com/Ready", "status": "False", "reason": "Because", "message": "set by somebody else"}

EXPECTED = {
    # Worked out by hand; all others are compared with the real scheduler's alone.
    "big": "0/17 nodes are available: 1 Too many pods, 1 node(s) were unschedulable, 12 Insufficient cpu, "
    "3 node(s) had untolerated taint(s).",
    "port": "0/17 nodes are available: 1 node(s) were unschedulable, 13 node(s) didn't have free ports for the requested "
    "pod ports, 3 node(s) had untolerated taint(s).",
    "named-and-big": "0/17 nodes are available: 15 node(s) didn't satisfy plugin(s) [NodeAffinity], 2 Insufficient cpu.",
    "conflicting": "0/17 nodes are available: pod affinity terms conflict.",
    "homeless": "no nodes available to schedule pods",
}


# ----------------------------------------------------------------------------------------------------------- observing


@dataclass(frozen=True)
class Told:
    """What the API server has of a failed pod: all but times and names that are new each time."""

    status: Object
    transition_moved: bool
    """Whether lastTransitionTime of PodScheduled is another than before the failure."""
    events: list[Object]

    @property
    def condition(self) -> Object:
        [found] = [each for each in self.status["conditions"] if each["type"] == "PodScheduled"]
        return dict(found)


@dataclass(frozen=True)
class Outcome:
    """What one scheduler did: to each pod by name, and where it bound those that the rescue node helped."""

    told: Mapping[str, Told]
    gated_before: Object
    gated_after: Object
    gated_events: list[Object]
    bound: Mapping[str, tuple[str, Object]]
    left: list[str]


def observe(control_plane: ControlPlane, start: Start) -> Outcome:
    """Have a scheduler fail on an empty cluster, then on the one above, then give it the rescue node."""
    control_plane.reset()
    admin = control_plane.client()
    with admin.watch(PODS) as pods, admin.watch(EVENTS) as events:
        before = {"homeless": admin.create(HOMELESS)}
        with start():
            wait_until_told(pods, events, ["homeless"])
        told = {"homeless": told_of("homeless", before, pods, events)}
        admin.delete(PODS, "homeless", "default", grace_seconds=0)

        before = prepare(admin)
        with start():
            wait_until_told(pods, events, [name for name in FAILING if name != "ungated"])
            ungate = {"spec": {"schedulingGates": None}}
            before["ungated"] = admin.patch(PODS, "ungated", ungate, namespace="default")
            wait_until_told(pods, events, FAILING)
            told |= {name: told_of(name, before, pods, events) for name in FAILING}
            admin.create(rescue_node())
            pods.wait_until(
                lambda watch: all(node_of(watch, name) for name in HELPED), what="the helped pods are bound"
            )
        found = {name: pods.find(name, "default") for name in (*FAILING, "gated")}
        return Outcome(
            told=told,
            gated_before=before["gated"],
            gated_after=found["gated"] or {},
            gated_events=[each.object for each in events.events if each.object["regarding"]["name"] == "gated"],
            bound={
                name: (pod["spec"]["nodeName"], timeless(pod["status"]))
                for name, pod in found.items()
                if pod and name in HELPED
            },
            left=[name for name in NOT_HELPED if not (found[name] or {})["spec"].get("nodeName")],
        )


def prepare(admin: ApiClient) -> dict[str, Object]:
    """The cluster, its occupants, and the pods to fail as they are before they do."""
    admin.create_all(nodes())
    for place, pod in occupants().items():
        admin.create(pod)
        admin.bind("default", pod["metadata"]["name"], place)
    made = admin.create_all([*FAILING.values(), GATED])
    before = {pod["metadata"]["name"]: pod for pod in made}
    for name in ("other-condition", "ungated"):
        patch = {"status": {"conditions": [{**READY, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}
        before[name] = admin.patch(PODS, name, patch, namespace="default", subresource="status", patch_type="strategic")
    return before


def wait_until_told(pods: Watch, events: Watch, names: Any) -> None:
    """Wait until each of the pods has its condition and an Event."""
    wanted = set(names)

    def have_condition(watch: Watch) -> bool:
        reasons = {pod["metadata"]["name"]: (condition_of(pod) or {}).get("reason") for pod in watch.objects.values()}
        return all(reasons.get(name) == "Unschedulable" for name in wanted)

    pods.wait_until(have_condition, what=f"condition of {sorted(wanted)}")
    events.wait_until(
        lambda watch: wanted <= {each["regarding"]["name"] for each in watch.objects.values()},
        what=f"Events of {sorted(wanted)}",
    )


def told_of(name: str, before: Mapping[str, Object], pods: Watch, events: Watch) -> Told:
    pod = pods.find(name, "default")
    assert pod is not None
    seen = before[name]
    about = [each for each in events.objects.values() if each["regarding"]["uid"] == pod["metadata"]["uid"]]
    if name == "homeless":  # is tried again and again, whatever happens
        about = [each for each in about if each["regarding"]["resourceVersion"] == seen["metadata"]["resourceVersion"]]
    times = [(condition_of(each) or {}).get("lastTransitionTime") for each in (seen, pod)]
    return Told(timeless(pod["status"]), times[0] != times[1], [comparable(each, seen) for each in about])


def condition_of(pod: Object) -> Object | None:
    return next((each for each in pod["status"].get("conditions", ()) if each["type"] == "PodScheduled"), None)


def node_of(watch: Watch, name: str) -> str | None:
    return next(
        (pod["spec"].get("nodeName") for pod in watch.objects.values() if pod["metadata"]["name"] == name), None
    )


def timeless(status: Object) -> Object:
    """A pod's status without the times in its conditions; their order stays."""
    conditions = [
        {key: value for key, value in each.items() if not key.endswith("Time")} for each in status.get("conditions", ())
    ]
    return {**status, "conditions": conditions}


def comparable(event: Object, seen: Object) -> Object:
    """An Event without times, and with the pod's uid and resourceVersion where it should have them."""
    known = {seen["metadata"]["uid"]: "the pod's", seen["metadata"]["resourceVersion"]: "the one that was seen"}
    regarding = {key: known.get(value, value) for key, value in event["regarding"].items()}
    fields = {key: value for key, value in event.items() if key not in {"metadata", "eventTime"}}
    stem, _, suffix = event["metadata"]["name"].rpartition(".")
    where = {"namespace": event["metadata"]["namespace"], "stem": stem, "suffix": bool(int(suffix, 16))}
    return {**fields, "regarding": regarding, "metadata": where}


@pytest.fixture(scope="module")
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("configuration") / "scheduler.yaml"
    file.write_text(CONFIGURATION)
    return file


@pytest.fixture(scope="module")
def theirs(control_plane: ControlPlane, configuration: Path) -> Outcome:
    require_binaries("kube-scheduler")
    return observe(control_plane, lambda: KubeScheduler(control_plane, configuration))


@pytest.fixture(scope="module")
def ours(control_plane: ControlPlane, configuration: Path) -> Outcome:
    return observe(control_plane, lambda: RepriseProcess(control_plane, configuration))


# --------------------------------------------------------------------------------------------------------------- tests

every_failing_pod = pytest.mark.parametrize("name", [*FAILING, "homeless"])


@every_failing_pod
def test_a_pod_that_fits_nowhere_has_the_condition_that_kube_scheduler_gives(ours: Outcome, theirs: Outcome, name: str):
    assert ours.told[name].condition == theirs.told[name].condition
    assert ours.told[name].transition_moved == theirs.told[name].transition_moved
    assert ours.told[name].condition["status"] == "False"


@every_failing_pod
def test_nothing_else_of_its_status_differs_from_what_kube_scheduler_leaves(ours: Outcome, theirs: Outcome, name: str):
    assert ours.told[name].status == theirs.told[name].status


@every_failing_pod
def test_it_has_the_one_event_that_kube_scheduler_records(ours: Outcome, theirs: Outcome, name: str):
    assert ours.told[name].events == theirs.told[name].events
    [event] = ours.told[name].events
    assert (event["type"], event["reason"], event["action"]) == ("Warning", "FailedScheduling", "Scheduling")
    assert event["reportingController"] == "reprise"
    assert (event["regarding"]["uid"], event["regarding"]["resourceVersion"]) == ("the pod's", "the one that was seen")


@pytest.mark.parametrize("name", EXPECTED)
def test_the_message_is_the_one_worked_out_by_hand(ours: Outcome, theirs: Outcome, name: str):
    assert theirs.told[name].condition["message"] == EXPECTED[name]
    assert ours.told[name].condition["message"] == EXPECTED[name]
    assert ours.told[name].events[0]["note"] == EXPECTED[name]


def test_a_long_message_is_cut_in_the_event_alone(ours: Outcome, theirs: Outcome):
    told = ours.told["scarce"]
    assert len(told.condition["message"]) > 1024
    assert told.events[0]["note"] == told.condition["message"][:1020] + " ..."
    assert told.events[0]["note"] == theirs.told["scarce"].events[0]["note"]


def test_the_time_of_transition_stays_when_the_status_was_false_before(ours: Outcome):
    assert not ours.told["ungated"].transition_moved
    assert ours.told["big"].transition_moved


def test_conditions_of_others_are_left_as_they_were(ours: Outcome):
    for name in ("other-condition", "ungated"):
        kept = [each for each in ours.told[name].status["conditions"] if each["type"] == READY["type"]]
        assert [{key: each.get(key) for key in READY} for each in kept] == [READY]


def test_a_gated_pod_is_left_untouched_as_kube_scheduler_leaves_it(ours: Outcome, theirs: Outcome):
    for outcome in (ours, theirs):
        assert outcome.gated_after == outcome.gated_before
        assert outcome.gated_events == []
    assert condition_of(ours.gated_after) is not None


def test_pods_are_bound_when_a_node_that_fits_is_added(ours: Outcome, theirs: Outcome, say: Say):
    say(f"unschedulable: {len(FAILING)} pods told as kube-scheduler tells them, {len(HELPED)} bound to the added node")
    assert {name: node for name, (node, _) in ours.bound.items()} == dict.fromkeys(HELPED, "rescue")
    assert ours.bound == theirs.bound
    assert ours.left == theirs.left == list(NOT_HELPED)
