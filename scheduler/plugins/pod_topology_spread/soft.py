"""Soft constraints: the fewer matching pods a node's domains have, the better.

Source: kube-scheduler 1.37: PodTopologySpread, PreScore, Score and NormalizeScore. Sums are made in the order in which Go makes
them, so that a half is rounded as it is there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler.framework import ops
from scheduler.framework.ops import BoolArray, Bools, FloatArray, Floats, Ids, Ints
from scheduler.framework.view import NodeView
from scheduler.plugins.pod_topology_spread.constraints import Constraint, Inclusion, has_all_keys
from scheduler.plugins.pod_topology_spread.hard import totals
from scheduler.plugins.pod_topology_spread.logarithm import log_of_count


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


def shares_of(
    constraints: tuple[Constraint, ...], layout: Layout, weights: tuple[float, ...], nodes: NodeView
) -> list[FloatArray | None]:
    """What each value of a topology label adds to the score of its nodes, by constraint; None for hostnames."""
    shares: list[FloatArray | None] = []
    for number, constraint in enumerate(constraints):
        bucket, size = layout.buckets[number], layout.sizes[number]
        if bucket is None:
            shares.append(None)
            continue
        if constraint.match is None:
            sums = np.zeros(size)
        else:
            sums = totals(bucket, nodes.matching_pods(constraint.match), size)[:size]
        if layout.empty[number]:
            sums[layout.empty[number]] += sums[0]
        share: FloatArray = sums * weights[number] + float(constraint.max_skew - 1)
        share[0] = 0.0  # without the label there is nothing to add
        shares.append(share)
    return shares


class Scores:
    """Raw scores of all nodes and of each, from what PreScore found out. Never changed."""

    def __init__(
        self,
        constraints: tuple[Constraint, ...],
        weights: tuple[float, ...],
        shares: list[FloatArray | None],
        *,
        requires_all: bool,
    ) -> None:
        self._constraints = constraints
        self._weights = weights
        self._shares = shares
        self._requires_all = requires_all
        self.low: int | None = None
        """The lowest raw score of the feasible nodes that are scored, when some feasible ones are not."""

    def find_low(self, scored: BoolArray, nodes: NodeView) -> None:
        """Look up ``low`` among these rows of all; it is 0 if there is none."""
        raw = np.asarray(self.raw(nodes))[scored]
        self.low = int(raw.min()) if len(raw) else 0

    def ignored(self, nodes: NodeView) -> Bools:
        """Rows that lack a topology label that every scored node has to have."""
        if not self._requires_all:
            return False if nodes.is_row else np.zeros(len(nodes), np.bool_)
        return ops.not_(has_all_keys(self._constraints, nodes))

    def raw(self, nodes: NodeView) -> Ints:
        """The score of each row before it is normalised: the higher, the more matching pods there are."""
        total: Floats = 0.0
        for number, constraint in enumerate(self._constraints):
            ids = nodes.label(constraint.topology_key)
            added = self._share(number, constraint, ids, nodes)
            total = total + added if number else added
        score = ops.round_half_away(total)
        if not self._requires_all:
            return score
        ignored = self.ignored(nodes)
        return score if ops.nowhere(ignored) else ops.where(ignored, 0, score)

    def _share(self, number: int, constraint: Constraint, ids: Ids, nodes: NodeView) -> Floats:
        share = self._shares[number]
        if share is not None:
            gathered: Floats = ops.gather(share, ids)
            return gathered
        weight, tolerance = self._weights[number], float(constraint.max_skew - 1)
        counts: Ints = 0 if constraint.match is None else nodes.matching_pods(constraint.match)
        has_key = ids != 0
        share_of_node = ops.to_float(counts) * weight + tolerance
        if type(has_key) is not bool and type(share_of_node) is float:
            return np.where(has_key, share_of_node, 0.0)
        return share_of_node if ops.everywhere(has_key) else ops.where(has_key, share_of_node, 0.0)
