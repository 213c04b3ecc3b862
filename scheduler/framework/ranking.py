"""The best of many things of storage for each node, of those that it can use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from scheduler.api.selectors import Term
from scheduler.framework.node_selection import matches_term
from scheduler.framework.ops import IntArray
from scheduler.framework.reach import Reach, Way, as_column, is_reached
from scheduler.framework.view import NodeView

NONE = -1
"""No item, for a node that none reaches."""

_NO_RANK = np.iinfo(np.int64).max


class Lists(NamedTuple):
    """For each of some rows a part of a group's ranks: from ``position`` to ``end``."""

    rows: IntArray
    position: IntArray
    end: IntArray


class Group(Protocol):
    """Items that reach nodes in one way. ``ranks``: lists of ranks, each ascending, one behind the other."""

    ranks: IntArray

    def lists(self, nodes: NodeView) -> Lists: ...


class ByTerms:
    """Items of the same reach; their ranks in ascending order."""

    def __init__(self, reach: Reach, ranks: IntArray) -> None:
        self._reach = reach
        self.ranks = ranks

    def lists(self, nodes: NodeView) -> Lists:
        rows = np.flatnonzero(is_reached(self._reach, nodes))
        return Lists(rows, np.zeros(len(rows), np.int64), np.full(len(rows), len(self.ranks), np.int64))


class ValueNumbers:
    """Numbers from 1 for the values of a label that things ask for. It only grows."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._numbers: dict[str | None, int] = {}
        self._values: list[str | None] = []
        self._by_id: IntArray = np.zeros(0, np.int64)
        self._known = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, value: str) -> int:
        """The number of a value, a new one if it has none."""
        return self._numbers.setdefault(value, len(self._numbers) + 1)

    def of(self, nodes: NodeView) -> IntArray:
        """The number of each node's value; 0 where it has none, or one that nothing asks for. Shape ``(len(nodes),)``."""
        values = nodes.label_ids(self._key).items
        ids = nodes.label(self._key)
        if not isinstance(ids, np.ndarray):
            return np.array([self._numbers.get(values[ids], 0)], dtype=np.int64)
        # The list of values only grows, and is another one once ids are given anew.
        if values is not self._values or len(values) != len(self._by_id) or self._known != len(self._numbers):
            self._values, self._known = values, len(self._numbers)
            self._by_id = np.array([self._numbers.get(value, 0) for value in values], dtype=np.int64)
        return self._by_id[ids]


class ByValue:
    """Items that reach nodes with certain values of one label, and of these the nodes where the rest of the term holds.

    Args:
        numbers: of the values.
        asked, ranks: an item for each value that it asks for, as the number of the value and the item's rank.
    """

    def __init__(self, numbers: ValueNumbers, rest: Term | None, asked: IntArray, ranks: IntArray) -> None:
        self._numbers = numbers
        self._rest = rest
        width = int(ranks.max()) + 1 if len(ranks) else 1
        # One sort of one column: by value, and then by rank.
        ordered = np.sort(asked * width + ranks)
        self.ranks: IntArray = ordered % width
        lengths = np.bincount(asked, minlength=len(numbers) + 1)
        self._ends: IntArray = np.cumsum(lengths)
        # The list of number 0 is empty.
        self._starts: IntArray = self._ends - lengths

    def lists(self, nodes: NodeView) -> Lists:
        numbers = self._numbers.of(nodes)
        if len(self._numbers) >= len(self._ends):
            numbers = np.where(numbers < len(self._ends), numbers, 0)  # values that came later
        if self._rest is not None:
            numbers = np.where(as_column(matches_term(self._rest, nodes)), numbers, 0)
        rows = np.flatnonzero(numbers)
        numbers = numbers[rows]
        return Lists(rows, self._starts[numbers], self._ends[numbers])


class Ranking:
    """Items from the best to the worst, to find the best one that reaches each node.

    Args:
        items: what to answer with, by rank; distinct and at least 0.
        groups: all that may be answered with, by how they reach nodes.
    """

    def __init__(self, items: IntArray, groups: Sequence[Group]) -> None:
        self._items = items
        self._groups = groups

    def best(self, nodes: NodeView, taken: Sequence[IntArray] = ()) -> IntArray:
        """The best item that reaches each node, NONE where none does; shape ``(len(nodes),)``, also for one row.

        Args:
            taken: items that a node cannot have any more, each an array of one item a node.
        """
        best = np.full(len(nodes), _NO_RANK, dtype=np.int64)
        for group in self._groups:
            rows, position, end = group.lists(nodes)
            if not len(rows) or not len(group.ranks):
                continue
            for _ in taken:
                item = self._items[group.ranks[np.minimum(position, len(group.ranks) - 1)]]
                is_taken = np.zeros(len(rows), np.bool_)
                for gone in taken:
                    is_taken |= item == gone[rows]
                if not is_taken.any():
                    break
                position = position + (is_taken & (position < end))
            has_one = position < end
            rows = rows[has_one]
            best[rows] = np.minimum(best[rows], group.ranks[position[has_one]])
        if not len(self._items):
            return np.full(len(nodes), NONE, dtype=np.int64)
        return np.where(best == _NO_RANK, NONE, self._items[np.minimum(best, len(self._items) - 1)])


class Asked(NamedTuple):
    """How something is found: by these values of the way's label."""

    way: Way
    values: tuple[str, ...]


def asked_by(reach: Reach, telling: dict[str, set[str]]) -> Asked | None:
    """How to find what has this reach; None when no values of a label are asked for.

    Args:
        telling: the values that are asked for of each label: of several labels the one of most values leaves the fewest
            things to each of them.
    """
    if reach.way is None:
        return None
    if len(reach.wanted) == 1:
        return Asked(reach.way, reach.wanted[0][1])
    key, values = max(reach.wanted, key=lambda one: len(telling[one[0]]))
    return Asked(Way(key, reach.without(key)), values)


def note_values(telling: dict[str, set[str]], reach: Reach) -> None:
    """Add the values that a reach asks for; needed of those that ask for several labels only."""
    if len(reach.wanted) > 1:
        for key, values in reach.wanted:
            telling.setdefault(key, set()).update(values)


def rank(items: Sequence[int], reaches: Iterable[Reach]) -> Ranking:
    """Of items by rank, with the reach of each of them."""
    reaches = tuple(reaches)
    telling: dict[str, set[str]] = {}
    for reach in reaches:
        note_values(telling, reach)
    by_way: dict[Way, tuple[ValueNumbers, list[int], list[int]]] = {}
    by_terms: dict[tuple[Term, ...] | None, tuple[Reach, list[int]]] = {}
    for number, reach in enumerate(reaches):
        asked = asked_by(reach, telling)
        if asked is not None:
            numbers, asks, ranks = by_way.setdefault(asked.way, (ValueNumbers(asked.way.key), [], []))
            asks += [numbers.number(value) for value in asked.values]
            ranks += [number] * len(asked.values)
        elif reach.terms != ():
            by_terms.setdefault(reach.terms, (reach, []))[1].append(number)
    groups: list[Group] = [ByTerms(reach, np.array(ranks, dtype=np.int64)) for reach, ranks in by_terms.values()]
    groups += [
        ByValue(numbers, way.rest, np.array(asks, dtype=np.int64), np.array(ranks, dtype=np.int64))
        for way, (numbers, asks, ranks) in by_way.items()
    ]
    return Ranking(np.array(items, dtype=np.int64), groups)
