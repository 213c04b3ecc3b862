"""Hard constraints: how many matching pods each domain has, and which domains can take one more.

A domain is one value of the topology label; what is said of it is worked out once per interned value and gathered by row.
Source: kube-scheduler 1.37: PodTopologySpread, PreFilter and Filter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from scheduler.framework import ops
from scheduler.framework.domain_rows import DomainRows
from scheduler.framework.domain_sums import DomainSums
from scheduler.framework.ops import Bools, MaskArray, Masks
from scheduler.framework.status import Code, Reason
from scheduler.framework.view import NodeView
from scheduler.plugins.pod_topology_spread.constraints import Constraint, Inclusion, has_all_keys

MOST = 32
"""Constraints with bits of their own in a mask; all further ones share the last."""

_NO_DOMAIN = 2**31 - 1
_NOT_MATCHED = "node(s) didn't match pod topology spread constraints"


def reasons(constraints: tuple[Constraint, ...]) -> tuple[Reason, ...]:
    """Two bits for each constraint: the node has no such label, and it would be too far above the least domain."""
    found = []
    for number, constraint in enumerate(constraints[:MOST]):
        detail = f"topologyKey {constraint.topology_key}, maxSkew {constraint.max_skew}"
        if number == MOST - 1 and len(constraints) > MOST:
            detail = ""
        found.append(Reason(f"{_NOT_MATCHED} (missing required label)", Code.UNSCHEDULABLE_AND_UNRESOLVABLE, detail))
        found.append(Reason(_NOT_MATCHED, Code.UNSCHEDULABLE, detail))
    return tuple(found)


class _Skew:
    """What one constraint says of each domain, as pods come and go.

    Attributes:
        rows: the rows of each value of the label.
        masks: shape (size,), by id of the topology value.
        cells: the same memory, read as Python ints.
    """

    __slots__ = (
        "_above",
        "_allowed",
        "_has_enough",
        "_least",
        "_missing",
        "_present",
        "_sums",
        "_with_least",
        "cells",
        "masks",
        "rows",
    )

    def __init__(self, number: int, constraint: Constraint, counts: Bools, nodes: NodeView) -> None:
        ids = nodes.label(constraint.topology_key)
        assert isinstance(ids, np.ndarray)
        self.rows = DomainRows(ids)
        bucket: npt.NDArray[np.intp] = np.where(counts, self.rows.ids, 0)
        # Domains are the values that a node has which counts.
        seen = np.bincount(bucket, minlength=self.rows.size)
        seen[0] = 0
        self._present = np.flatnonzero(seen)
        counted = () if constraint.match is None else (constraint.match,)
        self._sums = DomainSums(bucket, self.rows.size, counted, nodes)
        bit = 2 * min(number, MOST - 1)
        self._missing, self._above = 1 << bit, 1 << (bit + 1)
        self._allowed = constraint.max_skew - constraint.self_match
        self._has_enough = len(self._present) >= constraint.min_domains
        self._judge_all()

    def _judge_all(self) -> None:
        """What no domain holds is 0; so is what was added up for rows that do not count."""
        counts = self._sums.values[self._present]
        self._least = int(counts.min(initial=_NO_DOMAIN)) if self._has_enough else 0
        self._with_least = int(np.count_nonzero(counts == self._least))
        masks: MaskArray = (self._sums.values > self._allowed + self._least) * np.uint64(self._above)
        masks[0] = self._missing
        self.masks = masks
        self.cells = masks.data

    def follow(self, nodes: NodeView) -> Iterable[int] | None:
        """The values with another verdict than the last time; None when they were not told apart."""
        before = self._sums.follow(nodes)
        if before is None:
            self._judge_all()
            return None
        if self._has_enough and self._has_other_least(before):
            masks = self.masks
            self._judge_all()
            return np.flatnonzero(masks != self.masks).tolist()
        changed = []
        most = self._allowed + self._least
        for domain in before:
            mask = self._above if self._sums.cells[domain] > most else 0
            if mask != self.cells[domain]:
                self.cells[domain] = mask
                changed.append(domain)
        return changed

    def _has_other_least(self, before: Mapping[int, int]) -> bool:
        for domain, was in before.items():
            now = self._sums.cells[domain]
            if now < self._least:
                return True
            self._with_least += (now == self._least) - (was == self._least)
        return self._with_least <= 0


class Skews:
    """What Filter says of each domain, by constraint; good for one version of the nodes, their labels and taints."""

    def __init__(
        self, version: int, constraints: tuple[Constraint, ...], inclusion: Inclusion, nodes: NodeView
    ) -> None:
        self.version = version
        eligible = has_all_keys(constraints, nodes)
        self._skews = []
        for number, constraint in enumerate(constraints):
            counts: Bools = eligible
            if inclusion.restricts(constraint):
                counts = counts & inclusion.matches(constraint, nodes)
            self._skews.append(_Skew(number, constraint, counts, nodes))

    def follow(self, nodes: NodeView) -> Sequence[int] | None:
        """Count the pods that are on the nodes now; the rows with another verdict than before, None when these are many."""
        found: set[int] | None = set()
        for skew in self._skews:
            domains = skew.follow(nodes)
            rows = None if domains is None else skew.rows.among(domains)
            found = None if found is None or rows is None else found.union(rows)
        return None if found is None else sorted(found)

    def refused(self, nodes: NodeView) -> Masks:
        """The first constraint that refuses a node says why."""
        mask: Masks = 0
        for number, skew in enumerate(self._skews):
            ids = skew.rows.ids[nodes.rows]
            more: Masks = skew.cells[ids] if nodes.is_row else skew.masks.take(ids)
            mask = ops.where(mask == 0, more, mask) if number else more
        return mask
