"""What a plugin sees of the table: columns of many rows or scalars of one, and nothing that it did not declare.

For each plugin a class of either kind is made once. An accessor that the plugin did not declare is replaced in it by one
that raises, so the check costs the allowed ones nothing.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from scheduler.api.objects import Taint, Volume
from scheduler.api.selectors import LabelMatcher
from scheduler.cache.deduced_selectors import DeducedSelector
from scheduler.cache.labels import LabelColumn, RowLabelIds
from scheduler.framework.affinity_terms import HeldTerm, ReachingTerms
from scheduler.framework.facet import Facet, Input, UndeclaredReadError
from scheduler.framework.ops import BoolArray, IdArray, IntArray
from scheduler.framework.plugin import Plugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.pod_match import PodMatch
from scheduler.framework.storage import Storage

if TYPE_CHECKING:
    from scheduler.cache.columns import Column
    from scheduler.cache.node_table import NodeTable

NEEDS: dict[str, Facet | Input] = {
    "is_named": Facet.NAME,
    "allocatable": Facet.RESOURCES,
    "requested": Facet.RESOURCES,
    "non_zero_requested": Facet.RESOURCES,
    "usage": Facet.RESOURCES,
    "non_zero_usage": Facet.RESOURCES,
    "pod_count": Facet.RESOURCES,
    "allowed_pods": Facet.RESOURCES,
    "unschedulable": Facet.UNSCHEDULABLE,
    "taints": Facet.TAINTS,
    "taint_sets": Facet.TAINTS,
    "features": Facet.FEATURES,
    "feature_lists": Facet.FEATURES,
    "label": Facet.LABELS,
    "label_ids": Facet.LABELS,
    "port_conflicts": Facet.PORTS,
    "image_size": Facet.IMAGES,
    "image_holders": Input.IMAGE_HOLDERS,
    "image_version": Input.IMAGE_HOLDERS,
    "node_name": Facet.NAME,
    "disk_conflicts": Facet.VOLUMES,
    "attached_volumes": Input.STORAGE,
    "uses_volume": Input.STORAGE,
    "failing_volumes": Input.STORAGE,
    "pods_with_volumes": Facet.VOLUMES,
    "has_csi_node": Facet.VOLUMES,
    "has_csi_limits": Facet.VOLUMES,
    "csi_limit": Facet.VOLUMES,
    "has_csi_driver": Facet.VOLUMES,
    "storage": Input.STORAGE,
    "total_nodes": Input.NODE_COUNT,
    "feasible": Input.FEASIBLE,
    "domain_version": Input.DOMAINS,
    "matching_pods": Input.POD_COUNTS,
    "matching_version": Input.POD_COUNTS,
    "matching_changes": Input.POD_COUNTS,
    "reaching_terms": Input.POD_TERMS,
    "term_holders": Input.POD_TERMS,
    "term_version": Input.POD_TERMS,
    "term_changes": Input.POD_TERMS,
    "selects_namespaces": Input.POD_TERMS,
    "matching_namespaces": Input.NAMESPACES,
    "namespaces_version": Input.NAMESPACES,
    "deduced_selector": Input.SELECTING_OBJECTS,
}
"""What a plugin has to declare to use an accessor."""


class _View:
    """What does not depend on the rows."""

    __slots__ = ("_table",)
    _table: NodeTable

    @property
    def taint_sets(self) -> list[tuple[Taint, ...]]:
        return self._table.taints.items

    @property
    def feature_lists(self) -> list[tuple[str, ...]]:
        return self._table.features.items

    def image_holders(self, name: str) -> int:
        return self._table.images.holders(name)

    def image_version(self, name: str) -> int:
        return self._table.images.version(name)

    @property
    def storage(self) -> Storage:
        return self._table.storage

    @property
    def total_nodes(self) -> int:
        return self._table.node_count

    @property
    def domain_version(self) -> int:
        return self._table.domain_version

    def matching_version(self, match: PodMatch) -> int:
        return self._table.pods.column(match).version

    def matching_changes(self, match: PodMatch, version: int) -> tuple[int, list[tuple[int, int]] | None]:
        column = self._table.pods.column(match)
        return column.version, column.log.since(version)

    def reaching_terms(self, namespace: str) -> ReachingTerms:
        return self._table.terms.reaching(namespace)

    def term_version(self, held: HeldTerm) -> int:
        return self._table.terms.version(held)

    def term_changes(self, held: HeldTerm, version: int) -> tuple[int, list[tuple[int, int]] | None]:
        return self._table.terms.changes(held, version)

    @property
    def selects_namespaces(self) -> bool:
        return self._table.terms.selects_namespaces

    def matching_namespaces(self, selector: LabelMatcher) -> frozenset[str]:
        return self._table.namespaces.matching(selector)

    @property
    def namespaces_version(self) -> int:
        return self._table.namespaces.version

    def deduced_selector(self, pod: PodInfo) -> DeducedSelector:
        return self._table.deduced_selectors.of(pod.pod.metadata)


class ColumnView(_View):
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


class RowView(_View):
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


@cache
def column_view_of(plugin: type[Plugin]) -> type[ColumnView]:
    """The column view of what this plugin declared."""
    return type(f"{plugin.__name__}ColumnView", (ColumnView,), {"__slots__": (), **_refusals(plugin, ColumnView)})


@cache
def row_view_of(plugin: type[Plugin]) -> type[RowView]:
    """The row view of what this plugin declared."""
    return type(f"{plugin.__name__}RowView", (RowView,), {"__slots__": (), **_refusals(plugin, RowView)})


def _refusals(plugin: type[Plugin], view: type[_View]) -> dict[str, Any]:
    undeclared = (accessor for accessor, need in NEEDS.items() if not _declares(plugin, need))
    return {accessor: _refusal(plugin.name, accessor, view) for accessor in undeclared}


def _declares(plugin: type[Plugin], need: Facet | Input) -> bool:
    return need in plugin.inputs if isinstance(need, Input) else need in plugin.facets


def _refusal(plugin: str, accessor: str, view: type[_View]) -> Any:
    need = NEEDS[accessor]
    what = f"{accessor} ({type(need).__name__}.{need.name})"

    def refuse(_view: object, *_arguments: object) -> Any:
        raise UndeclaredReadError(plugin, what)

    return property(refuse) if isinstance(getattr(view, accessor), property) else refuse
