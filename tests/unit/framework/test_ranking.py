"""The numbers of the values of a label, on nodes whose values have ids that change."""

from __future__ import annotations

from typing import cast

import numpy as np

from scheduler.framework.ranking import ValueNumbers
from scheduler.framework.view import NodeView


class Values:
    def __init__(self, *items: str | None) -> None:
        self.items = list(items)


class Nodes:
    """Nodes whose values of any label have these ids."""

    def __init__(self, values: Values, *ids: int) -> None:
        self._values = values
        self._ids = np.array(ids)

    def label_ids(self, _key: str) -> Values:
        return self._values

    def label(self, _key: str) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        return self._ids


def numbers_of(numbers: ValueNumbers, values: Values, *ids: int) -> list[int]:
    found: list[int] = numbers.of(cast("NodeView", Nodes(values, *ids))).tolist()
    return found


def test_values_have_numbers_from_one_on_and_others_none() -> None:
    numbers = ValueNumbers("zone")
    assert [numbers.number(value) for value in "abac"] == [1, 2, 1, 3]
    assert numbers_of(numbers, Values(None, "b", "x", "a"), 3, 0, 1, 2) == [1, 0, 2, 0]


def test_numbers_follow_new_values_and_values_with_other_ids() -> None:
    numbers = ValueNumbers("zone")
    numbers.number("a")
    values = Values(None, "a", "b")
    assert numbers_of(numbers, values, 1, 2) == [1, 0]
    numbers.number("b")
    assert numbers_of(numbers, values, 1, 2) == [1, 2]
    values.items.append("c")
    assert numbers_of(numbers, values, 1, 2, 3) == [1, 2, 0]
    assert numbers_of(numbers, Values(None, "b", "c", "a"), 1, 2, 3) == [2, 0, 1]
