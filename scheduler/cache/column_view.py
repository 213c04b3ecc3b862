"""Some rows of the table, or all, as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scheduler.api.objects import Volume
from scheduler.cache.labels import LabelColumn
from scheduler.cache.table_view import TableView
from scheduler.framework.affinity_terms import HeldTerm
from scheduler.framework.ops import BoolArray, IdArray, IntArray
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.pod_match import PodMatch

if TYPE_CHECKING:
    from scheduler.cache.columns import Column
    from scheduler.cache.node_table import NodeTable


class ColumnView(TableView):
    """Some rows, or all, as arrays. They show the table's memory: they are read-only, and good until its next change."""

    __slots__ = ("_count", "_feasible", "_size", "is_all", "rows")
    is_row = False

    def __init__(self, table: NodeTable, rows: IntArray | None, feasible: BoolArray | None = None) -> None:
        self._table = table
        self._feasible = feasible
        self._size = table.size
        self.rows: slice | IntArray = slice(0, self._size) if rows is None else rows
        self._count = self._size if rows is None else len(rows)
        self.is_all = rows is None

    def __len__(self) -> int:
        return self._count

    def _taken(self, column: Column | None) -> Any:
        return np.zeros(self._count, np.int64) if column is None else column.values[self.rows]

    def is_named(self, name: str) -> BoolArray:
        found = np.zeros(self._size, np.bool_)
        row = self._table.row_of(name)
        if row is not None:
            found[row] = True
        named: BoolArray = found[self.rows]
        return named

    def allocatable(self, resource: str) -> IntArray:
        amounts: IntArray = self._taken(self._table.resources.allocatable.get(resource))
        return amounts

    def requested(self, resource: str) -> IntArray:
        amounts: IntArray = self._taken(self._table.resources.requested.get(resource))
        return amounts

    def non_zero_requested(self, resource: str) -> IntArray:
        amounts: IntArray = self._taken(self._table.resources.non_zero[resource])
        return amounts

    def usage(self, resource: str) -> tuple[IntArray, IntArray]:
        return self.allocatable(resource), self.requested(resource)

    def non_zero_usage(self, resource: str) -> tuple[IntArray, IntArray]:
        return self.allocatable(resource), self.non_zero_requested(resource)

    @property
    def pod_count(self) -> IntArray:
        counts: IntArray = self._taken(self._table.resources.pod_count)
        return counts

    @property
    def allowed_pods(self) -> IntArray:
        counts: IntArray = self._taken(self._table.resources.allowed_pods)
        return counts

    @property
    def unschedulable(self) -> BoolArray:
        unschedulable: BoolArray = self._taken(self._table.unschedulable)
        return unschedulable

    @property
    def taints(self) -> IdArray:
        ids: IdArray = self._taken(self._table.taints.column)
        return ids

    @property
    def features(self) -> IdArray:
        ids: IdArray = self._taken(self._table.features.column)
        return ids

    def label(self, key: str) -> IdArray:
        ids: IdArray = self._taken(self._table.label_column(key).column)
        return ids

    def label_ids(self, key: str) -> LabelColumn:
        return self._table.label_column(key)

    def matching_pods(self, match: PodMatch) -> IntArray:
        counts: IntArray = self._taken(self._table.pods.column(match).column)
        return counts

    def term_holders(self, held: HeldTerm) -> IntArray:
        counts: IntArray = self._taken(self._table.terms.column(held))
        return counts

    @property
    def feasible(self) -> BoolArray:
        if self._feasible is None:
            raise RuntimeError("feasible nodes are known to PreScore and Score of all nodes only")
        return self._feasible

    def port_conflicts(self, host_ip: str, protocol: str, port: int) -> BoolArray:
        conflicts = np.zeros(self._size, np.bool_)
        for users in self._table.host_ports.conflicts(host_ip, protocol, port):
            conflicts[np.fromiter(users, np.int64, len(users))] = True
        conflicting: BoolArray = conflicts[self.rows]
        return conflicting

    def image_size(self, name: str) -> IntArray:
        sizes: IntArray = self._table.image_column(name)[self.rows]
        return sizes

    def _row_at(self, position: int) -> int:
        return position if isinstance(self.rows, slice) else int(self.rows[position])

    def node_name(self, position: int) -> str:
        row = self._row_at(position)
        return self._table.name_of(row) if self._table.is_live(row) else ""

    def disk_conflicts(self, volume: Volume) -> BoolArray:
        conflicts = np.zeros(self._size, np.bool_)
        for users in self._table.volumes.conflicts(volume):
            conflicts[np.fromiter(users, np.int64, len(users))] = True
        conflicting: BoolArray = conflicts[self.rows]
        return conflicting

    def attached_volumes(self, driver: str) -> IntArray:
        counts: IntArray = self._taken(self._table.volume_counts.count(driver))
        return counts

    def uses_volume(self, unique_name: str) -> BoolArray:
        using = np.zeros(self._size, np.bool_)
        rows = self._table.volume_counts.rows_using(unique_name)
        using[np.fromiter(rows, np.int64, len(rows))] = True
        used: BoolArray = using[self.rows]
        return used

    @property
    def failing_volumes(self) -> IntArray:
        counts: IntArray = self._taken(self._table.volume_counts.failing)
        return counts

    def pods_with_volumes(self, position: int) -> list[PodInfo]:
        return self._table.volumes.pods(self._row_at(position))

    @property
    def has_csi_node(self) -> BoolArray:
        known: BoolArray = self._taken(self._table.csi.known)
        return known

    @property
    def has_csi_limits(self) -> BoolArray:
        limited: BoolArray = self._taken(self._table.csi.limited)
        return limited

    def csi_limit(self, driver: str) -> IntArray:
        limits: IntArray = self._table.csi.limits(driver)[self.rows]
        return limits

    def has_csi_driver(self, driver: str) -> BoolArray:
        installed = self._table.csi.installed(driver)
        return np.zeros(self._count, np.bool_) if installed is None else self._taken(installed)
