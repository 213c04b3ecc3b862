"""InterPodAffinity's Filter (kube-scheduler 1.37: interpodaffinity/filtering.go)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from scheduler.api.objects import Namespace, Node, Pod
from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code, Status
from scheduler.plugins.inter_pod_affinity import InterPodAffinity
from tests.support.builders import make_node, make_pod
from tests.support.plugin_runs import FITS, Refusal, judge
from tests.support.pod_affinity import affinity, namespace, term, weighted

AFFINITY: Refusal = ("UnschedulableAndUnresolvable", ("node(s) didn't match pod affinity rules",))
ANTI_AFFINITY: Refusal = ("Unschedulable", ("node(s) didn't match pod anti-affinity rules",))
EXISTING: Refusal = ("Unschedulable", ("node(s) didn't satisfy existing pods anti-affinity rules",))

WEB = {"app": "web"}
ALL: dict[str, Any] = {}
TEAM_A = {"matchLabels": {"team": "a"}}


def three_zones() -> list[Node]:
    """a1 and a2 in zone a, b1 in zone b, none without a zone."""
    zones = {"a1": "a", "a2": "a", "b1": "b"}
    return [*(make_node(name, labels={"zone": zone}) for name, zone in zones.items()), make_node("none")]


def cluster(nodes: Iterable[Node], pods: Iterable[Pod] = (), namespaces: Iterable[Namespace] = ()) -> Cache:
    cache = Cache(seed=1)
    for each in namespaces:
        cache.apply_namespace(each)
    for node in nodes:
        cache.apply_node(node)
    for pod in pods:
        cache.apply_pod(PodInfo(pod))
    return cache


def verdicts(
    pod: Pod, pods: Iterable[Pod] = (), namespaces: Iterable[Namespace] = (), nodes: Iterable[Node] | None = None
) -> dict[str, Refusal]:
    cache = cluster(three_zones() if nodes is None else nodes, pods, namespaces)
    return judge(InterPodAffinity(), pod, cache.table)


def prefilter(pod: Pod, pods: Iterable[Pod] = (), namespaces: Iterable[Namespace] = ()) -> Status:
    table = cluster(three_zones(), pods, namespaces).table
    return InterPodAffinity().pre_filter({}, PodInfo(pod), table.columns(InterPodAffinity)).status


def all_of(refusal: Refusal) -> dict[str, Refusal]:
    return dict.fromkeys(("a1", "a2", "b1", "none"), refusal)


def test_required_affinity_wants_a_matching_pod_in_the_domain_and_the_label_on_the_node() -> None:
    found = verdicts(make_pod(affinity=affinity(near=(term(),))), [make_pod("w", labels=WEB, node_name="a1")])

    assert found == {"a1": FITS, "a2": FITS, "b1": AFFINITY, "none": AFFINITY}


def test_required_anti_affinity_wants_none_there_and_does_not_mind_a_missing_label() -> None:
    found = verdicts(make_pod(affinity=affinity(apart=(term(),))), [make_pod("w", labels=WEB, node_name="a1")])

    assert found == {"a1": ANTI_AFFINITY, "a2": ANTI_AFFINITY, "b1": FITS, "none": FITS}


def test_anti_affinity_of_a_pod_there_refuses_its_domain() -> None:
    holder = make_pod("h", node_name="a1", affinity=affinity(apart=(term(),)))

    assert verdicts(make_pod(labels=WEB), [holder]) == {"a1": EXISTING, "a2": EXISTING, "b1": FITS, "none": FITS}


def test_affinity_refuses_before_anti_affinity_and_that_before_the_pods_there() -> None:
    against = make_pod(
        "h", labels=WEB, node_name="a1", affinity=affinity(apart=(term(), term("kubernetes.io/hostname")))
    )
    near_db = term(selector={"matchLabels": {"app": "db"}})

    both = make_pod(labels=WEB, affinity=affinity(apart=(term("kubernetes.io/hostname"),)))
    assert verdicts(both, [against]) == {"a1": ANTI_AFFINITY, "a2": EXISTING, "b1": FITS, "none": FITS}
    all_three = make_pod(labels=WEB, affinity=affinity(near=(near_db,), apart=(term("kubernetes.io/hostname"),)))
    db = make_pod("d", labels={"app": "db"}, node_name="a2")
    assert verdicts(all_three, [against, db]) == {"a1": ANTI_AFFINITY, "a2": EXISTING, "b1": AFFINITY, "none": AFFINITY}


def test_one_pod_has_to_match_all_affinity_terms() -> None:
    """One pod for each of the terms is not enough; each term then asks for its own domain."""
    near = (term("zone"), term("kubernetes.io/hostname", {"matchLabels": {"tier": "front"}}))
    pod = make_pod(affinity=affinity(near=near))
    apart = [
        make_pod("w", labels=WEB, node_name="a1"),
        make_pod("f", labels={"tier": "front"}, node_name="a1"),
    ]
    assert verdicts(pod, apart) == all_of(AFFINITY)

    one = make_pod("x", labels={"app": "web", "tier": "front"}, node_name="a2")
    assert verdicts(pod, [*apart, one]) == {"a1": AFFINITY, "a2": FITS, "b1": AFFINITY, "none": AFFINITY}


def test_any_anti_affinity_term_refuses() -> None:
    apart = (term("zone"), term("kubernetes.io/hostname", {"matchLabels": {"tier": "front"}}))
    pods = [make_pod("w", labels=WEB, node_name="a1"), make_pod("f", labels={"tier": "front"}, node_name="b1")]

    found = verdicts(make_pod(affinity=affinity(apart=apart)), pods)
    assert found == {"a1": ANTI_AFFINITY, "a2": ANTI_AFFINITY, "b1": ANTI_AFFINITY, "none": FITS}


def test_two_anti_affinity_terms_of_one_label_both_count() -> None:
    apart = (term(), term(selector={"matchLabels": {"app": "db"}}))
    pods = [make_pod("w", labels=WEB, node_name="a1"), make_pod("d", labels={"app": "db"}, node_name="b1")]

    found = verdicts(make_pod(affinity=affinity(apart=apart)), pods)
    assert found == {"a1": ANTI_AFFINITY, "a2": ANTI_AFFINITY, "b1": ANTI_AFFINITY, "none": FITS}


# The first pod of a series


def test_the_first_pod_that_matches_its_own_terms_fits_where_the_labels_are() -> None:
    pod = make_pod(labels=WEB, affinity=affinity(near=(term(),)))

    assert verdicts(pod) == {"a1": FITS, "a2": FITS, "b1": FITS, "none": AFFINITY}


def test_a_pod_that_does_not_match_its_own_terms_is_never_the_first() -> None:
    assert verdicts(make_pod(affinity=affinity(near=(term(),)))) == all_of(AFFINITY)


def test_the_second_pod_goes_to_the_first() -> None:
    pod = make_pod(labels=WEB, affinity=affinity(near=(term(),)))

    found = verdicts(pod, [make_pod("w", labels=WEB, node_name="a1")])
    assert found == {"a1": FITS, "a2": FITS, "b1": AFFINITY, "none": AFFINITY}


def test_a_matching_pod_on_a_node_without_the_label_is_no_first_pod() -> None:
    """Trap: what counts is whether any domain has one, not whether there is one."""
    pod = make_pod(labels=WEB, affinity=affinity(near=(term(),)))

    found = verdicts(pod, [make_pod("w", labels=WEB, node_name="none")])
    assert found == {"a1": FITS, "a2": FITS, "b1": FITS, "none": AFFINITY}


def test_a_first_pod_with_several_terms_matches_all_of_them_and_has_every_label() -> None:
    """kubernetes#129319: no pod there matches all the terms, the pod matches them itself, the node has all labels."""
    front = term("rack", {"matchLabels": {"tier": "front"}})
    nodes = [
        make_node("both", labels={"zone": "a", "rack": "1"}),
        make_node("zone", labels={"zone": "b"}),
        make_node("rack", labels={"rack": "2"}),
    ]
    rules = affinity(near=(term(), front))
    half = make_pod("w", labels=WEB, node_name="both")  # matches one of the terms only
    expected = {"both": FITS, "zone": AFFINITY, "rack": AFFINITY}

    assert verdicts(make_pod(labels={"app": "web", "tier": "front"}, affinity=rules), [half], nodes=nodes) == expected
    assert set(verdicts(make_pod(labels=WEB, affinity=rules), [half], nodes=nodes).values()) == {AFFINITY}


def test_a_domain_of_one_of_the_labels_ends_the_series_for_all() -> None:
    """The pod that matches sits where only one of the two labels is."""
    front = term("rack", {"matchLabels": {"tier": "front"}})
    nodes = [make_node("both", labels={"zone": "a", "rack": "1"}), make_node("zone", labels={"zone": "b"})]
    labels = {"app": "web", "tier": "front"}
    pod = make_pod(labels=labels, affinity=affinity(near=(term(), front)))

    found = verdicts(pod, [make_pod("x", labels=labels, node_name="zone")], nodes=nodes)
    assert found == {"both": AFFINITY, "zone": AFFINITY}


def test_a_first_pod_of_another_namespace_than_the_terms_are_about_is_none() -> None:
    pod = make_pod(labels=WEB, affinity=affinity(near=(term(namespaces=["elsewhere"]),)))

    assert verdicts(pod) == all_of(AFFINITY)


# Namespaces


def test_terms_without_namespaces_are_about_the_own_namespace() -> None:
    """kubernetes#45484: pods of two namespaces with the same labels do not see each other."""
    rules = affinity(apart=(term("kubernetes.io/hostname"),))
    other = make_pod("w", namespace="elsewhere", labels=WEB, node_name="a1", affinity=rules)

    assert prefilter(make_pod(labels=WEB), [other]).code is Code.SKIP
    assert verdicts(make_pod(labels=WEB, affinity=rules), [other]) == all_of(FITS)
    own = make_pod("v", labels=WEB, node_name="a2")
    assert verdicts(make_pod(affinity=rules), [other, own])["a2"] == ANTI_AFFINITY


@pytest.mark.parametrize(
    ("fields", "counted"),
    [
        ({}, {"default"}),
        ({"namespaces": []}, {"default"}),
        ({"namespaces": ["red", "ghost"]}, {"red", "ghost"}),
        ({"namespaceSelector": ALL}, {"default", "red", "blue", "ghost"}),
        ({"namespaceSelector": TEAM_A}, {"red"}),
        ({"namespaces": ["blue"], "namespaceSelector": TEAM_A}, {"red", "blue"}),
        ({"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}}, {"default"}),
    ],
    ids=["none", "empty list", "listed", "all", "selected", "both", "known ones only"],
)
def test_own_terms_are_about_these_namespaces(fields: dict[str, Any], counted: set[str]) -> None:
    """A selector stands for the namespaces that are known; the empty one for any."""
    known = [namespace("default"), namespace("red", team="a"), namespace("blue", team="b")]
    pod = make_pod(affinity=affinity(apart=(term(**fields),)))
    for name in ("default", "red", "blue", "ghost"):
        found = verdicts(pod, [make_pod("w", namespace=name, labels=WEB, node_name="b1")], known)
        assert found["b1"] == (ANTI_AFFINITY if name in counted else FITS), name


@pytest.mark.parametrize(
    ("fields", "labels", "refused"),
    [
        ({}, {}, False),
        ({"namespaces": ["default"]}, {}, True),
        ({"namespaceSelector": ALL}, None, True),
        ({"namespaceSelector": TEAM_A}, {"team": "a"}, True),
        ({"namespaceSelector": TEAM_A}, {"team": "b"}, False),
        ({"namespaceSelector": TEAM_A}, None, False),
        ({"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}}, None, True),
    ],
    ids=["its own", "listed", "all", "selected", "not selected", "not known", "not known and without labels"],
)
def test_terms_of_a_pod_elsewhere_are_matched_with_the_labels_of_the_namespace(
    fields: dict[str, Any], labels: dict[str, str] | None, refused: bool
) -> None:
    """A namespace that is not known has no labels."""
    holder = make_pod("h", namespace="elsewhere", node_name="b1", affinity=affinity(apart=(term(**fields),)))
    known = [] if labels is None else [namespace("default", **labels)]
    status = prefilter(make_pod(labels=WEB), [holder], known)

    assert status.code is (Code.SUCCESS if refused else Code.SKIP)
    if refused:
        assert verdicts(make_pod(labels=WEB), [holder], known)["b1"] == EXISTING


def test_a_null_label_selector_matches_no_pod_and_an_empty_one_every_pod() -> None:
    there = make_pod("w", labels=WEB, node_name="a1")
    null = {"topologyKey": "zone"}

    assert verdicts(make_pod(affinity=affinity(apart=(null,))), [there]) == all_of(FITS)
    assert verdicts(make_pod(affinity=affinity(near=(null,))), [there]) == all_of(AFFINITY)
    assert verdicts(make_pod(affinity=affinity(apart=(term(selector=ALL),))), [there])["a2"] == ANTI_AFFINITY


def test_pods_that_are_being_deleted_count() -> None:
    going = make_pod("w", labels=WEB, node_name="a1", deletion_timestamp="2026-01-01T00:00:00Z")

    assert verdicts(make_pod(affinity=affinity(apart=(term(),))), [going])["a2"] == ANTI_AFFINITY


# Nothing to look at


def test_a_pod_without_required_terms_is_skipped_while_no_pod_is_against_it() -> None:
    against_db = make_pod(
        "h", node_name="a1", affinity=affinity(apart=(term(selector={"matchLabels": {"app": "db"}}),))
    )
    no_label = make_pod("i", node_name="none", affinity=affinity(apart=(term(),)))
    preferring = make_pod("j", node_name="a1", affinity=affinity(near=(term(),), prefer_apart=(weighted(5, term()),)))

    assert prefilter(make_pod(labels=WEB), [against_db, no_label, preferring]).code is Code.SKIP
    assert prefilter(make_pod(labels={"app": "db"}), [against_db]).code is Code.SUCCESS
    assert prefilter(make_pod(affinity=affinity(prefer_near=(weighted(5, term()),)))).code is Code.SKIP
    assert prefilter(make_pod(affinity=affinity(apart=(term(),)))).code is Code.SUCCESS


def test_own_rules_that_cannot_be_read_leave_no_node() -> None:
    bad = term(selector={"matchExpressions": [{"key": "app", "operator": "Sideways"}]})
    text = '"Sideways" is not a valid label selector operator'

    status = prefilter(make_pod(affinity=affinity(prefer_near=(weighted(1, bad),))))
    assert (status.code, status.message) == (
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        f"parsing pod: preferredAffinityTerms: {text}",
    )
    status = prefilter(make_pod(affinity=affinity(near=(bad,), apart=(bad,))))
    assert status.message == f"parsing pod: [requiredAffinityTerms: {text}, requiredAntiAffinityTerms: {text}]"


def test_rules_of_others_that_cannot_be_read_are_left_out_with_their_list() -> None:
    bad = term(selector={"matchExpressions": [{"key": "app", "operator": "Sideways"}]})

    assert prefilter(
        make_pod(labels=WEB), [make_pod("h", node_name="a1", affinity=affinity(apart=(term(), bad)))]
    ).code is (Code.SKIP)
    holder = make_pod("h", node_name="a1", affinity=affinity(apart=(term(),), near=(bad,)))
    assert prefilter(make_pod(labels=WEB), [holder]).code is Code.SUCCESS
