"""One row of the table as Python scalars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scheduler.api.objects import Volume
from scheduler.cache.labels import RowLabelIds
from scheduler.cache.table_view import TableView
from scheduler.framework.affinity_terms import HeldTerm
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.pod_match import PodMatch

if TYPE_CHECKING:
    from scheduler.cache.node_table import NodeTable


class RowView(TableView):
    """One row as Python ints and bools. A view can be moved to another row, and then shows the table as it is now."""

    __slots__ = ("_allocatable", "_non_zero", "_requested", "_resources", "rows")
    is_row = True
    is_all = False

    def __init__(self, table: NodeTable, row: int = 0) -> None:
        self._table = table
        self.rows = row
        self._resources = resources = table.resources
        self._allocatable = resources.allocatable.cells
        self._requested = resources.requested.cells
        self._non_zero = resources.non_zero_cells

    def at(self, row: int) -> Self:
        """The same view, of another row from now on."""
        self.rows = row
        return self

    def __len__(self) -> int:
        return 1

    def is_named(self, name: str) -> bool:
        return self._table.row_of(name) == self.rows

    def allocatable(self, resource: str) -> int:
        try:
            amount: int = self._allocatable[resource][self.rows]
        except KeyError:
            return 0
        return amount

    def requested(self, resource: str) -> int:
        try:
            amount: int = self._requested[resource][self.rows]
        except KeyError:
            return 0
        return amount

    def non_zero_requested(self, resource: str) -> int:
        amount: int = self._non_zero[resource][self.rows]
        return amount

    def usage(self, resource: str) -> tuple[int, int]:
        row = self.rows
        try:
            return self._allocatable[resource][row], self._requested[resource][row]
        except KeyError:
            return self.allocatable(resource), self.requested(resource)

    def non_zero_usage(self, resource: str) -> tuple[int, int]:
        row = self.rows
        try:
            return self._allocatable[resource][row], self._non_zero[resource][row]
        except KeyError:
            return self.allocatable(resource), self.non_zero_requested(resource)

    @property
    def pod_count(self) -> int:
        count: int = self._resources.pod_count.cells[self.rows]
        return count

    @property
    def allowed_pods(self) -> int:
        count: int = self._resources.allowed_pods.cells[self.rows]
        return count

    @property
    def unschedulable(self) -> bool:
        unschedulable: bool = self._table.unschedulable.cells[self.rows]
        return unschedulable

    @property
    def taints(self) -> int:
        number: int = self._table.taints.column.cells[self.rows]
        return number

    @property
    def features(self) -> int:
        number: int = self._table.features.column.cells[self.rows]
        return number

    def label(self, key: str) -> int:
        number: int = self._table.label_column(key).column.cells[self.rows]
        return number

    def label_ids(self, key: str) -> RowLabelIds:
        return self._table.label_column(key).for_row

    def matching_pods(self, match: PodMatch) -> int:
        count: int = self._table.pods.column(match).column.cells[self.rows]
        return count

    def term_holders(self, held: HeldTerm) -> int:
        column = self._table.terms.column(held)
        count: int = 0 if column is None else column.cells[self.rows]
        return count

    @property
    def feasible(self) -> bool:
        raise RuntimeError("feasible nodes are known to PreScore and Score of all nodes only")

    def port_conflicts(self, host_ip: str, protocol: str, port: int) -> bool:
        return any(self.rows in users for users in self._table.host_ports.conflicts(host_ip, protocol, port))

    def image_size(self, name: str) -> int:
        return self._table.images.size(name, self.rows)

    def node_name(self, _position: int) -> str:
        return self._table.name_of(self.rows) if self._table.is_live(self.rows) else ""

    def disk_conflicts(self, volume: Volume) -> bool:
        return any(self.rows in users for users in self._table.volumes.conflicts(volume))

    def attached_volumes(self, driver: str) -> int:
        column = self._table.volume_counts.count(driver)
        count: int = 0 if column is None else column.cells[self.rows]
        return count

    def uses_volume(self, unique_name: str) -> bool:
        return self.rows in self._table.volume_counts.rows_using(unique_name)

    @property
    def failing_volumes(self) -> int:
        count: int = self._table.volume_counts.failing.cells[self.rows]
        return count

    def pods_with_volumes(self, _position: int) -> list[PodInfo]:
        return self._table.volumes.pods(self.rows)

    @property
    def has_csi_node(self) -> bool:
        known: bool = self._table.csi.known.cells[self.rows]
        return known

    @property
    def has_csi_limits(self) -> bool:
        limited: bool = self._table.csi.limited.cells[self.rows]
        return limited

    def csi_limit(self, driver: str) -> int:
        return self._table.csi.limit(driver, self.rows)

    def has_csi_driver(self, driver: str) -> bool:
        installed = self._table.csi.installed(driver)
        return installed is not None and installed.cells[self.rows]
