"""Which namespaces the required anti-affinity of known pods may be about (kube-scheduler 1.37: GetAffinityTerms)."""

import pytest

from scheduler.api.objects import (
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    Namespace,
    ObjectMeta,
    PodAffinity,
    PodAffinityTerm,
    WeightedPodAffinityTerm,
)
from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo
from tests.support.builders import make_pod


def namespace(name: str, **labels: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name, labels=labels))


def holder(name: str, *terms: PodAffinityTerm, node_name: str = "n1") -> PodInfo:
    """A pod of the namespace "own" with required anti-affinity terms."""
    affinity = Affinity(pod_anti_affinity=PodAffinity(required=list(terms)))
    return PodInfo(make_pod(name, namespace="own", affinity=affinity, node_name=node_name))


@pytest.fixture
def cache() -> Cache:
    cache = Cache(seed=0)
    for each in (namespace("own", team="a"), namespace("red", team="a"), namespace("blue", team="b")):
        cache.apply_namespace(each)
    return cache


def reached(cache: Cache) -> list[str]:
    """The namespaces reached, among those known and one that is not."""
    return [name for name in ("own", "red", "blue", "unknown") if cache.anti_affinity_reaching(name) is not None]


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (PodAffinityTerm(), ["own"]),
        (PodAffinityTerm(namespaces=[]), ["own"]),
        (PodAffinityTerm(namespaces=["blue"]), ["blue"]),
        (PodAffinityTerm(namespaces=["blue", "unknown"]), ["blue", "unknown"]),
        (
            PodAffinityTerm(namespace_selector=LabelSelector(match_labels={"team": "a"})),
            ["own", "red", "unknown"],
        ),
        (PodAffinityTerm(namespace_selector=LabelSelector()), ["own", "red", "blue", "unknown"]),
        (
            PodAffinityTerm(namespaces=["blue"], namespace_selector=LabelSelector(match_labels={"team": "c"})),
            ["blue", "unknown"],
        ),
        (
            PodAffinityTerm(
                namespace_selector=LabelSelector(
                    match_expressions=[LabelSelectorRequirement(key="team", operator="Sideways")]
                )
            ),
            ["own", "red", "blue", "unknown"],
        ),
    ],
    ids=["own", "empty list", "listed", "two listed", "selected", "all", "listed or selected", "unreadable selector"],
)
def test_a_term_reaches_listed_and_selected_namespaces_and_without_either_its_own(
    cache: Cache, term: PodAffinityTerm, expected: list[str]
) -> None:
    cache.apply_pod(holder("p", term))
    assert reached(cache) == expected


def test_preferred_terms_and_affinity_reach_nothing(cache: Cache) -> None:
    preferred = PodAffinity(preferred=[WeightedPodAffinityTerm(weight=1)])
    affinity = Affinity(pod_affinity=PodAffinity(required=[PodAffinityTerm()]), pod_anti_affinity=preferred)
    cache.apply_pod(PodInfo(make_pod(namespace="own", node_name="n1", affinity=affinity)))
    assert reached(cache) == []


def test_the_answer_is_the_pod_known_longest(cache: Cache) -> None:
    for name in ("b", "a"):
        cache.apply_pod(holder(name, PodAffinityTerm()))
    found = cache.anti_affinity_reaching("own")
    assert found is not None
    assert found.pod.key == "own/b"


def test_an_assumed_pod_counts_until_it_is_forgotten(cache: Cache) -> None:
    pod = holder("p", PodAffinityTerm(), node_name="")
    cache.assume(pod, "n1")
    assert reached(cache) == ["own"]
    cache.forget(pod.uid)
    assert reached(cache) == []


def test_two_pods_with_one_selector_are_both_gone_before_it_reaches_nothing(cache: Cache) -> None:
    pods = [
        holder(name, PodAffinityTerm(namespace_selector=LabelSelector(match_labels={"team": "b"}))) for name in "ab"
    ]
    for pod in pods:
        cache.apply_pod(pod)
    cache.remove_pod(pods[0].uid)
    assert reached(cache) == ["blue", "unknown"]
    cache.remove_pod(pods[1].uid)
    assert reached(cache) == []
    cache.validate()


def test_labels_of_a_namespace_are_those_last_seen(cache: Cache) -> None:
    cache.apply_pod(holder("p", PodAffinityTerm(namespace_selector=LabelSelector(match_labels={"team": "b"}))))
    cache.apply_namespace(namespace("red", team="b"))
    cache.apply_namespace(namespace("blue"))
    assert reached(cache) == ["red", "unknown"]
    cache.remove_namespace("own")
    assert reached(cache) == ["own", "red", "unknown"]
    assert (cache.namespace_labels("red"), cache.namespace_labels("own")) == ({"team": "b"}, None)


def test_a_pod_whose_terms_changed_reaches_what_they_reach_now(cache: Cache) -> None:
    cache.apply_pod(holder("p", PodAffinityTerm()))
    cache.apply_pod(holder("p", PodAffinityTerm(namespaces=["red"])))
    assert reached(cache) == ["red"]
    cache.validate()
