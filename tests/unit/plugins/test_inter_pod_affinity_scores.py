"""InterPodAffinity's scores (kube-scheduler 1.37: interpodaffinity/scoring.go) and arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from scheduler.api.objects import Namespace, Node, Pod
from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code, Status
from scheduler.plugins.inter_pod_affinity import InterPodAffinity, InterPodAffinityArgs, validate
from tests.support.builders import make_node, make_pod
from tests.support.plugin_runs import normalized, raw_scores, table_of
from tests.support.pod_affinity import affinity, namespace, term, weighted

WEB = {"app": "web"}
DB = {"matchLabels": {"app": "db"}}
HOST = "kubernetes.io/hostname"


def zones() -> list[Node]:
    return [
        make_node("a1", labels={"zone": "a"}),
        make_node("a2", labels={"zone": "a"}),
        make_node("b1", labels={"zone": "b"}),
        make_node("none"),
    ]


def scores(pod: Pod, pods: Iterable[Pod], **args: object) -> dict[str, int]:
    return raw_scores(plugin(**args), pod, table_of(zones(), pods))


def plugin(**args: object) -> InterPodAffinity:
    return InterPodAffinity(msgspec.convert(args, InterPodAffinityArgs))


def prescore(pod: Pod, pods: Iterable[Pod] = (), namespaces: Iterable[Namespace] = (), **args: object) -> Status:
    cache = Cache(seed=1)
    for each in namespaces:
        cache.apply_namespace(each)
    for node in zones():
        cache.apply_node(node)
    for one in pods:
        cache.apply_pod(PodInfo(one))
    return plugin(**args).pre_score({}, PodInfo(pod), cache.table.columns(InterPodAffinity))


def test_preferred_affinity_adds_and_anti_affinity_takes_away_for_each_matching_pod() -> None:
    pod = make_pod(affinity=affinity(prefer_near=(weighted(7, term()),), prefer_apart=(weighted(3, term(HOST, DB)),)))
    there = [
        make_pod("w1", labels=WEB, node_name="a1"),
        make_pod("w2", labels=WEB, node_name="a2"),
        make_pod("w3", labels=WEB, node_name="none"),
        make_pod("d", labels={"app": "db"}, node_name="a1"),
    ]

    assert scores(pod, there) == {"a1": 11, "a2": 14, "b1": 0, "none": 0}


def test_terms_of_one_label_add_up() -> None:
    pod = make_pod(affinity=affinity(prefer_near=(weighted(7, term()), weighted(2, term(selector=DB)))))
    there = [make_pod("w", labels=WEB, node_name="a1"), make_pod("d", labels={"app": "db"}, node_name="b1")]

    assert scores(pod, there) == {"a1": 7, "a2": 7, "b1": 2, "none": 0}


def test_preferences_of_pods_there_count_for_the_pod_that_they_are_about() -> None:
    rules = affinity(prefer_near=(weighted(5, term()),), prefer_apart=(weighted(9, term(HOST)),))
    there = [make_pod("h", node_name="a1", affinity=rules), make_pod("i", node_name="a2", affinity=rules)]

    assert scores(make_pod(labels=WEB), there) == {"a1": 1, "a2": 1, "b1": 0, "none": 0}


def test_required_affinity_of_pods_there_counts_with_the_weight_of_the_arguments() -> None:
    there = [make_pod("h", node_name="a1", affinity=affinity(near=(term(),)))]

    assert scores(make_pod(labels=WEB), there) == {"a1": 1, "a2": 1, "b1": 0, "none": 0}
    assert scores(make_pod(labels=WEB), there, hardPodAffinityWeight=40)["a2"] == 40
    assert prescore(make_pod(labels=WEB), there, hardPodAffinityWeight=0).code is Code.SKIP


def test_a_term_that_a_pod_there_has_twice_counts_twice() -> None:
    there = [make_pod("h", node_name="a1", affinity=affinity(near=(term(), term())))]

    assert scores(make_pod(labels=WEB), there)["a2"] == 2


def test_required_anti_affinity_gives_no_score() -> None:
    there = [make_pod("h", labels=WEB, node_name="a1", affinity=affinity(apart=(term(),)))]

    assert prescore(make_pod(labels=WEB, affinity=affinity(apart=(term(),), near=(term(),))), there).code is Code.SKIP


def test_preferences_of_others_are_matched_with_the_labels_of_the_namespace() -> None:
    rules = affinity(prefer_near=(weighted(5, term(namespaceSelector={"matchLabels": {"team": "a"}})),))
    there = [make_pod("h", namespace="elsewhere", node_name="a1", affinity=rules)]

    assert prescore(make_pod(labels=WEB), there, [namespace("default", team="a")]).code is Code.SUCCESS
    assert prescore(make_pod(labels=WEB), there, [namespace("default", team="b")]).code is Code.SKIP
    assert prescore(make_pod(labels=WEB), there).code is Code.SKIP


def test_without_any_pod_that_counts_there_is_no_score() -> None:
    pod = make_pod(labels=WEB, affinity=affinity(prefer_near=(weighted(7, term()),)))

    assert prescore(pod).code is Code.SKIP
    assert prescore(pod, [make_pod("w", labels=WEB, node_name="none")]).code is Code.SKIP
    assert prescore(pod, [make_pod("w", labels=WEB, node_name="b1")]).code is Code.SUCCESS


def test_sums_of_0_are_scores() -> None:
    rules = affinity(prefer_near=(weighted(7, term()),), prefer_apart=(weighted(7, term()),))

    assert set(scores(make_pod(affinity=rules), [make_pod("w", labels=WEB, node_name="b1")]).values()) == {0}


def test_preferences_of_others_can_be_ignored_for_pods_without_any_of_their_own() -> None:
    preferring = affinity(prefer_near=(weighted(5, term()),))
    there = [make_pod("h", node_name="a1", affinity=preferring), make_pod("w", labels=WEB, node_name="b1")]
    ignoring: dict[str, Any] = {"ignorePreferredTermsOfExistingPods": True}

    assert prescore(make_pod(labels=WEB), there, **ignoring).code is Code.SKIP
    assert prescore(make_pod(labels=WEB, affinity=affinity(near=(term(),))), there, **ignoring).code is Code.SKIP
    own = make_pod(labels=WEB, affinity=preferring)
    assert scores(own, there, **ignoring) == {"a1": 5, "a2": 5, "b1": 5, "none": 0}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ([0, 29, 100], [0, 28, 100]),
        ([0, 29, 50], [0, 57, 100]),
        ([-30, 0, 20], [0, 60, 100]),
        ([-5, -5, -5], [0, 0, 0]),
        ([7], [0]),
        ([0, 1], [0, 100]),
    ],
)
def test_normalisation_is_in_floats(raw: list[int], expected: list[int]) -> None:
    found = normalized(InterPodAffinity(), {str(number): score for number, score in enumerate(raw)})

    assert list(found.values()) == expected


@pytest.mark.parametrize("weight", [0, 1, 100])
def test_these_weights_are_allowed(weight: int) -> None:
    assert validate(InterPodAffinityArgs(hard_pod_affinity_weight=weight), "args") == []


@pytest.mark.parametrize("weight", [-1, 101])
def test_other_weights_are_not(weight: int) -> None:
    args = InterPodAffinityArgs(hard_pod_affinity_weight=weight)

    assert validate(args, "args") == [
        f"args.hardPodAffinityWeight: Invalid value: {weight}: not in valid range [0, 100]"
    ]
    with pytest.raises(ValueError, match="arguments of InterPodAffinity: hardPodAffinityWeight: Invalid value"):
        InterPodAffinity(args)
