from __future__ import annotations

from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.plugin import PreFilterResult
from scheduler.framework.pod_info import PodInfo
from scheduler.plugins.node_name import NodeName
from tests.support.builders import make_node, make_pod
from tests.support.plugin_runs import FITS, judge, table_of

OTHER = ("UnschedulableAndUnresolvable", ("node(s) didn't match the requested node name",))


def test_a_pod_that_names_no_node_fits_everywhere() -> None:
    table = table_of([make_node("a"), make_node("b")])
    plugin, pod = NodeName(), make_pod()
    assert plugin.pre_filter({}, PodInfo(pod), table.columns(plugin)) == PreFilterResult()
    assert judge(plugin, pod, table) == {"a": FITS, "b": FITS}


def test_a_pod_that_names_a_node_fits_only_there() -> None:
    table = table_of([make_node("a"), make_node("b"), make_node("ab")])
    plugin, pod = NodeName(), make_pod(node_name="b")
    assert plugin.pre_filter({}, PodInfo(pod), table.columns(plugin)).node_names == frozenset(("b",))
    assert judge(plugin, pod, table) == {"a": OTHER, "b": FITS, "ab": OTHER}


def test_a_node_that_does_not_exist_is_kept_as_a_restriction() -> None:
    table = table_of([make_node("a")])
    plugin, pod = NodeName(), make_pod(node_name="ghost")
    assert plugin.pre_filter({}, PodInfo(pod), table.columns(plugin)).node_names == frozenset(("ghost",))
    assert judge(plugin, pod, table) == {"a": OTHER}


def test_pods_that_name_different_nodes_differ_in_signature() -> None:
    signatures = [NodeName().sign(PodInfo(make_pod(node_name=name))) for name in ("", "a", "b")]
    assert len(set(signatures)) == 3


def test_a_new_node_may_be_the_one() -> None:
    assert NodeName().events_to_register() == (ClusterEvent(EventResource.NODE, ActionType.ADD),)
