"""What InterPodAffinity answers from an evaluation that is kept is what it answers in a new one, after anything it looks at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scheduler.api.objects import Pod
from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code
from scheduler.plugins.inter_pod_affinity import InterPodAffinity
from scheduler.profile.evaluation import Evaluation
from tests.support.builders import HOSTNAME, make_node, make_pod
from tests.support.pod_affinity import affinity, namespace, term, weighted
from tests.support.scripted_plugins import make_profile

WEB, DB = {"app": "web"}, {"app": "db"}
OF_DB = {"matchLabels": DB}
TEAM_A = {"matchLabels": {"team": "a"}}
PROFILE = make_profile(InterPodAffinity())
DELETED = "2026-01-01T00:00:00Z"


def cluster() -> Cache:
    """a1, a2 in zone a with a web pod on a1; b1 in zone b with a db pod; one of another namespace on c1 of no zone."""
    cache = Cache(seed=1)
    for name, team in (("default", "b"), ("red", "a"), ("blue", "b")):
        cache.apply_namespace(namespace(name, team=team))
    for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("c1", "")):
        cache.apply_node(make_node(name, labels={"zone": zone} if zone else {}))
    cache.apply_pod(PodInfo(make_pod("web", labels=WEB, node_name="a1")))
    cache.apply_pod(PodInfo(make_pod("db", labels=DB, node_name="b1")))
    cache.apply_pod(PodInfo(make_pod("red", namespace="red", labels=WEB, node_name="c1")))
    return cache


def answers(evaluation: Evaluation, cache: Cache) -> dict[str, Any]:
    evaluation.refresh()
    names = {name: cache.table.rows[name] for name in sorted(cache.table.rows)}
    found: dict[str, Any] = {name: evaluation.status(row) for name, row in names.items()}
    if evaluation.feasible_count > 1:
        evaluation.refresh_scores()
        feasible = {name: row for name, row in names.items() if found[name].code is Code.SUCCESS}
        found["scores"] = {name: evaluation.scores(row) for name, row in feasible.items()}
    return found


def put(
    cache: Cache, name: str = "new", node_name: str = "a2", labels: dict[str, str] | None = None, **fields: Any
) -> None:
    cache.apply_pod(PodInfo(make_pod(name, node_name=node_name, labels=labels, **fields)))


PODS: dict[str, Pod] = {
    "plain": make_pod("p", labels=WEB),
    "near": make_pod("p", affinity=affinity(near=(term(),))),
    "first of its kind": make_pod(
        "p", labels={"app": "new"}, affinity=affinity(near=(term(selector={"matchLabels": {"app": "new"}}),))
    ),
    "near by two labels": make_pod("p", affinity=affinity(near=(term(), term(HOSTNAME)))),
    "apart": make_pod("p", affinity=affinity(apart=(term(), term(HOSTNAME, OF_DB)))),
    "apart in selected namespaces": make_pod("p", affinity=affinity(apart=(term(HOSTNAME, namespaceSelector=TEAM_A),))),
    "preferring": make_pod(
        "p", affinity=affinity(prefer_near=(weighted(5, term()),), prefer_apart=(weighted(2, term(HOSTNAME, OF_DB)),))
    ),
    "preferring in selected namespaces": make_pod(
        "p", affinity=affinity(prefer_near=(weighted(5, term(HOSTNAME, namespaceSelector=TEAM_A)),))
    ),
}

AGAINST_WEB = affinity(apart=(term(),), prefer_near=(weighted(9, term(HOSTNAME)),), near=(term(),))

CHANGES: dict[str, Callable[[Cache], object]] = {
    "a web pod comes": lambda cache: put(cache, labels=WEB, node_name="b1"),
    "a web pod comes to a node without the label": lambda cache: put(cache, labels=WEB, node_name="c1"),
    "a web pod is assumed": lambda cache: cache.assume(PodInfo(make_pod("new", labels=WEB)), "b1"),
    "the web pod goes": lambda cache: cache.remove_pod("default-web"),
    "the web pod gets other labels": lambda cache: put(cache, "web", "a1", DB),
    "the db pod gets other labels": lambda cache: put(cache, "db", "b1", WEB),
    "the web pod is being deleted": lambda cache: put(cache, "web", "a1", WEB, deletion_timestamp=DELETED),
    "a first pod of its kind comes": lambda cache: put(cache, labels={"app": "new"}, node_name="b1"),
    "a pod against web comes": lambda cache: put(cache, affinity=AGAINST_WEB),
    "a pod against others comes": lambda cache: put(cache, affinity=affinity(apart=(term(selector=OF_DB),))),
    "a pod of another namespace against web of team b comes": lambda cache: put(
        cache, namespace="blue", affinity=affinity(apart=(term(namespaceSelector={"matchLabels": {"team": "b"}}),))
    ),
    "a node gets another label": lambda cache: cache.apply_node(make_node("b1", labels={"zone": "a"})),
    "a node loses its label": lambda cache: cache.apply_node(make_node("a1")),
    "a node gets a label that no node had": lambda cache: cache.apply_node(make_node("c1", labels={"zone": "c"})),
    "a node comes": lambda cache: cache.apply_node(make_node("b2", labels={"zone": "b"})),
    "a node goes": lambda cache: cache.remove_node("a1"),
    "a node is another one": lambda cache: cache.apply_node(make_node("a1", uid="other", labels={"zone": "b"})),
    "namespaces get other labels": lambda cache: [
        cache.apply_namespace(namespace(name, team=team)) for name, team in (("red", "b"), ("default", "a"))
    ],
    "a namespace goes": lambda cache: cache.remove_namespace("red"),
    "a namespace comes": lambda cache: cache.apply_namespace(namespace("green", team="a")),
    "a namespace is labelled": lambda cache: cache.apply_namespace(namespace("default", team="a")),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("pod", PODS)
def test_a_kept_evaluation_is_as_a_new_one(pod: str, change: str) -> None:
    cache, info = cluster(), PodInfo(PODS[pod])
    kept = Evaluation(PROFILE, info, cache.table)
    answers(kept, cache)

    CHANGES[change](cache)
    assert answers(kept, cache) == answers(Evaluation(PROFILE, info, cache.table), cache)
    for other, apply in CHANGES.items():
        if other not in ("a web pod is assumed", change):
            apply(cache)
            assert answers(kept, cache) == answers(Evaluation(PROFILE, info, cache.table), cache), other


def test_another_holder_of_a_term_is_met_as_well() -> None:
    """Nothing but the pods that hold the term has changed."""
    cache, info = cluster(), PodInfo(PODS["plain"])
    put(cache, "first", "a1", affinity=AGAINST_WEB)
    kept = Evaluation(PROFILE, info, cache.table)
    before = answers(kept, cache)
    put(cache, "second", "b1", affinity=AGAINST_WEB)
    both = answers(kept, cache)
    assert both == answers(Evaluation(PROFILE, info, cache.table), cache) != before

    cache.remove_pod("default-second")
    assert answers(kept, cache) == before


@pytest.mark.parametrize(
    ("pod", "change", "matters"),
    [
        ("near", "a web pod comes", True),
        ("near", "the web pod goes", True),
        ("near", "the db pod gets other labels", True),
        ("near", "a node gets another label", True),
        ("first of its kind", "a first pod of its kind comes", True),
        ("first of its kind", "a web pod comes", False),
        ("apart", "the web pod goes", True),
        ("apart in selected namespaces", "namespaces get other labels", True),
        ("plain", "a pod against web comes", True),
        ("plain", "a pod against others comes", False),
        ("plain", "a pod of another namespace against web of team b comes", True),
        ("preferring", "a web pod comes", True),
        ("preferring in selected namespaces", "a namespace goes", True),
        ("preferring", "a namespace comes", False),
    ],
)
def test_the_changes_matter(pod: str, change: str, matters: bool) -> None:
    cache = cluster()
    kept = Evaluation(PROFILE, PodInfo(PODS[pod]), cache.table)
    before = answers(kept, cache)
    CHANGES[change](cache)

    assert (answers(kept, cache) != before) is matters


def tokens(pod: Pod, change: Callable[[Cache], object]) -> tuple[bool, bool]:
    """Whether the tokens of Filter and Score are others after the change."""
    cache, plugin, info = cluster(), InterPodAffinity(), PodInfo(pod)
    states: tuple[dict[str, Any], dict[str, Any]] = ({}, {})

    def now() -> tuple[Any, Any]:
        nodes = cache.table.columns(plugin)
        return plugin.filter_token(states[0], info, nodes), plugin.score_token(states[1], info, nodes)

    before = now()
    change(cache)
    after = now()
    return before[0] != after[0], before[1] != after[1]


@pytest.mark.parametrize(
    ("pod", "change", "moved"),
    [
        ("plain", "a web pod comes", (False, False)),
        ("plain", "a node gets another label", (False, False)),
        ("plain", "namespaces get other labels", (False, False)),
        ("plain", "a pod against web comes", (True, True)),
        ("plain", "a pod against others comes", (True, False)),
        ("apart", "a web pod comes", (True, False)),
        ("apart", "a first pod of its kind comes", (False, False)),
        ("apart", "a namespace comes", (False, False)),
        ("apart", "a node gets another label", (True, False)),
        ("apart in selected namespaces", "a namespace comes", (True, False)),
        ("preferring", "a web pod comes", (False, True)),
    ],
)
def test_tokens_move_with_what_matters_to_them(pod: str, change: str, moved: tuple[bool, bool]) -> None:
    assert tokens(PODS[pod], CHANGES[change]) == moved


def test_terms_of_others_that_are_not_about_the_pod_move_no_token_but_with_the_first_and_the_last_of_them() -> None:
    """Pods of one template come and go all the time."""
    of_db = affinity(apart=(term(selector=OF_DB),))

    def first(cache: Cache) -> None:
        put(cache, "first", affinity=of_db)

    cache, plugin, info = cluster(), InterPodAffinity(), PodInfo(PODS["plain"])
    first(cache)
    before = plugin.filter_token({}, info, cache.table.columns(plugin))
    put(cache, "second", node_name="b1", affinity=of_db)
    cache.remove_pod("default-first")
    assert plugin.filter_token({}, info, cache.table.columns(plugin)) == before
    cache.remove_pod("default-second")
    assert plugin.filter_token({}, info, cache.table.columns(plugin)) != before
