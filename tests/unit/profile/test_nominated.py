"""Which nodes refuse a pod beside those nominated there. Expected: kube-scheduler 1.37, RunFilterPluginsWithNominatedPods."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.api.objects import ContainerPort
from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code, Status
from scheduler.plugins.node_ports import NodePorts
from scheduler.plugins.node_resources_fit import NodeResourcesFit
from scheduler.profile.failure import PluginFailure
from scheduler.profile.nominated import refusals
from tests.support.builders import make_container, make_node, make_pod
from tests.support.scripted_plugins import Filter, PreFilter, make_profile, named, named_nodes

PROFILE = make_profile(NodeResourcesFit(), NodePorts())
NO_CPU = Status(Code.UNSCHEDULABLE, ("Insufficient cpu",), "NodeResourcesFit")


def info(name: str, cpu: str = "1", **fields: Any) -> PodInfo:
    return PodInfo(make_pod(name, requests={"cpu": cpu}, **fields))


@pytest.fixture
def cache() -> Cache:
    """n0 and n1 with 4 CPUs each, of which 1 is taken on n1."""
    cache = Cache(seed=1)
    cache.apply_node(make_node("n0"))
    cache.apply_node(make_node("n1"))
    cache.assume(info("seated"), "n1")
    return cache


def test_a_node_that_holds_all_of_them_does_not_refuse(cache: Cache) -> None:
    assert refusals(PROFILE, info("p"), cache, {"n0": [info("a", "2"), info("b", "1")]}) == {}


def test_nominated_pods_are_counted_together_and_with_those_that_are_there(cache: Cache) -> None:
    ahead = [info("a", "2"), info("b", "1")]

    assert refusals(PROFILE, info("p"), cache, {"n0": ahead, "n1": ahead}) == {cache.table.row_of("n1"): NO_CPU}


def test_a_nominated_pod_that_is_on_the_node_already_counts_once(cache: Cache) -> None:
    assert refusals(PROFILE, info("p", "3"), cache, {"n1": [info("seated")]}) == {}


def test_each_node_is_asked_about_its_own_nominated_pods(cache: Cache) -> None:
    found = refusals(PROFILE, info("p", "2"), cache, {"n0": [info("a", "3")], "n1": [info("b", "1")]})

    assert found == {cache.table.row_of("n0"): NO_CPU}


def test_host_ports_of_nominated_pods_are_taken(cache: Cache) -> None:
    web = [make_container(ports=[ContainerPort(host_port=80)])]
    found = refusals(
        PROFILE, PodInfo(make_pod("p", containers=web)), cache, {"n0": [PodInfo(make_pod("a", containers=web))]}
    )

    assert {row: status.plugin for row, status in found.items()} == {cache.table.row_of("n0"): "NodePorts"}


def test_a_node_that_is_not_there_is_passed_over(cache: Cache) -> None:
    assert refusals(PROFILE, info("p"), cache, {"gone": [info("a", "4")]}) == {}


def test_a_node_that_prefilter_leaves_out_is_left_to_it(cache: Cache) -> None:
    """It gives the same reason whether there are nominated pods or not."""
    names = named(PreFilter, "Names", result=named_nodes(["n0"]))

    assert refusals(make_profile(names), info("p"), cache, {"n1": [info("a")]}) == {}


def test_the_cache_is_as_before(cache: Cache) -> None:
    before = cache.table.position
    refusals(PROFILE, info("p"), cache, {"n0": [info("a", "4")], "n1": [info("b", "4")]})

    assert cache.table.position == before
    assert [seated.pod.pod.metadata.name for seated in cache.pods_on("n1")] == ["seated"]
    cache.validate()


def test_a_plugin_that_fails_is_named(cache: Cache) -> None:
    broken = named(Filter, "Broken", error=RuntimeError("no"))
    with pytest.raises(PluginFailure, match='running "Broken" filter plugin: no'):
        refusals(make_profile(broken), info("p"), cache, {"n0": [info("a")]})
