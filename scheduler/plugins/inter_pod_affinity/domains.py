"""Values of a node label as domains: which of them hold a pod, and what they add to a score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from scheduler.framework import ops
from scheduler.framework.domain_rows import DomainRows
from scheduler.framework.domain_sums import Counted, DomainSums
from scheduler.framework.ops import BoolArray, Bools, IntArray, Ints
from scheduler.framework.plugin import CycleState
from scheduler.framework.view import NodeView


class Topology(NamedTuple):
    """The values of one label key, for as long as no node comes, goes or is labelled otherwise.

    ``labelled``: the rows with the label, None for all of them.
    """

    version: int
    rows: DomainRows
    labelled: BoolArray | None


def topology(state: CycleState, nodes: NodeView, key: str) -> Topology:
    """Of all rows."""
    known: dict[str, Topology] = state.setdefault("topologies", {})
    found = known.get(key)
    if found is None or found.version != nodes.domain_version:
        ids = nodes.label(key)
        assert isinstance(ids, np.ndarray)
        labelled = ids != 0
        everywhere = bool(labelled.all())
        found = known[key] = Topology(nodes.domain_version, DomainRows(ids), None if everywhere else labelled)
    return found


class Occupied:
    """Which domains of a label have at least one of some pods, as pods come and go; a node without the label is in none."""

    __slots__ = ("_cells", "_count", "_holds", "_rows", "_sums", "key")

    def __init__(self, key: str, rows: DomainRows, counted: Sequence[Counted], nodes: NodeView) -> None:
        self.key = key
        self._rows = rows
        self._sums = DomainSums(rows.ids, rows.size, counted, nodes)
        self._look()

    def _look(self) -> None:
        self._holds: BoolArray = self._sums.values > 0
        self._cells = self._holds.data
        self._count = int(np.count_nonzero(self._holds))

    def follow(self, nodes: NodeView) -> Sequence[int] | None:
        """Take in which pods are there now; the rows of which the domain is another way now, None when these are many."""
        before = self._sums.follow(nodes)
        if before is None:
            self._look()
            return None
        turned = []
        for domain in before:
            holds = self._sums.cells[domain] > 0
            if holds != self._cells[domain]:
                self._cells[domain] = holds
                self._count += 1 if holds else -1
                turned.append(domain)
        return self._rows.among(turned)

    def of(self, nodes: NodeView) -> Bools:
        """Whether the node's domain has one of the pods."""
        ids = self._rows.ids[nodes.rows]
        return bool(self._cells[ids]) if nodes.is_row else self._holds.take(ids)

    @property
    def is_empty(self) -> bool:
        return not self._count


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
    ids = of.rows.ids
    total = np.zeros(len(ids), np.int64)
    counts = False
    for weight, column in weighted:
        counts = counts or bool(np.any(column, where=True if of.labelled is None else of.labelled))
        total += np.multiply(column, weight)
    if not counts:
        return None
    # Exact: sums of weights of up to 100 stay far below 2**53.
    by_id = np.bincount(ids, weights=total, minlength=of.rows.size).astype(np.int64)
    by_id[0] = 0
    return Weights(key, by_id, by_id[ids])


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
