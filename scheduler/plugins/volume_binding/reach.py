"""Which nodes something can be used from, and the best of many such things for each node.

A PersistentVolume names its nodes in ``spec.nodeAffinity``, a StorageClass in ``allowedTopologies`` and a
CSIStorageCapacity in ``nodeTopology``. There can be one of them for every node: those that ask for values of one label, as
local volumes do, are found by that value, so that the work grows with nodes plus things instead of with their product.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from scheduler.api.objects import LabelSelector, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from scheduler.api.selectors import (
    IN,
    SelectorError,
    Term,
    compile_label_selector,
    compile_node_selector,
    compile_term,
)
from scheduler.api.storage import TopologySelectorTerm
from scheduler.framework.node_selection import matches_any_term, matches_term
from scheduler.framework.ops import BoolArray, Bools, IntArray
from scheduler.framework.view import NodeView


class _Way(NamedTuple):
    """By the values of a label, and then by the ``rest`` of the conditions, if there are more."""

    key: str
    rest: Term | None


class Reach:
    """Nodes, by their labels.

    Attributes:
        terms: readable conditions, of which one must hold; None for every node.
        wanted: labels with values of which the node must have one, as ``terms`` imply it.
        way: how to find the nodes by the first label that is wanted; None when none is.
    """

    __slots__ = ("terms", "wanted", "way")

    def __init__(self, terms: tuple[Term, ...] | None) -> None:
        self.terms = terms
        self.wanted: tuple[tuple[str, tuple[str, ...]], ...] = _wanted(terms or ())
        self.way: _Way | None = _Way(self.wanted[0][0], self.without(self.wanted[0][0])) if self.wanted else None

    def without(self, key: str) -> Term | None:
        """What is left to check of a node that has one of the values that are wanted of this label; None: nothing."""
        assert self.terms
        if len(self.terms) > 1:
            return None  # alternatives for one label, see _wanted
        term = self.terms[0]
        first = next(one for one in term.labels if one.operator == IN and one.key == key)
        rest = tuple(one for one in term.labels if one is not first)
        return Term(labels=rest) if rest else None


def _wanted(terms: tuple[Term, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if len(terms) == 1:
        return tuple((one.key, tuple(dict.fromkeys(one.values))) for one in terms[0].labels if one.operator == IN)
    keys = {one.key if one.operator == IN else "" for term in terms for one in term.labels}
    if len(keys) != 1 or "" in keys or any(len(term.labels) != 1 for term in terms):
        return ()
    return ((keys.pop(), tuple(dict.fromkeys(value for term in terms for value in term.labels[0].values))),)


EVERYWHERE = Reach(None)
NOWHERE = Reach(())

NONE = -1
"""No item, for a node that none reaches."""

_NO_RANK = np.iinfo(np.int64).max


def reach_of_affinity(required: NodeSelector | None) -> Reach:
    """The nodes that a volume's required node affinity matches.

    Only labels decide: conditions on fields are checked and then hold on every node (component-helpers 0.37:
    CheckNodeAffinity knows no name).
    """
    if required is None:
        return EVERYWHERE
    return Reach(tuple(term._replace(fields=()) for term in compile_node_selector(required) if not term.errors))


def reach_of_topologies(terms: Sequence[TopologySelectorTerm] | None) -> Reach:
    """The nodes that ``allowedTopologies`` allows: all without a term, none by a term without conditions."""
    if not terms:
        return EVERYWHERE
    reach = []
    for term in terms:
        conditions = [
            NodeSelectorRequirement(key=one.key, operator=IN, values=one.values)
            for one in term.match_label_expressions or ()
        ]
        if conditions:
            reach.append(compile_term(NodeSelectorTerm(match_expressions=conditions), ""))
    return Reach(tuple(term for term in reach if not term.errors))


def reach_of_selector(selector: LabelSelector | None) -> Reach:
    """The nodes that a label selector matches: none for a selector that is null or cannot be read, all for ``{}``."""
    try:
        matcher = compile_label_selector(selector)
    except SelectorError:
        return NOWHERE
    return NOWHERE if matcher.nothing else Reach((Term(labels=matcher.requirements),))


def is_reached(reach: Reach, nodes: NodeView) -> BoolArray:
    """Whether each node is reached, as an array also for one row."""
    if reach.terms is None:
        return np.ones(len(nodes), dtype=np.bool_)
    return _as_column(matches_any_term(reach.terms, nodes))


def _as_column(verdict: Bools) -> BoolArray:
    return np.atleast_1d(np.asarray(verdict, dtype=np.bool_))


class _Lists(NamedTuple):
    """For each of some rows a part of a group's ranks: from ``position`` to ``end``."""

    rows: IntArray
    position: IntArray
    end: IntArray


class _Group(Protocol):
    """Items that reach nodes in one way. ``ranks``: lists of ranks, each ascending, one behind the other."""

    ranks: IntArray

    def lists(self, nodes: NodeView) -> _Lists: ...


class _ByTerms:
    """Items of the same reach."""

    def __init__(self, reach: Reach, ranks: list[int]) -> None:
        self._reach = reach
        self.ranks: IntArray = np.array(ranks, dtype=np.int64)

    def lists(self, nodes: NodeView) -> _Lists:
        rows = np.flatnonzero(is_reached(self._reach, nodes))
        return _Lists(rows, np.zeros(len(rows), np.int64), np.full(len(rows), len(self.ranks), np.int64))


class _ByValue:
    """Items that reach nodes with certain values of one label, and of these the nodes where the rest of the term holds."""

    def __init__(self, key: str, rest: Term | None, ranks_by_value: dict[str, list[int]]) -> None:
        self._key = key
        self._rest = rest
        self.ranks: IntArray = np.array([rank for ranks in ranks_by_value.values() for rank in ranks], dtype=np.int64)
        lengths = [0, *(len(ranks) for ranks in ranks_by_value.values())]
        self._ends: IntArray = np.cumsum(lengths)
        # The list before the first is empty: for nodes without the label, or with another value.
        self._starts: IntArray = self._ends - lengths
        self._numbers: dict[str | None, int] = {value: number + 1 for number, value in enumerate(ranks_by_value)}
        self._number_by_id: IntArray = np.zeros(0, np.int64)

    def lists(self, nodes: NodeView) -> _Lists:
        numbers = self._numbers_of(nodes)
        if self._rest is not None:
            numbers = np.where(_as_column(matches_term(self._rest, nodes)), numbers, 0)
        rows = np.flatnonzero(numbers)
        numbers = numbers[rows]
        return _Lists(rows, self._starts[numbers], self._ends[numbers])

    def _numbers_of(self, nodes: NodeView) -> IntArray:
        values = nodes.label_ids(self._key).items
        ids = nodes.label(self._key)
        if not isinstance(ids, np.ndarray):
            return np.array([self._numbers.get(values[ids], 0)], dtype=np.int64)
        if len(self._number_by_id) != len(values):
            self._number_by_id = np.array([self._numbers.get(value, 0) for value in values], dtype=np.int64)
        return self._number_by_id[ids]


class Ranking:
    """Items from the best to the worst, to find the best one that reaches each node.

    Args:
        items: what to answer with, by rank; distinct and at least 0.
        reaches: of each of them.
    """

    def __init__(self, items: Sequence[int], reaches: Sequence[Reach]) -> None:
        self._items: IntArray = np.array(items, dtype=np.int64)
        # Of several labels the one of most values leaves the fewest items to each of them.
        telling = _number_of_values(reaches) if any(len(reach.wanted) > 1 for reach in reaches) else {}
        by_way: dict[_Way, dict[str, list[int]]] = {}
        by_terms: dict[tuple[Term, ...] | None, tuple[Reach, list[int]]] = {}
        for rank, reach in enumerate(reaches):
            way = reach.way
            if way is None:
                if reach.terms != ():
                    by_terms.setdefault(reach.terms, (reach, []))[1].append(rank)
                continue
            values = reach.wanted[0][1]
            if len(reach.wanted) > 1:
                key, values = max(reach.wanted, key=lambda one: telling[one[0]])
                way = _Way(key, reach.without(key))
            ranks_by_value = by_way.get(way)
            if ranks_by_value is None:
                ranks_by_value = by_way[way] = {}
            for value in values:
                ranks = ranks_by_value.get(value)
                if ranks is None:
                    ranks_by_value[value] = [rank]
                else:
                    ranks.append(rank)
        self._groups: list[_Group] = [_ByTerms(reach, ranks) for reach, ranks in by_terms.values()]
        self._groups += [_ByValue(way.key, way.rest, ranks) for way, ranks in by_way.items()]

    def best(self, nodes: NodeView, taken: Sequence[IntArray] = ()) -> IntArray:
        """The best item that reaches each node, NONE where none does; shape ``(len(nodes),)``, also for one row.

        Args:
            taken: items that a node cannot have any more, each an array of one item a node.
        """
        best = np.full(len(nodes), _NO_RANK, dtype=np.int64)
        for group in self._groups:
            rows, position, end = group.lists(nodes)
            if not len(rows):
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


def _number_of_values(reaches: Iterable[Reach]) -> dict[str, int]:
    """How many values are wanted of each label."""
    values: dict[str, set[str]] = {}
    for reach in reaches:
        for key, wanted in reach.wanted:
            values.setdefault(key, set()).update(wanted)
    return {key: len(found) for key, found in values.items()}
