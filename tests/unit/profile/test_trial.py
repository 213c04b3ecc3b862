"""A node that is tried without some of its pods, against a cluster that really does not have them.

Expected: kube-scheduler 1.37, RunPreFilterExtensionRemovePod, AddPod and RunFilterPluginsWithNominatedPods.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from scheduler.api.objects import Pod
from scheduler.cache.cache import Cache
from scheduler.framework.plugin import PreFilterResult
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Code, Reason, Status
from scheduler.plugins.node_resources_fit import NodeResourcesFit
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.profile import Profile
from scheduler.profile.trial import row_trial
from tests.support.builders import make_node, make_pod
from tests.support.core_run import changed, default_profiles
from tests.support.scripted_plugins import Filter, PreFilter, make_profile, named, rejected
from tests.unit.profile.test_nominated_properties import HOSTNAME, NODES, ZONE, random_pod

STORIES = 150
FIT = make_profile(NodeResourcesFit())
NO_CPU = Status(Code.UNSCHEDULABLE, ("Insufficient cpu",), "NodeResourcesFit")


def info(name: str, cpu: str = "1", **fields: Any) -> PodInfo:
    return PodInfo(make_pod(name, requests={"cpu": cpu}, **fields))


def evaluated(profile: Profile, pod: PodInfo, cache: Cache) -> Evaluation:
    evaluation = Evaluation(profile, pod, cache.table)
    evaluation.refresh()
    return evaluation


@pytest.fixture
def cache() -> Cache:
    """n1 with 4 CPUs, of which a takes 1 and b takes 3."""
    cache = Cache(seed=1)
    cache.apply_node(make_node("n1"))
    cache.assume(info("a", "1"), "n1")
    cache.apply_pod(info("b", "3", node_name="n1"))
    return cache


def test_pods_that_are_taken_away_leave_room_until_they_are_put_back(cache: Cache) -> None:
    a, b = (known.pod for known in cache.pods_on("n1"))
    with row_trial(evaluated(FIT, info("p", "2"), cache).trial_filters(), cache, "n1", ()) as trial:
        assert trial.status() == NO_CPU
        trial.remove(a)
        assert trial.status() == NO_CPU
        trial.remove(b)
        assert trial.status() == SUCCESS
        trial.restore(a)
        assert trial.status() == SUCCESS
        trial.restore(b)
        assert trial.status() == NO_CPU


def test_in_the_end_all_is_as_before(cache: Cache) -> None:
    before = {known.pod.uid: known for known in cache.pods_on("n1")}
    with row_trial(evaluated(FIT, info("p"), cache).trial_filters(), cache, "n1", ()) as trial:
        for known in before.values():
            trial.remove(known.pod)
        assert cache.pods_on("n1") == []

    assert {known.pod.uid: known for known in cache.pods_on("n1")} == before
    cache.validate()


@pytest.mark.parametrize(("cpu", "status"), [("1", SUCCESS), ("2", NO_CPU)])
def test_pods_that_are_nominated_there_count(cache: Cache, cpu: str, status: Status) -> None:
    with row_trial(evaluated(FIT, info("p", cpu), cache).trial_filters(), cache, "n1", [info("ahead", "2")]) as trial:
        trial.remove(cache.pods_on("n1")[1].pod)
        assert trial.status() == status


def test_a_plugin_that_fails_is_an_error_of_the_node(cache: Cache) -> None:
    failing = named(Filter, "Failing", refuses=("n1",), reason=Reason("boom", Code.ERROR))
    fine = evaluated(make_profile(NodeResourcesFit(), failing), info("p", "5"), cache)
    with row_trial(fine.trial_filters(), cache, "n1", ()) as trial:
        # Fit says no before it comes to that.
        assert trial.status().code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    failing.error = RuntimeError("boom")
    with row_trial(_closed(make_profile(failing), cache).trial_filters(), cache, "n1", ()) as trial:
        assert trial.status() == Status(Code.ERROR, ('running "Failing" filter plugin: boom',), "Failing")


def _closed(profile: Profile, cache: Cache) -> Evaluation:
    """An evaluation that PreFilter has ended for now, so that no row was looked at."""
    first = named(PreFilter, "First", result=PreFilterResult(rejected("not now")))
    return evaluated(make_profile(first, *profile.filter), info("p", "2"), cache)


def test_where_prefilter_refuses_for_now_every_node_can_be_tried(cache: Cache) -> None:
    evaluation = _closed(FIT, cache)

    assert evaluation.resolvable_rows().tolist() == [0]
    with row_trial(evaluation.trial_filters(), cache, "n1", ()) as trial:
        assert trial.status() == NO_CPU
        trial.remove(cache.pods_on("n1")[1].pod)
        assert trial.status() == SUCCESS


def test_resolvable_is_what_is_refused_for_now_and_for_nothing_worse(cache: Cache) -> None:
    cache.apply_node(make_node("n2", allocatable={"cpu": "1"}))
    cache.apply_node(make_node("n3"))
    cache.apply_node(make_node("n4"))
    refusing = named(Filter, "Refusing", refuses=("n4",))
    evaluation = evaluated(make_profile(NodeResourcesFit(), refusing), info("p", "2"), cache)
    rows = {name: cache.table.rows[name] for name in ("n1", "n2", "n3", "n4")}
    never = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("never",), "Some")

    assert evaluation.resolvable_rows().tolist() == [rows["n1"], rows["n4"]]
    instead = {rows["n3"]: NO_CPU, rows["n1"]: never}
    assert evaluation.resolvable_rows(instead).tolist() == [rows["n3"], rows["n4"]]


def test_with_all_plugins_a_trial_says_what_a_cluster_without_the_pods_says() -> None:
    (profile,) = default_profiles().values()
    seen: set[str] = set()
    for seed in range(STORIES):
        random = Random(seed)
        placed = {
            f"placed-{number}": (random_pod(random, f"placed-{number}"), random.choice(list(NODES)))
            for number in range(random.randint(2, 10))
        }
        pod = PodInfo(random_pod(random, "pod"))
        cache = _cluster(placed)
        evaluation = evaluated(profile, pod, cache)
        node = random.choice(list(NODES))
        here = {known.pod.pod.metadata.name: known.pod for known in cache.pods_on(node)}
        gone: set[str] = set()
        with row_trial(evaluation.trial_filters(), cache, node, ()) as trial:
            for _ in range(2 * len(here)):
                name = random.choice(list(here))
                if name in gone:
                    gone.remove(name)
                    trial.restore(here[name])
                else:
                    gone.add(name)
                    trial.remove(here[name])
                fresh = _cluster({other: seat for other, seat in placed.items() if other not in gone})
                expected = evaluated(profile, pod, fresh).status(fresh.table.rows[node])
                assert trial.status() == expected, (seed, gone)
                seen.add(expected.plugin)
    assert seen >= {"", "NodePorts", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity"}


def _cluster(placed: dict[str, tuple[Pod, str]]) -> Cache:
    cache = Cache(seed=1)
    for name, zone in NODES.items():
        cache.apply_node(make_node(name, labels={ZONE: zone, HOSTNAME: name}))
    for pod, node in placed.values():
        cache.apply_pod(PodInfo(changed(pod, node_name=node)))
    return cache
