"""Sums of pods by domain that are followed change by change are those that are added up anew."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduler.api.objects import Affinity, LabelSelector, PodAffinity, PodAffinityTerm
from scheduler.api.selectors import compile_label_selector
from scheduler.cache.cache import Cache
from scheduler.cache.change_log import MOST
from scheduler.framework.domain_sums import Counted, DomainSums
from scheduler.framework.facet import Input
from scheduler.framework.plugin import Plugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.pod_match import PodMatch, PodSelection
from scheduler.framework.view import NodeView
from tests.support.builders import make_node, make_pod

NODES = 6
DOMAIN_OF = np.array([0, 1, 2, 1, 3, 2], np.intp)
"""Of each node's row; n0 is in none."""
WEB = LabelSelector(match_labels={"app": "web"})
MATCHING = PodMatch((PodSelection(None, compile_label_selector(WEB)),))
APART = Affinity(pod_anti_affinity=PodAffinity(required=[PodAffinityTerm(topology_key="zone", label_selector=WEB)]))
(HOLDING,) = PodInfo(make_pod(affinity=APART)).affinity_terms.held


class Counting(Plugin):
    name = "Counting"
    inputs = frozenset((Input.POD_COUNTS, Input.POD_TERMS))


def cluster() -> Cache:
    cache = Cache(seed=1)
    for number in range(NODES):
        cache.apply_node(make_node(f"n{number}"))
    return cache


def view(cache: Cache) -> NodeView:
    return cache.table.columns(Counting)


def sums_of(cache: Cache, *counted: Counted) -> DomainSums:
    return DomainSums(DOMAIN_OF, 4, counted, view(cache))


def put(cache: Cache, name: str, number: int, *, app: str = "web", is_apart: bool = False) -> None:
    pod = make_pod(name, node_name=f"n{number}", labels={"app": app}, affinity=APART if is_apart else None)
    cache.apply_pod(PodInfo(pod))


def test_pods_are_added_up_by_domain_and_those_of_no_domain_are_left_out() -> None:
    cache = cluster()
    for name, number in (("a", 0), ("b", 1), ("c", 3), ("d", 5)):
        put(cache, name, number)
    put(cache, "e", 4, app="db")

    assert sums_of(cache, MATCHING).values.tolist() == [0, 2, 1, 0]


def test_several_counts_are_added_to_each_other() -> None:
    cache = cluster()
    put(cache, "a", 1, is_apart=True)
    put(cache, "b", 4, app="db", is_apart=True)

    assert sums_of(cache, MATCHING, HOLDING).values.tolist() == [0, 2, 0, 1]


def test_following_tells_what_each_changed_sum_was() -> None:
    cache = cluster()
    put(cache, "a", 1)
    sums = sums_of(cache, MATCHING)
    put(cache, "b", 3)
    put(cache, "c", 3)
    put(cache, "d", 0)
    cache.remove_pod("default-a")
    put(cache, "e", 4)

    assert sums.follow(view(cache)) == {1: 1, 3: 0}
    assert sums.values.tolist() == [0, 2, 0, 1]


def test_nothing_changes_when_nothing_happens() -> None:
    cache = cluster()
    put(cache, "a", 1)
    sums = sums_of(cache, MATCHING, HOLDING)
    put(cache, "b", 1, app="db")

    assert sums.follow(view(cache)) == {}


def test_after_too_many_changes_all_is_added_up_anew() -> None:
    cache = cluster()
    sums = sums_of(cache, MATCHING)
    for number in range(MOST + 1):
        put(cache, f"p{number}", number % NODES)

    assert sums.follow(view(cache)) is None
    assert sums.values.tolist() == sums_of(cache, MATCHING).values.tolist()


@given(st.integers(0, 2**32))
def test_sums_that_are_followed_equal_new_ones(seed: int) -> None:
    random, cache = Random(seed), cluster()
    sums = sums_of(cache, MATCHING, HOLDING)
    for _ in range(random.randint(1, 8)):
        for _ in range(random.choice((0, 1, 1, 2, 5, 40))):
            number = random.randrange(20)
            if random.random() < 0.4:
                cache.remove_pod(f"default-p{number}")
            else:
                put(
                    cache,
                    f"p{number}",
                    random.randrange(NODES),
                    app=random.choice(("web", "db")),
                    is_apart=random.random() < 0.5,
                )
        before = sums.values.tolist()
        changed = sums.follow(view(cache))
        now = sums.values.tolist()
        assert now == sums_of(cache, MATCHING, HOLDING).values.tolist()
        if changed is not None:
            assert {domain: before[domain] for domain in changed} == changed
            assert all(domain in changed for domain in range(4) if before[domain] != now[domain])
