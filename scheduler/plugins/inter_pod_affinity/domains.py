"""Values of a node label as domains: which of them hold a pod, and what they add to a score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from scheduler.framework import ops
from scheduler.framework.ops import BoolArray, Bools, IntArray, Ints
from scheduler.framework.plugin import CycleState
from scheduler.framework.view import NodeView


class Topology(NamedTuple):
    """The values of one label key, for as long as no node comes, goes or is labelled otherwise.

    ``ids``: of each row, 0 without the label; below ``size``. ``labelled``: the rows with the label, None for all of them.
    ``is_unique``: no two rows have a value in common, so that each is a domain of its own.
    """

    version: int
    ids: IntArray
    size: int
    labelled: BoolArray | None
    is_unique: bool


def topology(state: CycleState, nodes: NodeView, key: str) -> Topology:
    """Of all rows."""
    known: dict[str, Topology] = state.setdefault("topologies", {})
    found = known.get(key)
    if found is None or found.version != nodes.domain_version:
        ids = np.asarray(nodes.label(key), dtype=np.int64)
        rows_with = np.bincount(ids, minlength=1)
        labelled = ids != 0
        is_unique = bool((rows_with[1:] <= 1).all())
        everywhere = bool(labelled.all())
        found = known[key] = Topology(
            nodes.domain_version, ids, len(rows_with), None if everywhere else labelled, is_unique
        )
    return found


class Occupied:
    """Which domains of a label have one of some pods; a node without the label is in none.

    ``rows``: for each row whether its domain has one.
    """

    __slots__ = ("_by_id", "_topology", "key", "rows")

    def __init__(self, key: str, of: Topology, rows: BoolArray, by_id: BoolArray | None) -> None:
        self.key = key
        self.rows = rows
        self._topology = of
        self._by_id = by_id

    def of(self, nodes: NodeView) -> Bools:
        """Whether the node's domain has one of the pods."""
        if nodes.is_all:
            return self.rows
        if self._by_id is None:
            self._by_id = np.zeros(self._topology.size, np.bool_)
            self._by_id[self._topology.ids[self.rows]] = True
        holds: Bools = ops.gather(self._by_id, nodes.label(self.key))
        return holds

    @property
    def is_empty(self) -> bool:
        return not self.rows.any()


def occupied(state: CycleState, nodes: NodeView, key: str, columns: Sequence[Ints]) -> Occupied:
    """The domains with at least one of the pods that these columns of all rows count; there is at least one column."""
    of = topology(state, nodes, key)
    counted: BoolArray = np.asarray(columns[0], dtype=np.bool_)
    for column in columns[1:]:
        counted = counted | np.asarray(column, dtype=np.bool_)
    if of.is_unique:
        if of.labelled is not None:
            counted = counted & of.labelled
        return Occupied(key, of, counted, None)
    by_id = np.zeros(of.size, np.bool_)
    by_id[of.ids[counted]] = True
    by_id[0] = False
    return Occupied(key, of, by_id[of.ids], by_id)


class Weights:
    """What the domains of a label add to a score; nothing for a node without the label."""

    __slots__ = ("_by_id", "_rows", "key")

    def __init__(self, key: str, by_id: IntArray, rows: IntArray) -> None:
        self.key = key
        self._by_id = by_id
        self._rows = rows

    def of(self, nodes: NodeView) -> Ints:
        if nodes.is_all:
            return self._rows
        sums: Ints = ops.gather(self._by_id, nodes.label(self.key))
        return sums


def weights(state: CycleState, nodes: NodeView, key: str, weighted: Iterable[tuple[int, Ints]]) -> Weights | None:
    """What the pods of a domain add up to, each with the weight of its column; None when no domain has any of them."""
    of = topology(state, nodes, key)
    total = np.zeros(len(of.ids), np.int64)
    counts = False
    for weight, column in weighted:
        counts = counts or bool(np.any(column, where=True if of.labelled is None else of.labelled))
        total += np.multiply(column, weight)
    if not counts:
        return None
    # Exact: sums of weights of up to 100 stay far below 2**53.
    by_id = np.bincount(of.ids, weights=total, minlength=of.size).astype(np.int64)
    by_id[0] = 0
    return Weights(key, by_id, by_id[of.ids])


def any_of(domains: Iterable[Occupied], nodes: NodeView) -> Bools | None:
    """Whether any of the node's domains has one of the pods; None when there is none to look at."""
    found: Bools | None = None
    for each in domains:
        holds = each.of(nodes)
        found = holds if found is None else found | holds
    return found


def all_of(domains: Iterable[Occupied], nodes: NodeView) -> Bools:
    """Whether each of the node's domains has one of the pods."""
    found: Bools = True
    for each in domains:
        found = found & each.of(nodes)
    return found


def has_all_keys(domains: Iterable[Occupied], nodes: NodeView) -> Bools:
    """Whether the node has every one of the labels."""
    found: Bools = True
    for each in domains:
        found = found & (nodes.label(each.key) != 0)
    return found
