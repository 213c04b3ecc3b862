"""Values of a node label as domains: which of them hold a pod, and what they add to a score."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from scheduler.framework import ops
from scheduler.framework.columns import same_verdict
from scheduler.framework.ops import BoolArray, Bools, IdArray, IntArray, Ints
from scheduler.framework.view import NodeView


class Occupied(NamedTuple):
    """``holds[id]``: whether a node with that value of the label has one of the pods; False without the label."""

    key: str
    holds: BoolArray

    def of(self, nodes: NodeView) -> Bools:
        """Whether the node's domain has one of the pods."""
        holds: Bools = ops.gather(self.holds, nodes.label(self.key))
        return holds


class Weights(NamedTuple):
    """``sums[id]``: what a node with that value of the label gets; 0 without the label."""

    key: str
    sums: IntArray

    def of(self, nodes: NodeView) -> Ints:
        sums: Ints = ops.gather(self.sums, nodes.label(self.key))
        return sums


def _ids(nodes: NodeView, key: str) -> tuple[IdArray, int]:
    """The ids of all rows, and how many ids that takes."""
    ids = nodes.label(key)
    assert isinstance(ids, np.ndarray)
    return ids, int(ids.max(initial=0)) + 1


def occupied(nodes: NodeView, key: str, columns: Iterable[Ints]) -> Occupied:
    """The domains with at least one of the pods that these columns of all rows count."""
    ids, size = _ids(nodes, key)
    holds = np.zeros(size, np.bool_)
    for column in columns:
        holds[ids[np.flatnonzero(column)]] = True
    holds[0] = False
    return Occupied(key, holds)


def weights(nodes: NodeView, key: str, weighted: Iterable[tuple[int, Ints]]) -> Weights | None:
    """What the pods of a domain add up to, each with the weight of its column; None when no domain has any of them."""
    ids, size = _ids(nodes, key)
    labelled = ids != 0
    total = np.zeros(len(ids), np.int64)
    found = False
    for weight, column in weighted:
        found = found or bool(np.any(column, where=labelled))
        total += np.multiply(column, weight)
    if not found:
        return None
    # Exact: sums of weights of up to 100 stay far below 2**53.
    sums = np.bincount(ids, weights=total, minlength=size).astype(np.int64)
    sums[0] = 0
    return Weights(key, sums)


def any_of(domains: Iterable[Occupied], nodes: NodeView) -> Bools:
    """Whether any of the node's domains has one of the pods."""
    found: Bools | None = None
    for each in domains:
        holds = each.of(nodes)
        found = holds if found is None else found | holds
    return same_verdict(nodes, False) if found is None else found


def all_of(domains: Iterable[Occupied], nodes: NodeView) -> Bools:
    """Whether each of the node's domains has one of the pods."""
    found: Bools | None = None
    for each in domains:
        holds = each.of(nodes)
        found = holds if found is None else found & holds
    return same_verdict(nodes, True) if found is None else found


def has_all_keys(domains: Iterable[Occupied], nodes: NodeView) -> Bools:
    """Whether the node has every one of the labels."""
    found = same_verdict(nodes, True)
    for each in domains:
        found = found & (nodes.label(each.key) != 0)
    return found
