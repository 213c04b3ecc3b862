"""What counts of pods add up to in the domains of a topology label, followed change by change.

A pod that comes to a node changes one sum; to add up all nodes again would take as long as all the rest of a reused decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from scheduler.framework.affinity_terms import HeldTerm
from scheduler.framework.ops import IntArray, Ints
from scheduler.framework.pod_match import PodMatch
from scheduler.framework.view import NodeView

Counted: TypeAlias = PodMatch | HeldTerm
"""The pods that match, or those that hold a term."""


class DomainSums:
    """Sums of one or several counts of each row, by domain.

    Attributes:
        values: shape (size,), by id of the domain; that of id 0, which stands for rows that are in none, is 0.
        cells: the same memory, read as Python ints.

    Args:
        domain_of: id of each row's domain, shape (rows,), as it is for as long as the object lives.
        size: number of ids.
    """

    __slots__ = ("_counted", "_domain_cells", "_domain_of", "_versions", "cells", "values")

    def __init__(self, domain_of: npt.NDArray[np.intp], size: int, counted: Sequence[Counted], nodes: NodeView) -> None:
        self._domain_of = domain_of
        self._domain_cells = domain_of.data
        self._counted = counted
        self._versions: list[int] = [0] * len(counted)
        self._hold(np.zeros(size, np.int64))
        self._add_up(nodes)

    def _hold(self, values: IntArray) -> None:
        self.values = values
        self.cells = values.data

    def _add_up(self, nodes: NodeView) -> None:
        values = np.zeros(len(self.values), np.int64)
        for index, each in enumerate(self._counted):
            column: Ints
            if isinstance(each, PodMatch):
                self._versions[index], column = nodes.matching_version(each), nodes.matching_pods(each)
            else:
                self._versions[index], column = nodes.term_version(each), nodes.term_holders(each)
            # Exact, although it is added up in float64: pods are nowhere near 2**53.
            values += np.bincount(self._domain_of, weights=column, minlength=len(values)).astype(np.int64)
        values[0] = 0
        self._hold(values)

    def follow(self, nodes: NodeView) -> dict[int, int] | None:
        """Take in what changed since the last time; the sums before by changed domain, None when all were made anew."""
        before: dict[int, int] = {}
        for index, each in enumerate(self._counted):
            since = self._versions[index]
            if isinstance(each, PodMatch):
                self._versions[index], changes = nodes.matching_changes(each, since)
            else:
                self._versions[index], changes = nodes.term_changes(each, since)
            if changes is None:
                self._add_up(nodes)
                return None
            for row, change in changes:
                domain = self._domain_cells[row]
                if domain:
                    before.setdefault(domain, self.cells[domain])
                    self.cells[domain] += change
        return before
