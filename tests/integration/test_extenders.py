"""Pods are decided on with a real extender as a real kube-scheduler decides with it: same configuration, same extender, same objects.

The extender knows what to do from an annotation of the pod, so it sees whole pods, and it binds the pods itself.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.conftest import Say
from tests.support.binaries import require_binaries
from tests.support.control_plane import ControlPlane, free_ports
from tests.support.kube_scheduler import KubeScheduler
from tests.support.manifests import node_manifest, pod_manifest
from tests.support.reprise_process import RepriseProcess
from tests.support.resources import PODS, Object
from tests.support.scripted_extender import CASE, ScriptedExtender
from tests.support.watch import Watch

BOUND = {"left-one": "b", "scored": "c"}
TOLD = {
    "all-failed": "0/4 nodes are available: 1 Insufficient cpu, 3 too hot.",
    "mixed": "0/4 nodes are available: 1 Insufficient cpu, 1 too hot, 1 too old.",
    "silent": "0/4 nodes are available: 1 Insufficient cpu.",
    "error": "licence expired",
    "code-500": "failed filter with extender at URL {url}/filter, code 500",
    "invented": 'extender "{url}" claims a filtered node "invented" which is not found in the input node list',
    "bind-error": "quota exceeded",
}
"""Worked out by hand; what is told is compared with the real scheduler besides."""
OWN_WORDS = ("broken", "slow")
"""Failures of HTTP and JSON are told in the words of each one's libraries."""
CASES = (*BOUND, *TOLD, *OWN_WORDS)
PATIENCE_SECONDS = 40.0
Start = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Outcome:
    """What one scheduler did: the node of each bound pod, the condition of each other one, and what it asked first for each pod."""

    nodes: Mapping[str, str]
    conditions: Mapping[str, Object]
    asked: Mapping[tuple[str, str], list[str]]


def configuration(url: str, *, by_name: bool) -> dict[str, Any]:
    [nobody] = free_ports(1)
    disabled = [{"name": "DynamicResources"}, {"name": "DefaultPreemption"}]
    return {
        "profiles": [{"schedulerName": "reprise", "plugins": {"multiPoint": {"disabled": disabled}}}],
        "extenders": [
            {"urlPrefix": f"http://127.0.0.1:{nobody}/", "filterVerb": "filter", "ignorable": True},
            {
                "urlPrefix": url,
                "filterVerb": "filter",
                "prioritizeVerb": "prioritize",
                "bindVerb": "bind",
                "weight": 100,
                "httpTimeout": "1s",
                "nodeCacheCapable": by_name,
            },
        ],
    }


def observe(control_plane: ControlPlane, extender: ScriptedExtender, start: Start) -> Outcome:
    control_plane.reset()
    admin = control_plane.client()
    extender.asked.clear()
    for name in ("a", "b", "c"):
        admin.create(node_manifest(name))
    admin.create(node_manifest("full", allocatable={"cpu": "10m"}))
    with admin.watch(PODS) as pods:
        with start():
            for case in CASES:
                manifest = pod_manifest(case)
                manifest["metadata"]["annotations"] = {CASE: case}
                admin.create(manifest)
            pods.wait_until(
                lambda watch: all(is_decided(watch, case) for case in CASES),
                seconds=PATIENCE_SECONDS,
                what="all pods are bound or told why not",
            )
        asked: dict[tuple[str, str], list[str]] = {}
        for verb, case, nodes in extender.asked:
            asked.setdefault((verb, case), nodes)
        bound = {case: node_of(pods, case) for case in CASES if node_of(pods, case)}
        return Outcome(bound, {case: condition_of(pods, case) for case in CASES if case not in bound}, asked)


def pod_of(pods: Watch, name: str) -> Object:
    return pods.find(name, "default") or {"spec": {}, "status": {}}


def node_of(pods: Watch, name: str) -> str:
    node: str = pod_of(pods, name)["spec"].get("nodeName", "")
    return node


def condition_of(pods: Watch, name: str) -> Object:
    """Of one that is not bound, without times."""
    conditions = pod_of(pods, name)["status"].get("conditions", ())
    failed = (one for one in conditions if one["type"] == "PodScheduled" and one["status"] == "False")
    found: Object = next(failed, {})
    return {key: value for key, value in found.items() if not key.endswith("Time")}


def is_decided(pods: Watch, name: str) -> bool:
    return bool(node_of(pods, name)) or bool(condition_of(pods, name))


@pytest.fixture(scope="module")
def extender(control_plane: ControlPlane) -> Iterator[ScriptedExtender]:
    with ScriptedExtender(lambda namespace, name, node: control_plane.client().bind(namespace, name, node)) as running:
        yield running


@dataclass(frozen=True)
class Pair:
    theirs: Outcome
    ours: Outcome
    complaints: list[Object]
    by_name: bool


@pytest.fixture(scope="module", params=[True, False], ids=["names", "whole-nodes"])
def pair(request: pytest.FixtureRequest, control_plane: ControlPlane, extender: ScriptedExtender) -> Pair:
    require_binaries("kube-scheduler")
    document = configuration(extender.url, by_name=request.param)
    theirs = observe(control_plane, extender, lambda: KubeScheduler(control_plane, document))
    running = RepriseProcess(control_plane, document)
    ours = observe(control_plane, extender, lambda: running)
    return Pair(theirs, ours, running.complaints(), request.param)


def told(case: str, extender: ScriptedExtender) -> str:
    return TOLD[case].format(url=extender.url)


def test_pods_go_where_the_extender_lets_them_go(pair: Pair, say: Say) -> None:
    say(f"extenders: {len(CASES)} pods, {len(pair.ours.nodes)} bound by the extender")
    assert {case: pair.theirs.nodes[case] for case in BOUND} == BOUND
    assert {case: pair.ours.nodes[case] for case in BOUND} == BOUND


@pytest.mark.parametrize("case", TOLD)
def test_the_pod_is_told_what_kube_scheduler_tells_it(pair: Pair, extender: ScriptedExtender, case: str) -> None:
    if case == "invented" and not pair.by_name:
        # One that answers with whole nodes has no name to invent here, so it is a pod like others.
        assert {case in one.nodes for one in (pair.ours, pair.theirs)} == {True}
        return
    assert pair.theirs.conditions[case]["message"] == told(case, extender)
    assert pair.ours.conditions[case] == pair.theirs.conditions[case]


@pytest.mark.parametrize("case", OWN_WORDS)
def test_a_failure_is_an_error_in_our_own_words(pair: Pair, case: str) -> None:
    ours, theirs = pair.ours.conditions[case], pair.theirs.conditions[case]

    assert ours["reason"] == theirs["reason"] == "SchedulerError"
    assert {**ours, "message": ""} == {**theirs, "message": ""}
    assert "/extender" in ours["message"]


def test_the_extender_is_asked_the_same_about_the_same_nodes(pair: Pair) -> None:
    assert pair.ours.asked[("filter", "scored")] == ["a", "b", "c"]
    assert {key: nodes for key, nodes in pair.ours.asked.items() if key[0] != "bind"} == {
        key: nodes for key, nodes in pair.theirs.asked.items() if key[0] != "bind"
    }


def test_the_one_that_is_not_there_is_complained_of_once(pair: Pair) -> None:
    [complaint] = pair.complaints

    assert complaint["verb"] == "filter"
    assert "Connection refused" in complaint["error"]
