"""Soft constraints: the fewer matching pods a node's domains have, the better.

Source: kube-scheduler 1.37: PodTopologySpread, PreScore, Score and NormalizeScore. Sums are made in the order in which Go makes
them, so that a half is rounded as it is there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler.framework import ops
from scheduler.framework.ops import BoolArray, Bools, FloatArray, Floats, IntArray, Ints
from scheduler.framework.view import NodeView
from scheduler.plugins.pod_topology_spread.constraints import Constraint, Inclusion, has_all_keys
from scheduler.plugins.pod_topology_spread.logarithm import log_of_count


def _totals(bucket: npt.NDArray[np.intp], counts: Ints, size: int) -> FloatArray:
    """The counts of the rows of each bucket, added up, shape ``(size,)``: float64 and exact, as pods are nowhere near 2**53."""
    return np.bincount(bucket, weights=counts, minlength=size).astype(np.float64, copy=False)


class Layout:
    """What the nodes, their labels and taints make of the constraints; good for one version of these.

    A node without a label has the value "" of it, like one whose value is "".

    Attributes:
        scored: rows that have all the labels; None when that is not asked of them.
        buckets: by constraint the value id of each row that counts, and one more than the highest id of the others; None for
            hostnames, which are not added up.
        sizes: by constraint the number of value ids.
        empty: by constraint the id of the value "", 0 when no node has it.
    """

    def __init__(
        self,
        version: int,
        constraints: tuple[Constraint, ...],
        inclusion: Inclusion,
        nodes: NodeView,
        *,
        requires_all: bool,
    ) -> None:
        self.version = version
        self.scored: BoolArray | None = None
        if requires_all:
            scored = has_all_keys(constraints, nodes)
            assert isinstance(scored, np.ndarray)
            self.scored = scored
        self.ids: list[npt.NDArray[np.int32]] = []
        self.buckets: list[npt.NDArray[np.intp] | None] = []
        self.sizes: list[int] = []
        self.empty: list[int] = []
        for constraint in constraints:
            ids = nodes.label(constraint.topology_key)
            assert isinstance(ids, np.ndarray)
            size = int(ids.max(initial=0)) + 1
            self.ids.append(ids)
            self.sizes.append(size)
            self.empty.append(max(0, nodes.label_ids(constraint.topology_key).id_of("")))
            if constraint.is_by_hostname:
                self.buckets.append(None)
                continue
            counts: Bools | None = self.scored
            if inclusion.restricts(constraint):
                included = inclusion.matches(constraint, nodes)
                counts = included if counts is None else counts & included
            self.buckets.append(ids.astype(np.intp) if counts is None else np.where(counts, ids, size).astype(np.intp))


def weights_of(constraints: tuple[Constraint, ...], layout: Layout, feasible: BoolArray) -> tuple[float, ...]:
    """ln(number of domains + 2) by constraint: the domains of the feasible nodes that are scored, which hostnames are each."""
    chosen: Any = feasible if layout.scored is None else feasible & layout.scored
    weights = []
    for number, constraint in enumerate(constraints):
        if constraint.is_by_hostname:
            count = int(np.count_nonzero(chosen))
        else:
            seen = np.bincount(layout.ids[number][chosen], minlength=layout.sizes[number]) > 0
            empty = layout.empty[number]
            # A missing label and the value "" are one domain.
            count = int(np.count_nonzero(seen)) - int(bool(empty) and bool(seen[0]) and bool(seen[empty]))
        weights.append(log_of_count(count + 2))
    return tuple(weights)


class Scores:
    """Raw scores of all nodes and of each, from what PreScore found out. Never changed after ``find_low``.

    Attributes:
        ignores: some feasible nodes lack a label that every scored node has to have: they score 0.
        low: the lowest raw score of the other feasible nodes then.
    """

    def __init__(
        self,
        constraints: tuple[Constraint, ...],
        layout: Layout,
        weights: tuple[float, ...],
        nodes: NodeView,
        *,
        ignores: bool,
    ) -> None:
        self.ignores = ignores
        self.low = 0
        self._constraints = constraints
        self._weights = weights
        self._shares = [
            _share(constraint, layout, number, weights[number], nodes) for number, constraint in enumerate(constraints)
        ]
        self._by_value: IntArray | None = None
        """The whole score of each value of the topology label, where there is but one and it is not the hostname."""
        if len(constraints) == 1 and self._shares[0] is not None:
            rounded = ops.round_half_away(self._shares[0])
            assert isinstance(rounded, np.ndarray)
            self._by_value = rounded

    def find_low(self, scored: BoolArray, nodes: NodeView) -> None:
        """Look up ``low`` among these rows of all; it is 0 if there is none."""
        raw = np.asarray(self.raw(nodes))[scored]
        self.low = int(raw.min()) if len(raw) else 0

    def ignored(self, nodes: NodeView) -> Bools:
        """Rows that lack a label, where that matters."""
        return ops.not_(has_all_keys(self._constraints, nodes))

    def raw(self, nodes: NodeView) -> Ints:
        """The score of each row before it is normalised: the higher, the more matching pods there are."""
        if self._by_value is not None:
            score: Ints = ops.gather(self._by_value, nodes.label(self._constraints[0].topology_key))
        else:
            total: Floats = 0.0
            for number, constraint in enumerate(self._constraints):
                added = self._added(number, constraint, nodes)
                total = total + added if number else added
            score = ops.round_half_away(total)
        if not self.ignores:
            return score
        return ops.where(self.ignored(nodes), 0, score)  # type: ignore[no-any-return]

    def _added(self, number: int, constraint: Constraint, nodes: NodeView) -> Floats:
        ids, share = nodes.label(constraint.topology_key), self._shares[number]
        if share is not None:
            gathered: Floats = ops.gather(share, ids)
            return gathered
        weight, tolerance = self._weights[number], float(constraint.max_skew - 1)
        has_key = ids != 0
        if constraint.match is None:
            return ops.where(has_key, tolerance, 0.0)  # type: ignore[no-any-return]
        of_node = ops.to_float(nodes.matching_pods(constraint.match)) * weight + tolerance
        return of_node if ops.everywhere(has_key) else ops.where(has_key, of_node, 0.0)


def _share(constraint: Constraint, layout: Layout, number: int, weight: float, nodes: NodeView) -> FloatArray | None:
    """What each value of the topology label adds to the score of its nodes; None for hostnames."""
    bucket, size, empty = layout.buckets[number], layout.sizes[number], layout.empty[number]
    if bucket is None:
        return None
    if constraint.match is None:
        sums = np.zeros(size)
    else:
        sums = _totals(bucket, nodes.matching_pods(constraint.match), size)[:size]
    if empty:
        sums[empty] += sums[0]
    share: FloatArray = sums * weight + float(constraint.max_skew - 1)
    share[0] = 0.0  # without the label there is nothing to add
    return share
