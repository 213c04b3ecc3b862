"""Some rows as they would be with other pods: what pods add up to on a node is shifted, all else is as in the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from scheduler.cache.column_view import ColumnView
from scheduler.framework.facet import Facet
from scheduler.framework.ops import BoolArray, IntArray

if TYPE_CHECKING:
    from scheduler.cache.node_table import NodeTable

SUMMED = int(Facet.RESOURCES | Facet.PORTS)
"""What of a node is a sum over its pods, so that it is known for other pods without moving any. All that a view shows of these
facets is shifted here."""


class Shift(Protocol):
    """By how much the sums of some rows are others, each of the shape ``(len(rows),)``."""

    def requested(self, resource: str) -> IntArray: ...

    def non_zero_requested(self, resource: str) -> IntArray: ...

    @property
    def pod_count(self) -> IntArray: ...

    def port_users(self, host_ip: str, protocol: str, port: int) -> IntArray:
        """Of the number of pods' ports that ``host_ip`` meets at the host port."""
        ...


class SummedView(ColumnView):
    """A column view with other sums. ``shift`` can be another one at each reading."""

    __slots__ = ("_shift",)

    def __init__(self, table: NodeTable, rows: IntArray, shift: Shift) -> None:
        super().__init__(table, rows)
        self._shift = shift

    def requested(self, resource: str) -> IntArray:
        return ColumnView.requested(self, resource) + self._shift.requested(resource)

    def non_zero_requested(self, resource: str) -> IntArray:
        return ColumnView.non_zero_requested(self, resource) + self._shift.non_zero_requested(resource)

    def usage(self, resource: str) -> tuple[IntArray, IntArray]:
        return ColumnView.allocatable(self, resource), SummedView.requested(self, resource)

    def non_zero_usage(self, resource: str) -> tuple[IntArray, IntArray]:
        return ColumnView.allocatable(self, resource), SummedView.non_zero_requested(self, resource)

    @property
    def pod_count(self) -> IntArray:
        counts: IntArray = self._taken(self._table.resources.pod_count)
        return counts + self._shift.pod_count

    def port_conflicts(self, host_ip: str, protocol: str, port: int) -> BoolArray:
        users = np.zeros(self._size, np.int64)
        for counts in self._table.host_ports.conflicts(host_ip, protocol, port):
            users[np.fromiter(counts, np.int64, len(counts))] += np.fromiter(counts.values(), np.int64, len(counts))
        taken: BoolArray = (users[self.rows] + self._shift.port_users(host_ip, protocol, port)) > 0
        return taken
