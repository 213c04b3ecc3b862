"""Hard constraints: how many matching pods each domain has, and which domains can take one more.

A domain is one value of the topology label; what is said of it is worked out once per interned value and gathered by row.
Source: kube-scheduler 1.37: PodTopologySpread, PreFilter and Filter.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scheduler.framework import ops
from scheduler.framework.ops import BoolArray, Bools, FloatArray, Ints, MaskArray, Masks
from scheduler.framework.status import Code, Reason
from scheduler.framework.view import NodeView
from scheduler.plugins.pod_topology_spread.constraints import Constraint, Inclusion, has_all_keys

MOST = 32
"""Constraints with bits of their own in a mask; all further ones share the last."""

_FEW = 32
"""Up to so many values plain numbers are quicker than arrays."""
_NO_DOMAIN = float(2**31 - 1)
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


def totals(bucket: npt.NDArray[np.intp], counts: Ints, size: int) -> FloatArray:
    """The counts of the rows of each bucket, added up, shape ``(size,)``: float64 and exact, as pods are nowhere near 2**53."""
    return np.bincount(bucket, weights=counts, minlength=size).astype(np.float64, copy=False)


class _Domains:
    """The domains of one constraint, as the nodes' labels and taints are.

    ``bucket``: shape (rows,), the value id of each row that counts, 0 of the others. ``present``: ids of the domains, which
    are the values that a node that counts has. ``size``: number of ids that rows have.
    """

    __slots__ = ("bucket", "present", "size")

    def __init__(self, ids: npt.NDArray[np.int32], counts: BoolArray) -> None:
        self.bucket: npt.NDArray[np.intp] = np.where(counts, ids, 0).astype(np.intp)
        self.size = int(ids.max(initial=0)) + 1
        seen = np.bincount(self.bucket, minlength=self.size)
        seen[0] = 0
        self.present = np.flatnonzero(seen)


class Layout:
    """The domains of every constraint; good for one version of the nodes, their labels and taints."""

    def __init__(
        self, version: int, constraints: tuple[Constraint, ...], inclusion: Inclusion, nodes: NodeView
    ) -> None:
        self.version = version
        eligible = has_all_keys(constraints, nodes)
        assert isinstance(eligible, np.ndarray)
        self.domains = []
        for constraint in constraints:
            counts: Bools = eligible
            if inclusion.restricts(constraint):
                counts = counts & inclusion.matches(constraint, nodes)
            ids = nodes.label(constraint.topology_key)
            assert isinstance(ids, np.ndarray)
            assert isinstance(counts, np.ndarray)
            self.domains.append(_Domains(ids, counts))


class Skews:
    """What Filter says of each domain, by constraint. Never changed."""

    def __init__(self, constraints: tuple[Constraint, ...], layout: Layout, sums: list[FloatArray]) -> None:
        self._constraints = constraints
        self._masks = [
            _masks(constraint, domains, by_domain, number)
            for number, (constraint, domains, by_domain) in enumerate(
                zip(constraints, layout.domains, sums, strict=True)
            )
        ]

    @classmethod
    def counted(cls, constraints: tuple[Constraint, ...], layout: Layout, nodes: NodeView) -> Skews:
        """With the pods that are on all nodes now."""
        sums: list[FloatArray] = []
        for constraint, domains in zip(constraints, layout.domains, strict=True):
            if constraint.match is None:
                sums.append(np.zeros(domains.size))
            else:
                sums.append(totals(domains.bucket, nodes.matching_pods(constraint.match), domains.size))
        return cls(constraints, layout, sums)

    def refused(self, nodes: NodeView) -> Masks:
        """The first constraint that refuses a node says why."""
        mask: Masks = 0
        for number, constraint in enumerate(self._constraints):
            more: Masks = ops.gather(self._masks[number], nodes.label(constraint.topology_key))
            mask = ops.where(mask == 0, more, mask) if number else more
        return mask


def _masks(constraint: Constraint, domains: _Domains, sums: FloatArray, number: int) -> MaskArray:
    """By id of the topology value."""
    # What no domain holds is 0; so is what was added up for rows that do not count.
    bit = 2 * min(number, MOST - 1)
    has_enough = len(domains.present) >= constraint.min_domains
    allowed = constraint.max_skew - constraint.self_match
    if domains.size <= _FEW:
        counts = sums.tolist()
        present = [counts[value] for value in domains.present.tolist()]
        most = allowed + (min(present, default=_NO_DOMAIN) if has_enough else 0.0)
        above = 1 << (bit + 1)
        found = [above if count > most else 0 for count in counts]
        found[0] = 1 << bit
        return np.array(found, np.uint64)
    most = allowed + (float(sums[domains.present].min(initial=_NO_DOMAIN)) if has_enough else 0.0)
    masks: MaskArray = (sums > most).astype(np.uint64) << np.uint64(bit + 1)
    masks[0] = 1 << bit
    return masks
