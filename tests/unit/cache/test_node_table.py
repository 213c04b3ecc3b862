"""NodeTable: rows of nodes, what of a node is a change, and when ids are given anew."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from scheduler.api.objects import ContainerImage, Node, NodeCondition, ResourceList, Taint
from scheduler.cache.cache import Cache
from scheduler.cache.node_facts import tie_key
from scheduler.framework.facet import ALL_FACETS, Facet
from scheduler.framework.pod_info import PodInfo
from tests.support.builders import make_node, make_pod
from tests.support.view_plugins import Everything

SPOT = Taint(key="spot", effect="NoSchedule")


@pytest.fixture
def cache() -> Cache:
    cache = Cache(seed=1)
    for name in ("n0", "n1", "n2"):
        cache.apply_node(make_node(name))
    return cache


def changed_facets(cache: Cache, action: Callable[[], object]) -> dict[str, Facet]:
    """Facets that the journal has for each row after an action, by the row's name now ("" for a row without node)."""
    position = cache.table.position
    action()
    changes = cache.table.changes_since(position)
    assert changes is not None
    names = [cache.table.name_of(row) if cache.table.live[row] else "" for row in changes.rows]
    return {name: Facet(facets) for name, facets in zip(names, changes.facets.tolist(), strict=True)}


def with_status(node: Node, **fields: Any) -> Node:
    return msgspec.structs.replace(node, status=msgspec.structs.replace(node.status, **fields))


# Rows


def test_rows_are_given_in_order_and_stay(cache: Cache) -> None:
    cache.apply_node(make_node("n3"))
    cache.apply_node(make_node("n0", labels={"zone": "a"}))
    table = cache.table
    assert [table.row_of(name) for name in ("n0", "n1", "n2", "n3", "n4")] == [0, 1, 2, 3, None]
    assert [table.name_of(row) for row in range(table.size)] == ["n0", "n1", "n2", "n3"]
    assert (table.size, table.node_count) == (4, 4)


def test_a_removed_nodes_row_is_not_live_and_the_next_node_gets_it(cache: Cache) -> None:
    cache.remove_node("n1")
    assert (cache.table.size, cache.table.node_count, cache.table.live.tolist()) == (3, 2, [True, False, True])
    assert cache.table.row_of("n1") is None
    assert changed_facets(cache, lambda: cache.apply_node(make_node("n9"))) == {"n9": ALL_FACETS}
    assert (cache.table.row_of("n9"), cache.table.size) == (1, 3)


def test_a_row_given_to_another_node_has_nothing_of_the_one_before(cache: Cache) -> None:
    old = make_node("n1", allocatable={"example.com/gpu": "8"}, taints=[SPOT], labels={"zone": "a"}, images={"app": 7})
    cache.apply_node(with_status(old, declared_features=["X"]))
    cache.remove_node("n1")
    cache.apply_node(Node(metadata=msgspec.structs.replace(make_node("bare").metadata, labels=None)))
    node = cache.table.row(Everything, 1)
    assert cache.table.name_of(1) == "bare"
    assert (node.allocatable("example.com/gpu"), node.allocatable("cpu"), node.allowed_pods) == (0, 0, 0)
    assert (node.taints, node.label("zone"), node.image_size("app"), node.unschedulable) == (0, 0, 0, False)


def test_a_row_without_a_node_has_no_node_and_no_name(cache: Cache) -> None:
    cache.remove_node("n1")
    for row in (1, 3, -1):
        with pytest.raises(LookupError, match=f"row {row} holds no node"):
            cache.table.node(row)
        with pytest.raises(LookupError):
            cache.table.name_of(row)


def test_the_table_grows_and_keeps_what_it_holds() -> None:
    cache = Cache(seed=1)
    for number in range(300):
        labels, allocatable = {"zone": f"z{number % 3}"}, {"cpu": str(number)}
        node = make_node(f"n{number}", labels=labels, allocatable=allocatable, declared_features=[f"F{number % 5}"])
        cache.apply_node(node)
        if number == 10:
            cache.table.row(Everything, 0).label("zone")
            cache.assume(PodInfo(make_pod()), "n7")
    nodes = cache.table.columns(Everything)
    assert nodes.allocatable("cpu").tolist() == [1000 * number for number in range(300)]  # type: ignore[union-attr]
    assert np.flatnonzero(nodes.pod_count).tolist() == [7]
    assert cache.table.live.all()
    cache.validate()


def test_removing_an_unknown_node_changes_nothing(cache: Cache) -> None:
    assert changed_facets(cache, lambda: cache.remove_node("other")) == {}
    assert cache.remove_node("other") is None


# Tie keys


def test_a_tie_key_has_31_bits_and_depends_on_seed_and_name() -> None:
    """The figures are those of BLAKE2b with the seed as its key, so every process has the same ones."""
    assert [tie_key(1, "n1"), tie_key(1, "n2"), tie_key(2, "n1")] == [1_848_630_645, 2_006_713_764, 1_059_834_146]
    assert all(0 <= tie_key(seed, "node") < 2**31 for seed in range(-100, 100))


def test_the_table_has_each_nodes_key_by_row(cache: Cache) -> None:
    cache.remove_node("n1")
    cache.apply_node(make_node("n7"))
    assert cache.table.tie_keys.tolist() == [tie_key(1, name) for name in ("n0", "n7", "n2")]


# What is a change, and of what


@pytest.mark.parametrize(
    ("node", "facets"),
    [
        (make_node("n1", allocatable={"cpu": "8"}), Facet.RESOURCES),
        (make_node("n1", allocatable={"example.com/gpu": "1"}), Facet.RESOURCES),
        (make_node("n1", allocatable={"pods": "10"}), Facet.RESOURCES),
        (make_node("n1", labels={"zone": "a"}), Facet.LABELS),
        (make_node("n1", taints=[SPOT]), Facet.TAINTS),
        (make_node("n1", unschedulable=True), Facet.UNSCHEDULABLE),
        (make_node("n1", images={"app": 1}), Facet.IMAGES),
        (make_node("n1", declared_features=["A"]), Facet.FEATURES),
        (make_node("n1", labels={"zone": "a"}, taints=[SPOT]), Facet.LABELS | Facet.TAINTS),
        (make_node("n1", uid="another"), ALL_FACETS),
    ],
    ids=str,
)
def test_an_update_changes_the_facets_that_differ(cache: Cache, node: Node, facets: Facet) -> None:
    before = make_node("n1")
    assert changed_facets(cache, lambda: cache.apply_node(node)) == {"n1": facets}
    assert changed_facets(cache, lambda: cache.apply_node(before)) == {"n1": facets}
    cache.validate()


@pytest.mark.parametrize(
    "node",
    [
        make_node("n1"),
        make_node("n1", conditions=[NodeCondition(type="Ready", status="False")]),
        make_node("n1", allocatable={"cpu": "4000m", "memory": f"{16 * 2**30}"}),
        make_node("n1", allocatable={"storage": "1Gi", "example.com/gpu": "0"}),
        make_node("n1", declared_features=[]),
        with_status(make_node("n1"), images=[]),
        msgspec.structs.replace(
            make_node("n1"), metadata=msgspec.structs.replace(make_node("n1").metadata, annotations={"a": "b"})
        ),
    ],
    ids=["equal", "conditions", "other spelling", "not counted", "no features", "no images", "annotations"],
)
def test_what_no_plugin_can_see_is_no_change(cache: Cache, node: Node) -> None:
    assert changed_facets(cache, lambda: cache.apply_node(node)) == {}
    assert cache.table.node(1) is node
    cache.validate()


def test_removing_a_node_changes_everything_of_its_row(cache: Cache) -> None:
    assert changed_facets(cache, lambda: cache.remove_node("n1")) == {"": ALL_FACETS}


def test_an_update_returns_the_object_before(cache: Cache) -> None:
    first = make_node("n5")
    assert cache.apply_node(first) is None
    assert cache.apply_node(make_node("n5", labels={"a": "b"})) is first
    assert cache.remove_node("n5") == make_node("n5", labels={"a": "b"})


def test_the_last_entry_of_an_image_counts_and_each_name_of_an_entry(cache: Cache) -> None:
    images = [
        ContainerImage(names=["app:1", "app@sha256:1"], size_bytes=5),
        ContainerImage(names=["app:1"], size_bytes=6),
        ContainerImage(size_bytes=7),
    ]
    cache.apply_node(with_status(make_node("n1"), images=images))
    node = cache.table.row(Everything, 1)
    assert [node.image_size(name) for name in ("app:1", "app@sha256:1", "app:2")] == [6, 5, 0]


# Bad input


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (make_node("n1", allocatable={"cpu": "many"}), "node n1: status.allocatable[cpu]: 'many' is not a quantity"),
        (
            make_node("n1", images={"app": 2**63}),
            "node n1: status.images[0].sizeBytes: 9223372036854775808 does not fit",
        ),
        (make_node(""), "a node without metadata.name cannot be kept"),
    ],
)
def test_a_node_that_cannot_be_read_changes_nothing(cache: Cache, node: Node, message: str) -> None:
    changed = msgspec.structs.replace(node, spec=make_node(unschedulable=True).spec)
    position = cache.table.position
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        cache.apply_node(changed)
    assert str(caught.value).startswith(message)
    assert cache.table.position == position
    assert not cache.table.columns(Everything).unschedulable.any()  # type: ignore[union-attr]
    cache.validate()


def test_a_new_node_that_cannot_be_read_takes_no_row(cache: Cache) -> None:
    with pytest.raises(ValueError, match="node n9"):
        cache.apply_node(make_node("n9", allocatable={"memory": "16GB"}))
    assert (cache.table.size, cache.table.row_of("n9")) == (3, None)


def test_allocatable_beyond_int64_is_what_kube_scheduler_reads(cache: Cache) -> None:
    allocatable: ResourceList = {"cpu": "1E", "memory": "16Ei"}
    cache.apply_node(with_status(make_node("n1"), allocatable=allocatable))
    node = cache.table.row(Everything, 1)
    assert (node.allocatable("cpu"), node.allocatable("memory")) == (0, 2**63 - 1)


# Ids


def test_the_same_taints_have_one_id_whichever_node_has_them(cache: Cache) -> None:
    for name in ("n0", "n2"):
        cache.apply_node(make_node(name, taints=[SPOT]))
    assert cache.table.columns(Everything).taints.tolist() == [1, 0, 1]  # type: ignore[union-attr]


def test_taints_that_vanished_are_given_up_after_much_churn(cache: Cache) -> None:
    for number in range(2500):
        cache.apply_node(make_node("n1", taints=[Taint(key="drain", value=str(number))]))
    nodes = cache.table.columns(Everything)
    assert len(nodes.taint_sets) < 1100
    assert cache.table.epoch == 2
    assert nodes.taint_sets[nodes.taints[1]] == (Taint(key="drain", value="2499"),)  # type: ignore[index]
    cache.validate()


def test_lists_of_features_that_vanished_are_given_up_as_well(cache: Cache) -> None:
    for number in range(2500):
        cache.apply_node(make_node("n1", declared_features=[f"Feature{number}"]))
    nodes = cache.table.columns(Everything)
    assert len(nodes.feature_lists) < 1100
    assert cache.table.epoch == 2
    assert nodes.feature_lists[nodes.features[1]] == ("Feature2499",)  # type: ignore[index]
    cache.validate()


def test_ids_stay_while_the_epoch_does(cache: Cache) -> None:
    seen = cache.table.columns(Everything).taint_sets
    for number in range(500):
        cache.apply_node(make_node("n1", taints=[Taint(key="drain", value=str(number))]))
    assert cache.table.epoch == 0
    assert cache.table.columns(Everything).taint_sets is seen


def test_resources_that_vanished_leave_no_column(cache: Cache) -> None:
    for number in range(10):
        cache.apply_node(make_node("n1", allocatable={f"example.com/device-{number}": "1"}))
    cache.apply_node(make_node("n1"))
    assert [name for name, _ in cache.table.resources.allocatable.items()] == ["cpu", "memory"]
