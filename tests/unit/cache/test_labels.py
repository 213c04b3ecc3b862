"""Label columns: kept while they are used, and no more of them than allowed."""

from collections.abc import Iterator

from scheduler.cache.labels import LabelColumns, Labels
from scheduler.cache.node_table import NodeTable
from scheduler.framework.pod_info import PodInfo
from tests.support.builders import make_node, make_pod
from tests.support.view_plugins import Everything

ROWS: list[Labels] = [{"zone": "a", "disk": "ssd"}, {}, {"zone": "b"}]


def rows() -> Iterator[Labels]:
    return iter(ROWS)


def test_a_column_is_made_of_the_rows_labels_when_first_asked_for() -> None:
    column = LabelColumns(limit=2).column("zone", 4, rows)
    assert [column.items[number] for number in column.column.values] == ["a", None, "b", None]


def test_an_existing_column_follows_updates() -> None:
    columns = LabelColumns(limit=2)
    zone = columns.column("zone", 4, rows)
    columns.update(0, {"zone": "c"})
    columns.update(2, {})
    assert [zone.items[number] for number in zone.column.values] == ["c", None, None, None]
    assert columns.column("zone", 4, rows) is zone


def table_with(label_keys: int) -> NodeTable:
    table = NodeTable(seed=0, label_keys=label_keys)
    table.apply_node(make_node("n0", labels={"a": "1"}), ())
    return table


def keys(table: NodeTable) -> list[str]:
    return [key for key, _ in table.labels.items()]


def test_too_many_columns_are_halved_at_the_next_change_the_ones_used_last_stay() -> None:
    table = table_with(label_keys=4)
    for step, key in enumerate("abcdae"):
        table.row(Everything, 0).label(key)
        if step < 5:
            table.apply_node(make_node("n0", images={"image": step + 1}), ())
    epoch = table.epoch
    assert keys(table) == list("abcde")
    table.apply_node(make_node("n0", labels={"a": "2"}), ())
    assert keys(table) == ["a", "e"]
    assert table.epoch == epoch + 1


def test_too_many_columns_are_dropped_when_pods_come_too() -> None:
    """Nodes may stay as they are for days while each pod names a key of its own."""
    table = table_with(label_keys=2)
    for key in "abc":
        table.row(Everything, 0).label(key)
    table.add_pod(0, PodInfo(make_pod()))
    assert len(keys(table)) == 1
    assert table.epoch == 1


def test_while_nothing_changes_no_column_is_dropped() -> None:
    """Within one evaluation ids have to stay, however many keys a pod names."""
    table = table_with(label_keys=2)
    for key in "abcdefgh":
        table.row(Everything, 0).label(key)
    assert keys(table) == list("abcdefgh")
    assert table.epoch == 0


def test_as_many_columns_as_allowed_are_left_alone() -> None:
    table = table_with(label_keys=2)
    for key in "ab":
        table.row(Everything, 0).label(key)
    table.apply_node(make_node("n0", labels={"a": "2"}), ())
    assert keys(table) == ["a", "b"]
    assert table.epoch == 0


def test_ids_of_values_that_vanished_are_given_up_after_much_churn() -> None:
    """Autoscaled nodes have hostnames of their own: their values must not pile up."""
    table = table_with(label_keys=2)
    table.row(Everything, 0).label("kubernetes.io/hostname")
    for number in range(3000):
        table.apply_node(make_node(f"spot-{number}"), ())
        table.remove_node(f"spot-{number}", ())
    (_, column), *_ = table.labels.items()
    assert len(column.items) < 1100
    assert table.epoch >= 2
    assert column.items[table.row(Everything, 0).label("kubernetes.io/hostname")] == "n0"


def test_integers_are_those_of_the_ids_after_compaction() -> None:
    columns = LabelColumns(limit=2)
    column = columns.column("cores", 4, lambda: iter([{"cores": "4"}, {"cores": "8"}]))
    column.integers()
    columns.update(0, {"cores": "16"})
    column.compact()
    values, valid = column.integers()
    assert values[column.column.values].tolist() == [16, 8, 0, 0]
    assert valid[column.column.values].tolist() == [True, True, False, False]
