"""Columns: one memory for arrays and scalars, and interned values."""

import numpy as np
import pytest

from scheduler.cache.columns import Column, InternedColumn

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)


def test_what_is_written_as_a_scalar_is_read_in_the_array() -> None:
    column = Column(np.int64, 4)
    column.cells[2] = 7
    assert column.values.tolist() == [0, 0, 7, 0]


def test_cells_are_python_scalars_of_the_columns_kind() -> None:
    flags, numbers = Column(np.bool_, 1), Column(np.int32, 1)
    flags.cells[0] = True
    assert flags.cells[0] is True
    assert type(numbers.cells[0]) is int


def test_the_array_that_is_handed_out_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Column(np.int64, 4).values[0] = 1


def test_growing_keeps_the_values_and_adds_zeros() -> None:
    column = Column(np.int64, 2)
    column.cells[1] = 5
    column.grow(4)
    column.cells[3] = 6
    assert column.values.tolist() == [0, 5, 0, 6]


@pytest.mark.parametrize(
    ("held", "added", "sum_"), [(INT64_MAX, 1, INT64_MIN), (INT64_MIN, -1, INT64_MAX), (INT64_MAX, INT64_MAX, -2)]
)
def test_a_sum_beyond_int64_wraps_and_subtracting_brings_back_what_was_there(held: int, added: int, sum_: int) -> None:
    column = Column(np.int64, 1)
    column.add(0, held)
    column.add(0, added)
    assert column.cells[0] == sum_
    column.add(0, -added)
    assert column.cells[0] == held


def test_equal_values_have_one_id_and_the_default_has_id_0() -> None:
    column = InternedColumn("", 4)
    for row, value in enumerate(("a", "b", "a", "")):
        column.set(row, value)
    assert column.column.values.tolist() == [1, 2, 1, 0]
    assert column.items == ["", "a", "b"]


def test_filling_a_column_is_setting_each_row() -> None:
    filled, set_ = InternedColumn("", 6), InternedColumn("", 6)
    values = ["a", "", "b", "a"]
    filled.fill(values)
    for row, value in enumerate(values):
        set_.set(row, value)
    assert filled.column.values.tolist() == set_.column.values.tolist() == [1, 0, 2, 1, 0, 0]
    for row in range(4):
        filled.set(row, "c")
        set_.set(row, "c")
        assert [filled.id_of(value) for value in "abc"] == [set_.id_of(value) for value in "abc"]
        assert filled.unused == set_.unused


def test_filling_with_nothing_leaves_the_default_everywhere() -> None:
    column = InternedColumn("", 2)
    column.fill([])
    assert (column.column.values.tolist(), column.items) == ([0, 0], [""])


def test_a_value_that_no_row_has_now_has_no_id_but_gets_the_same_one_back() -> None:
    column = InternedColumn("", 4)
    column.set(0, "a")
    column.set(1, "b")
    column.set(0, "b")
    assert (column.id_of("a"), column.id_of("b"), column.id_of("c"), column.id_of("")) == (-1, 2, -1, 0)
    column.set(3, "a")
    assert column.id_of("a") == 1


def test_ids_become_wasteful_when_unused_ones_are_many_and_many_more_than_used_ones() -> None:
    column = InternedColumn("", 4)
    for number in range(InternedColumn.MIN_UNUSED):
        column.set(0, f"name-{number}")
    assert not column.is_wasteful
    column.set(0, "another")
    assert column.is_wasteful


def test_many_unused_ids_beside_as_many_used_ones_are_not_wasteful() -> None:
    rows = InternedColumn.MIN_UNUSED
    column = InternedColumn("", rows)
    for generation in range(2):
        for row in range(rows):
            column.set(row, f"name-{row}-{generation}")
    assert column.unused == rows
    assert not column.is_wasteful


def test_compacting_keeps_every_rows_value_and_drops_the_others() -> None:
    column = InternedColumn("", 4)
    for row, value in enumerate(("a", "b", "c", "")):
        column.set(row, value)
    column.set(0, "d")
    column.set(1, "")
    column.compact()
    assert [column.items[number] for number in column.column.values] == ["d", "", "c", ""]
    assert sorted(column.items) == ["", "c", "d"]
    assert (column.unused, column.id_of("a"), column.id_of("d") > 0) == (0, -1, True)
    column.set(2, "d")
    assert column.unused == 1
