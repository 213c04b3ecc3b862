"""Views: what a plugin sees of the table, as columns and as one row, and what it may not see."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from scheduler.api.objects import (
    Affinity,
    ContainerPort,
    LabelSelector,
    Namespace,
    ObjectMeta,
    PodAffinity,
    PodAffinityTerm,
    Taint,
    Volume,
)
from scheduler.api.selectors import LabelMatcher
from scheduler.api.volume_sources import AWSElasticBlockStoreVolumeSource
from scheduler.cache.cache import Cache
from scheduler.cache.views import NEEDS, row_view_of
from scheduler.framework.affinity_terms import REQUIRED_ANTI_AFFINITY, AffinityTerm, HeldTerm
from scheduler.framework.facet import ALL_FACETS, Facet, Input, UndeclaredReadError
from scheduler.framework.plugin import Plugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.pod_match import PodMatch
from scheduler.framework.view import NodeView
from tests.support.builders import HOSTNAME, make_container, make_node, make_pod
from tests.support.view_plugins import Everything, Nothing, Resources

GPU = "example.com/gpu"
FPGA = "example.com/fpga"
APP = "registry.example/app:1"
GI = 2**30
DEDICATED = Taint(key="dedicated", value="db", effect="NoSchedule")

DISK = Volume(name="disk", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="vol-1"))
ALL_PODS = PodMatch(())
HELD = HeldTerm(
    REQUIRED_ANTI_AFFINITY, 0, AffinityTerm("zone", ("default",), LabelMatcher(nothing=True), LabelMatcher())
)

USES: dict[str, Callable[[NodeView], Any]] = {
    "is_named": lambda nodes: nodes.is_named("n1"),
    "allocatable": lambda nodes: nodes.allocatable("cpu"),
    "requested": lambda nodes: nodes.requested("cpu"),
    "non_zero_requested": lambda nodes: nodes.non_zero_requested("cpu"),
    "usage": lambda nodes: nodes.usage("cpu"),
    "non_zero_usage": lambda nodes: nodes.non_zero_usage("cpu"),
    "pod_count": lambda nodes: nodes.pod_count,
    "allowed_pods": lambda nodes: nodes.allowed_pods,
    "unschedulable": lambda nodes: nodes.unschedulable,
    "taints": lambda nodes: nodes.taints,
    "taint_sets": lambda nodes: nodes.taint_sets,
    "features": lambda nodes: nodes.features,
    "feature_lists": lambda nodes: nodes.feature_lists,
    "label": lambda nodes: nodes.label("zone"),
    "label_ids": lambda nodes: nodes.label_ids("zone"),
    "port_conflicts": lambda nodes: nodes.port_conflicts("0.0.0.0", "TCP", 80),
    "image_size": lambda nodes: nodes.image_size(APP),
    "image_holders": lambda nodes: nodes.image_holders(APP),
    "image_version": lambda nodes: nodes.image_version(APP),
    "node_name": lambda nodes: nodes.node_name(0),
    "disk_conflicts": lambda nodes: nodes.disk_conflicts(DISK),
    "attached_volumes": lambda nodes: nodes.attached_volumes("ebs.csi.aws.com"),
    "uses_volume": lambda nodes: nodes.uses_volume("ebs.csi.aws.com/disk"),
    "failing_volumes": lambda nodes: nodes.failing_volumes,
    "pods_with_volumes": lambda nodes: nodes.pods_with_volumes(0),
    "has_csi_node": lambda nodes: nodes.has_csi_node,
    "has_csi_limits": lambda nodes: nodes.has_csi_limits,
    "csi_limit": lambda nodes: nodes.csi_limit("ebs.csi.aws.com"),
    "has_csi_driver": lambda nodes: nodes.has_csi_driver("ebs.csi.aws.com"),
    "storage": lambda nodes: nodes.storage,
    "total_nodes": lambda nodes: nodes.total_nodes,
    "domain_version": lambda nodes: nodes.domain_version,
    "matching_pods": lambda nodes: nodes.matching_pods(ALL_PODS),
    "matching_version": lambda nodes: nodes.matching_version(ALL_PODS),
    "matching_changes": lambda nodes: nodes.matching_changes(ALL_PODS, 0),
    "reaching_terms": lambda nodes: nodes.reaching_terms("default"),
    "term_holders": lambda nodes: nodes.term_holders(HELD),
    "term_version": lambda nodes: nodes.term_version(HELD),
    "term_changes": lambda nodes: nodes.term_changes(HELD, 0),
    "selects_namespaces": lambda nodes: nodes.selects_namespaces,
    "matching_namespaces": lambda nodes: nodes.matching_namespaces(LabelMatcher()),
    "namespaces_version": lambda nodes: nodes.namespaces_version,
    "deduced_selector": lambda nodes: nodes.deduced_selector(PodInfo(make_pod())),
}
"""Every accessor of the contract, used once; but the feasible nodes are not the table's to know."""


@pytest.fixture
def cache() -> Cache:
    """Three nodes; n1 has a gpu, a taint, a zone, an image and a pod with a host port."""
    cache = Cache(seed=1)
    cache.apply_node(make_node("n0", unschedulable=True))
    cache.apply_node(
        make_node(
            "n1", allocatable={GPU: "2"}, taints=[DEDICATED], labels={"zone": "a", "cores": "8"}, images={APP: 100}
        )
    )
    cache.apply_node(make_node("n2", labels={"zone": "b", "cores": "many"}, images={APP: 300}))
    web = make_container(requests={"cpu": "1", GPU: "1"}, ports=[ContainerPort(host_port=80)])
    apart = Affinity(
        pod_anti_affinity=PodAffinity(required=[PodAffinityTerm(topology_key="zone", label_selector=LabelSelector())])
    )
    cache.apply_pod(PodInfo(make_pod("web", node_name="n1", containers=[web], affinity=apart)))
    cache.apply_namespace(Namespace(metadata=ObjectMeta(name="default")))
    return cache


def test_columns_have_a_value_for_each_row(cache: Cache) -> None:
    nodes = cache.table.columns(Everything)
    assert (len(nodes), nodes.is_row, nodes.total_nodes) == (3, False, 3)
    columns: dict[str, Any] = {
        "named": nodes.is_named("n1"),
        "cpu": nodes.allocatable("cpu"),
        "gpus": nodes.allocatable(GPU),
        "requested": nodes.requested("cpu"),
        "memory": nodes.requested("memory"),
        "non-zero memory": nodes.non_zero_requested("memory"),
        "pods": nodes.pod_count,
        "allowed": nodes.allowed_pods,
        "cordoned": nodes.unschedulable,
        "ports": nodes.port_conflicts("10.0.0.1", "TCP", 80),
        "image": nodes.image_size(APP),
        "terms": nodes.term_holders(HELD),
    }
    assert {name: column.tolist() for name, column in columns.items()} == {
        "named": [False, True, False],
        "cpu": [4000, 4000, 4000],
        "gpus": [0, 2, 0],
        "requested": [0, 1000, 0],
        "memory": [0, 0, 0],
        "non-zero memory": [0, 200 * 2**20, 0],
        "pods": [0, 1, 0],
        "allowed": [110, 110, 110],
        "cordoned": [True, False, False],
        "ports": [False, True, False],
        "image": [0, 100, 300],
        "terms": [0, 1, 0],
    }


def test_columns_have_the_types_of_the_contract(cache: Cache) -> None:
    nodes = cache.table.columns(Everything)
    dtypes = {name: use(nodes).dtype for name, use in USES.items() if isinstance(use(nodes), np.ndarray)}
    assert dtypes == {
        **dict.fromkeys(("is_named", "unschedulable", "port_conflicts"), np.dtype(np.bool_)),
        **dict.fromkeys(("disk_conflicts", "uses_volume"), np.dtype(np.bool_)),
        **dict.fromkeys(("has_csi_node", "has_csi_limits", "has_csi_driver"), np.dtype(np.bool_)),
        **dict.fromkeys(("attached_volumes", "failing_volumes", "csi_limit"), np.dtype(np.int64)),
        **dict.fromkeys(("taints", "features", "label"), np.dtype(np.int32)),
        **dict.fromkeys(
            (
                "allocatable",
                "requested",
                "non_zero_requested",
                "pod_count",
                "allowed_pods",
                "image_size",
                "matching_pods",
                "term_holders",
            ),
            np.dtype(np.int64),
        ),
    }


def test_one_row_gives_python_scalars_with_the_values_of_the_columns(cache: Cache) -> None:
    everything = cache.table.columns(Everything)
    for row in range(cache.table.size):
        node = cache.table.row(Everything, row)
        assert (len(node), node.is_row) == (1, True)
        for name, use in USES.items():
            column = use(everything)
            if isinstance(column, np.ndarray):
                value = use(node)
                assert type(value) is (bool if column.dtype == np.bool_ else int), name
                assert value == column[row], name
            elif name not in ("label_ids", "usage", "non_zero_usage", "node_name", "pods_with_volumes"):
                assert use(node) == column, name


@pytest.mark.parametrize("resource", ["cpu", "memory", GPU, FPGA])
def test_usage_is_both_amounts_at_once(cache: Cache, resource: str) -> None:
    columns, rows = cache.table.columns(Everything), [cache.table.row(Everything, row) for row in range(3)]
    amounts = [(node.allocatable(resource), node.requested(resource)) for node in rows]
    assert [node.usage(resource) for node in rows] == amounts
    assert np.column_stack(columns.usage(resource)).tolist() == np.array(amounts).tolist()
    if resource in ("cpu", "memory"):
        amounts = [(node.allocatable(resource), node.non_zero_requested(resource)) for node in rows]
        assert [node.non_zero_usage(resource) for node in rows] == amounts
        assert np.column_stack(columns.non_zero_usage(resource)).tolist() == np.array(amounts).tolist()


def test_usage_of_what_only_nodes_have_or_only_pods_ask_for() -> None:
    cache = Cache(seed=1)
    cache.apply_node(make_node("n0", allocatable={GPU: "2"}))
    cache.apply_pod(PodInfo(make_pod("user", node_name="n0", containers=[make_container(requests={FPGA: "3"})])))
    node = cache.table.row(Everything, 0)
    assert (node.usage(GPU), node.usage(FPGA)) == ((2, 0), (0, 3))


def test_a_row_view_moves_to_another_row(cache: Cache) -> None:
    node = row_view_of(Everything)(cache.table)
    for row in (1, 2, 0, 1):
        assert node.at(row) is node
        assert {name: use(node) for name, use in USES.items() if name != "label_ids"} == {
            name: use(cache.table.row(Everything, row)) for name, use in USES.items() if name != "label_ids"
        }


def test_a_row_view_that_is_kept_shows_the_table_as_it_is_now(cache: Cache) -> None:
    node = row_view_of(Everything)(cache.table, 0)
    assert (node.allocatable(FPGA), node.requested(FPGA), node.pod_count) == (0, 0, 0)
    cache.apply_node(make_node("n0", allocatable={FPGA: "4", "pods": "7"}))
    user = PodInfo(make_pod("user", node_name="n0", containers=[make_container(requests={FPGA: "3", "cpu": "2"})]))
    cache.apply_pod(user)
    size = cache.table.capacity
    for number in range(size):
        cache.apply_node(make_node(f"more-{number}"))
    assert cache.table.capacity > size
    cache.apply_pod(PodInfo(make_pod("late", node_name="n0", containers=[make_container(requests={"cpu": "1"})])))
    amounts = (node.allocatable(FPGA), node.requested(FPGA), node.requested("cpu"), node.non_zero_requested("cpu"))
    assert (amounts, node.pod_count, node.allowed_pods) == ((4, 3, 3000, 3000), 2, 7)
    cache.remove_pod(user.uid)
    assert (node.requested(FPGA), node.requested("cpu")) == (0, 1000)


def test_some_rows_are_in_the_order_asked_for(cache: Cache) -> None:
    nodes = cache.table.columns(Everything, np.array([2, 1]))
    assert len(nodes) == 2
    assert nodes.image_size(APP).tolist() == [300, 100]  # type: ignore[union-attr]
    assert nodes.is_named("n1").tolist() == [False, True]  # type: ignore[union-attr]
    assert nodes.port_conflicts("", "", 80).tolist() == [False, True]  # type: ignore[union-attr]
    assert nodes.requested("other").tolist() == [0, 0]  # type: ignore[union-attr]


def test_a_resource_that_no_node_has_is_0(cache: Cache) -> None:
    assert cache.table.columns(Everything).allocatable("example.com/fpga").tolist() == [0, 0, 0]  # type: ignore[union-attr]
    assert cache.table.row(Everything, 1).allocatable("example.com/fpga") == 0


def test_taints_are_ids_of_lists(cache: Cache) -> None:
    nodes = cache.table.columns(Everything)
    assert [nodes.taint_sets[number] for number in nodes.taints] == [(), (DEDICATED,), ()]  # type: ignore[union-attr]


def test_labels_are_ids_of_values_0_without_the_label(cache: Cache) -> None:
    nodes = cache.table.columns(Everything)
    zone, ids = nodes.label("zone"), nodes.label_ids("zone")
    assert zone.tolist() == [0, ids.id_of("a"), ids.id_of("b")]  # type: ignore[union-attr]
    assert (ids.id_of("a") > 0, ids.id_of("b") > 0, ids.id_of("c")) == (True, True, -1)


def test_an_empty_label_value_is_a_value(cache: Cache) -> None:
    cache.apply_node(make_node("n3", labels={"zone": ""}))
    nodes = cache.table.columns(Everything)
    assert nodes.label_ids("zone").id_of("") > 0
    assert nodes.label("zone")[3] == nodes.label_ids("zone").id_of("")  # type: ignore[index]


def test_label_values_as_integers(cache: Cache) -> None:
    nodes = cache.table.columns(Everything)
    values, valid = nodes.label_ids("cores").integers()
    ids = nodes.label("cores")
    assert values[ids].tolist() == [0, 8, 0]  # type: ignore[index]
    assert valid[ids].tolist() == [False, True, False]  # type: ignore[index]
    row = cache.table.row(Everything, 1)
    row_values, row_valid = row.label_ids("cores").integers()
    assert (row_values[row.label("cores")], row_valid[row.label("cores")]) == (8, True)  # type: ignore[index]


def test_integers_follow_new_values(cache: Cache) -> None:
    nodes = cache.table.columns(Everything)
    nodes.label_ids("cores").integers()
    cache.apply_node(make_node("n3", labels={"cores": "16"}))
    nodes = cache.table.columns(Everything)
    values, _ = nodes.label_ids("cores").integers()
    assert values[nodes.label("cores")].tolist() == [0, 8, 0, 16]  # type: ignore[index]


def test_a_column_cannot_be_written_through_a_view(cache: Cache) -> None:
    with pytest.raises(ValueError, match="read-only"):
        cache.table.columns(Resources).requested("cpu")[0] = 1  # type: ignore[index]


def test_views_of_an_empty_table_have_no_rows() -> None:
    nodes = Cache(seed=1).table.columns(Everything)
    answers = [use(nodes) for use in USES.values()]
    assert len(nodes) == 0
    assert {answer.shape for answer in answers if isinstance(answer, np.ndarray)} == {(0,)}


def test_every_accessor_of_the_contract_says_what_it_needs() -> None:
    contract = {name for name in vars(NodeView) if not name.startswith("_")} - {"is_row", "is_all", "rows"}
    assert set(NEEDS) == contract
    assert set(USES) == contract - {"feasible"}


@pytest.mark.parametrize("accessor", USES)
def test_what_was_not_declared_raises_naming_plugin_and_accessor(cache: Cache, accessor: str) -> None:
    need = NEEDS[accessor]
    word = f"{accessor} ({type(need).__name__}.{need.name})"
    for nodes in (cache.table.columns(Nothing), cache.table.row(Nothing, 0)):
        with pytest.raises(UndeclaredReadError) as caught:
            USES[accessor](nodes)
        assert str(caught.value).startswith(f"plugin Nothing reads {word} without declaring it")


@pytest.mark.parametrize("accessor", USES)
def test_all_but_the_missing_declaration_does_not_help(cache: Cache, accessor: str) -> None:
    need = NEEDS[accessor]

    class AllButOne(Plugin):
        name = "AllButOne"
        facets = ALL_FACETS & ~need if isinstance(need, Facet) else ALL_FACETS
        inputs = frozenset(Input) - {need}

    for nodes in (cache.table.columns(AllButOne), cache.table.row(AllButOne, 0)):
        for name, use in USES.items():
            if NEEDS[name] is need:
                with pytest.raises(UndeclaredReadError):
                    use(nodes)
            else:
                use(nodes)


def test_an_instance_of_a_plugin_sees_what_its_class_declared(cache: Cache) -> None:
    assert cache.table.row(Resources(), 1).requested("cpu") == 1000
    with pytest.raises(UndeclaredReadError):
        cache.table.columns(Resources()).label(HOSTNAME)


def test_length_and_kind_of_a_view_need_no_declaration(cache: Cache) -> None:
    assert (len(cache.table.columns(Nothing)), cache.table.row(Nothing, 0).is_row) == (3, True)


def test_a_view_of_all_rows_is_told_from_one_of_as_many_rows(cache: Cache) -> None:
    backwards = cache.table.columns(Nothing, np.array([2, 1, 0]))
    views = (cache.table.columns(Nothing), backwards, cache.table.row(Nothing, 0))
    assert [view.is_all for view in views] == [True, False, False]


def test_feasible_nodes_are_those_that_the_view_was_made_with(cache: Cache) -> None:
    feasible = np.array([True, False, True])
    assert cache.table.columns(Everything, feasible=feasible).feasible is feasible


def test_feasible_nodes_are_not_known_before_filter_has_run(cache: Cache) -> None:
    for nodes in (cache.table.columns(Everything), cache.table.row(Everything, 0)):
        with pytest.raises(RuntimeError, match="PreScore and Score of all nodes only"):
            _ = nodes.feasible
