"""Pods by node that a selector matches: kept while pods and nodes come, change and go."""

from __future__ import annotations

from typing import Any

import msgspec

from scheduler.api.objects import LabelSelector
from scheduler.api.selectors import compile_label_selector
from scheduler.cache.cache import Cache
from scheduler.cache.pod_counts import PodCounts
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.pod_match import PodMatch, PodSelection
from tests.support.builders import make_node, make_pod


def selection(labels: dict[str, str] | None = None, namespaces: tuple[str, ...] | None = ("default",)) -> PodSelection:
    matcher = compile_label_selector(LabelSelector(match_labels=labels or {}))
    return PodSelection(None if namespaces is None else frozenset(namespaces), matcher)


WEB = PodMatch((selection({"app": "web"}),))


def pod(name: str, node_name: str = "n0", *, app: str = "web", **other: Any) -> PodInfo:
    return PodInfo(make_pod(name, node_name=node_name, labels={"app": app}, **other))


def cluster(*pods: PodInfo) -> Cache:
    cache = Cache(seed=1)
    for name in ("n0", "n1", "n2"):
        cache.apply_node(make_node(name))
    for one in pods:
        cache.apply_pod(one)
    return cache


def counts(cache: Cache, match: PodMatch = WEB) -> list[int]:
    found: list[int] = cache.table.pods.column(match).column.values[: cache.table.size].tolist()
    cache.validate()
    return found


def test_pods_there_before_the_first_question_count() -> None:
    assert counts(cluster(pod("a"), pod("b"), pod("c", "n2"), pod("d", app="db"))) == [2, 0, 1]


def test_pods_that_come_later_count() -> None:
    cache = cluster(pod("a"))
    assert counts(cache) == [1, 0, 0]
    cache.assume(pod("b", ""), "n1")
    assert counts(cache) == [1, 1, 0]


def test_pods_that_leave_count_no_more() -> None:
    cache = cluster(pod("a"), pod("b"))
    assert counts(cache) == [2, 0, 0]
    cache.remove_pod("default-a")
    assert counts(cache) == [1, 0, 0]


def test_pods_whose_labels_change_are_looked_at_anew() -> None:
    cache = cluster(pod("a"), pod("b"))
    assert counts(cache) == [2, 0, 0]
    cache.apply_pod(pod("a", app="db"))
    assert counts(cache) == [1, 0, 0]


def test_pods_of_other_namespaces_do_not_count() -> None:
    cache = cluster(pod("a"), pod("b", namespace="other"))
    assert counts(cache) == [1, 0, 0]
    assert counts(cache, PodMatch((selection({"app": "web"}, ("default", "other")),))) == [2, 0, 0]
    assert counts(cache, PodMatch((selection({"app": "web"}, None),))) == [2, 0, 0]


def test_pods_being_deleted_count_where_they_are_meant_to() -> None:
    cache = cluster(pod("a"), pod("b", deletion_timestamp="2030-01-01T00:00:00Z"))
    assert counts(cache, WEB) == [2, 0, 0]
    assert counts(cache, msgspec.structs.replace(WEB, counts_terminating=False)) == [1, 0, 0]


def test_a_pod_has_to_be_in_every_selection() -> None:
    cache = cluster(pod("a"), pod("b", app="db"))
    both = PodMatch((selection({"app": "web"}), selection({}, ("default", "other"))))
    assert counts(cache, both) == [1, 0, 0]


def test_a_null_selector_matches_no_pod() -> None:
    nothing = PodMatch((PodSelection(None, compile_label_selector(None)),))
    assert counts(cluster(pod("a")), nothing) == [0, 0, 0]


def test_pods_of_a_removed_node_do_not_count_and_count_again_when_it_is_back() -> None:
    cache = cluster(pod("a", "n1"))
    assert counts(cache) == [0, 1, 0]
    cache.remove_node("n1")
    assert counts(cache) == [0, 0, 0]
    cache.apply_node(make_node("n1"))
    assert counts(cache) == [0, 1, 0]


def test_counts_survive_more_nodes_than_the_first_arrays_hold() -> None:
    cache = cluster(pod("a"))
    assert counts(cache) == [1, 0, 0]
    for number in range(3, 100):
        cache.apply_node(make_node(f"n{number}"))
    cache.apply_pod(pod("b", "n99"))
    assert counts(cache) == [1, *[0] * 98, 1]


def test_the_version_changes_with_matching_pods_only() -> None:
    cache = cluster(pod("a"))
    version = cache.table.pods.column(WEB).version
    cache.apply_pod(pod("b", app="db"))
    assert cache.table.pods.column(WEB).version == version
    cache.apply_pod(pod("c"))
    assert cache.table.pods.column(WEB).version != version


def test_a_column_that_was_dropped_comes_back_with_what_happened_since_and_a_new_version() -> None:
    held = PodCounts(64, columns=2)
    held.add(0, pod("a"))
    version = held.column(WEB).version
    for app in ("db", "cache"):
        held.column(PodMatch((selection({"app": app}),)))
    held.add(1, pod("b"))

    again = held.column(WEB)
    assert again.column.values[:3].tolist() == [1, 1, 0]
    assert again.version != version
    held.add(2, pod("c"))
    assert held.column(WEB).column.values[:3].tolist() == [1, 1, 1]


def test_many_pods_nobody_asks_about_are_worked_in_before_they_pile_up() -> None:
    held = PodCounts(64)
    for number in range(5000):
        held.add(number % 64, pod(f"p{number}"))
    assert len(held._notes) < 5000
    assert int(held.column(WEB).column.values.sum()) == 5000
