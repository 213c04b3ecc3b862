"""Pods of a lower priority than another one, by node."""

from __future__ import annotations

import pytest

from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo
from tests.support.builders import make_node, make_pod


def pod(name: str, priority: int | None, node: str = "") -> PodInfo:
    return PodInfo(make_pod(name, priority=priority, node_name=node))


def below(cache: Cache, priority: int) -> dict[str, list[str]]:
    """By node, if there are any; whether there are any is told in another way too."""
    found = {
        node: [one.pod.metadata.name for one in cache.pods_below(node, priority)] for node in ("n1", "unknown", "no")
    }
    named = {node: names for node, names in found.items() if names}
    assert cache.has_pods_below(priority) == bool(named)
    return named


@pytest.fixture
def cache() -> Cache:
    """Pods of priority -1, none, 5 and 9 on n1 and on a node that is not known."""
    cache = Cache(seed=1)
    cache.apply_node(make_node("n1"))
    cache.apply_pod(pod("none", None, "n1"))
    cache.apply_pod(pod("low", -1, "unknown"))
    cache.assume(pod("mid", 5), "n1")
    cache.apply_pod(pod("high", 9, "n1"))
    return cache


@pytest.mark.parametrize(
    ("priority", "expected"),
    [
        (-1, {}),
        (0, {"unknown": ["low"]}),
        (1, {"n1": ["none"], "unknown": ["low"]}),
        (5, {"n1": ["none"], "unknown": ["low"]}),
        (6, {"n1": ["none", "mid"], "unknown": ["low"]}),
        (10, {"n1": ["none", "mid", "high"], "unknown": ["low"]}),
    ],
)
def test_pods_below_a_priority(cache: Cache, priority: int, expected: dict[str, list[str]]) -> None:
    """No priority is priority 0."""
    assert below(cache, priority) == expected


def test_what_is_gone_or_out_for_a_while_is_not_below(cache: Cache) -> None:
    cache.remove_pod("default-low")
    cache.forget("default-mid")
    out = cache.take_out("default-none")
    assert below(cache, 9) == {}
    cache.validate()

    cache.put_back(out)
    assert below(cache, 9) == {"n1": ["none"]}
    cache.validate()


def test_a_pod_that_is_shown_with_another_priority_counts_with_that(cache: Cache) -> None:
    cache.apply_pod(pod("high", None, "n1"))
    cache.apply_pod(pod("none", 20, "n1"))

    assert below(cache, 1) == {"n1": ["high"], "unknown": ["low"]}
    cache.validate()
