"""Affinity terms of pods on nodes: where they are held, and which namespaces they can be about (kube-scheduler 1.37: AffinityTerm)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.api.objects import Affinity, Namespace, ObjectMeta
from scheduler.cache.cache import Cache
from scheduler.cache.pod_terms import PodTerms
from scheduler.framework.affinity_terms import HeldTerm, affinity_terms
from scheduler.framework.pod_info import PodInfo
from tests.support.builders import make_node, make_pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def anti(*terms: dict[str, Any]) -> dict[str, Any]:
    """Required anti-affinity terms, of everything in the zone unless they say otherwise."""
    return {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone", "labelSelector": {}, **term} for term in terms]}}


def holder(name: str = "p", rules: dict[str, Any] | None = None, *, node_name: str = "n1") -> PodInfo:
    """A pod of the namespace "own" with these rules."""
    affinity = msgspec.convert(rules if rules is not None else anti({}), Affinity)
    return PodInfo(make_pod(name, namespace="own", affinity=affinity, node_name=node_name))


def held_by(pod: PodInfo) -> HeldTerm:
    (held,) = affinity_terms(pod.pod).held
    return held


@pytest.fixture
def cache() -> Cache:
    cache = Cache(seed=0)
    for name in ("n1", "n2"):
        cache.apply_node(make_node(name))
    for name, team in (("own", "a"), ("red", "a"), ("blue", "b")):
        cache.apply_namespace(Namespace(metadata=ObjectMeta(name=name, labels={"team": team})))
    return cache


def terms_of(cache: Cache) -> PodTerms:
    return cache.table.terms


def reached(cache: Cache) -> list[str]:
    """The namespaces reached, among those known and one that is not."""
    names = ("own", "red", "blue", "unknown")
    return [name for name in names if terms_of(cache).reaching(name).anti_affinity]


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ({}, ["own"]),
        ({"namespaces": []}, ["own"]),
        ({"namespaces": ["blue"]}, ["blue"]),
        ({"namespaces": ["blue", "unknown"]}, ["blue", "unknown"]),
        ({"namespaceSelector": {"matchLabels": {"team": "a"}}}, ["own", "red"]),
        ({"namespaceSelector": {}}, ["own", "red", "blue", "unknown"]),
        ({"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}}, ["unknown"]),
        ({"namespaces": ["blue"], "namespaceSelector": {"matchLabels": {"team": "c"}}}, ["blue"]),
        ({"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "Sideways"}]}}, []),
    ],
    ids=["own", "empty list", "listed", "two", "selected", "all", "unlabelled", "listed or selected", "unreadable"],
)
def test_a_term_reaches_listed_and_selected_namespaces_and_without_either_its_own(
    cache: Cache, term: dict[str, Any], expected: list[str]
) -> None:
    cache.apply_pod(holder(rules=anti(term)))

    assert reached(cache) == expected
    cache.validate()


def test_kinds_are_told_apart(cache: Cache) -> None:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}}
    other = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"tier": "y"}}}
    cache.apply_pod(
        holder(
            rules={
                "podAffinity": {REQUIRED: [term], PREFERRED: [{"weight": 3, "podAffinityTerm": other}]},
                "podAntiAffinity": {REQUIRED: [term], PREFERRED: [{"weight": 4, "podAffinityTerm": term}]},
            }
        )
    )

    found = terms_of(cache).reaching("own")
    assert [(held.kind, held.weight) for held in found.anti_affinity] == [("required anti-affinity", 0)]
    assert [(held.kind, held.weight) for held in found.scored] == [
        ("required affinity", 0),
        ("preferred", 3),
        ("preferred", -4),
    ]
    assert found.keys == ("app", "tier")


def test_holders_are_counted_by_row(cache: Cache) -> None:
    for name, node_name in (("a", "n1"), ("b", "n1"), ("c", "n2")):
        cache.apply_pod(holder(name, node_name=node_name))
    column = terms_of(cache).column(held_by(holder()))
    assert column is not None
    assert column.values.tolist()[:2] == [2, 1]

    cache.remove_pod("own-a")
    terms_of(cache).counts()
    assert column.values.tolist()[:2] == [1, 1]
    cache.validate()


def test_a_pod_with_one_term_twice_holds_it_twice(cache: Cache) -> None:
    cache.apply_pod(holder(rules=anti({}, {})))

    (held,) = {*affinity_terms(holder(rules=anti({}, {})).pod).held}
    assert terms_of(cache).counts() == {(held, 0): 2}


def test_a_term_is_gone_with_its_last_holder(cache: Cache) -> None:
    for name in "ab":
        cache.apply_pod(holder(name, rules=anti({"namespaceSelector": {"matchLabels": {"team": "b"}}})))
    assert (reached(cache), terms_of(cache).selects_namespaces) == (["blue"], True)
    cache.remove_pod("own-a")
    assert reached(cache) == ["blue"]
    cache.remove_pod("own-b")
    assert (reached(cache), terms_of(cache).selects_namespaces) == ([], False)
    cache.validate()


def test_an_assumed_pod_counts_until_it_is_forgotten(cache: Cache) -> None:
    pod = holder(node_name="")
    cache.assume(pod, "n1")
    assert reached(cache) == ["own"]
    cache.forget(pod.uid)
    assert reached(cache) == []


def test_a_pod_on_a_node_that_is_not_known_holds_nothing(cache: Cache) -> None:
    cache.apply_pod(holder(node_name="ghost"))
    assert reached(cache) == []
    cache.apply_node(make_node("ghost"))
    assert reached(cache) == ["own"]
    cache.remove_node("ghost")
    assert reached(cache) == []
    cache.validate()


def test_a_pod_whose_terms_changed_holds_what_it_has_now(cache: Cache) -> None:
    cache.apply_pod(holder())
    cache.apply_pod(holder(rules=anti({"namespaces": ["red"]})))
    assert reached(cache) == ["red"]
    cache.apply_pod(PodInfo(make_pod("p", namespace="own", node_name="n1")))
    assert reached(cache) == []
    cache.validate()


def test_labels_of_a_namespace_are_those_last_seen(cache: Cache) -> None:
    cache.apply_pod(holder(rules=anti({"namespaceSelector": {"matchLabels": {"team": "b"}}})))
    assert reached(cache) == ["blue"]
    cache.apply_namespace(Namespace(metadata=ObjectMeta(name="red", labels={"team": "b"})))
    cache.apply_namespace(Namespace(metadata=ObjectMeta(name="blue")))
    assert reached(cache) == ["red"]
    cache.remove_namespace("red")
    assert reached(cache) == []


def versions(cache: Cache, namespace: str = "own") -> tuple[int, int]:
    found = terms_of(cache).reaching(namespace)
    return found.anti_affinity_version, found.scored_version


def test_versions_of_what_reaches_a_namespace_move_with_its_terms_alone(cache: Cache) -> None:
    assert versions(cache) == (0, 0)
    cache.apply_pod(holder("a"))
    first = versions(cache)
    assert (first[0] > 0, first[1]) == (True, 0)

    cache.apply_pod(holder("b", node_name="n2"))  # another holder of the same term
    cache.apply_pod(holder("c", rules=anti({"namespaces": ["red"]})))  # about others
    cache.apply_namespace(Namespace(metadata=ObjectMeta(name="own", labels={"team": "z"})))
    assert versions(cache) == first

    cache.apply_pod(holder("d", rules=anti({"topologyKey": "rack"})))
    second = versions(cache)
    assert second[0] not in (0, first[0])
    cache.remove_pod("own-d")
    assert versions(cache)[0] not in (0, second[0])
    for name in "ab":
        cache.remove_pod(f"own-{name}")
    assert versions(cache) == (0, 0)


def test_the_version_of_a_term_moves_with_its_holders_alone(cache: Cache) -> None:
    terms, held = terms_of(cache), held_by(holder())
    assert terms.version(held) == 0
    cache.apply_pod(holder("a"))
    first = terms.version(held)
    cache.apply_pod(holder("b", rules=anti({"topologyKey": "rack"})))
    assert terms.version(held) == first > 0
    cache.apply_pod(holder("c"))
    second = terms.version(held)
    assert second > first
    for name in "ac":
        cache.remove_pod(f"own-{name}")
    assert terms.version(held) == 0
    cache.apply_pod(holder("d"))
    assert terms.version(held) > second


def test_a_pod_without_terms_leaves_no_note() -> None:
    cache = Cache(seed=0)
    cache.apply_node(make_node("n1"))
    cache.apply_pod(PodInfo(make_pod(node_name="n1")))

    assert cache.table.terms._notes == []


def test_a_column_that_was_dropped_for_others_is_right_when_it_is_asked_for_again() -> None:
    cache = Cache(seed=0)
    cache.table.terms = terms = PodTerms(cache.table.capacity, cache.table.namespaces, columns=2)
    cache.apply_node(make_node("n1"))
    keys = ("a", "b", "c")
    held = [held_by(holder(rules=anti({"topologyKey": key}))) for key in keys]
    for round_number in (1, 2):
        for key, one in zip(keys, held, strict=True):
            cache.apply_pod(holder(f"{key}{round_number}", rules=anti({"topologyKey": key})))
            column = terms.column(one)
            assert column is not None
            assert column.cells[0] == round_number
        assert len(list(terms.columns())) == 2
        cache.validate()


def test_columns_grow_with_the_table(cache: Cache) -> None:
    cache.apply_pod(holder())
    terms_of(cache).column(held_by(holder()))
    for number in range(cache.table.capacity):
        cache.apply_node(make_node(f"more-{number}"))
    cache.validate()


@pytest.mark.parametrize("notes", [4096, 4097])
def test_notes_are_worked_in_before_they_are_too_many(notes: int) -> None:
    cache = Cache(seed=0)
    cache.apply_node(make_node("n1"))
    for number in range(notes):
        cache.apply_pod(holder(f"p{number}"))

    assert len(cache.table.terms._notes) == (notes if notes <= 4096 else 0)
    assert terms_of(cache).counts() == {(held_by(holder()), 0): notes}
