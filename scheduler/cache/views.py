"""What a plugin sees of the table: columns of many rows or scalars of one, and nothing that it did not declare.

For each plugin a class of either kind is made once. An accessor that the plugin did not declare is replaced in it by one
that raises, so the check costs the allowed ones nothing.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from scheduler.cache.column_view import ColumnView
from scheduler.cache.row_view import RowView
from scheduler.cache.summed_view import SummedView
from scheduler.cache.table_view import TableView
from scheduler.framework.facet import Facet, Input, UndeclaredReadError
from scheduler.framework.plugin import Plugin

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


@cache
def column_view_of(plugin: type[Plugin]) -> type[ColumnView]:
    """The column view of what this plugin declared."""
    return type(f"{plugin.__name__}ColumnView", (ColumnView,), {"__slots__": (), **_refusals(plugin, ColumnView)})


@cache
def row_view_of(plugin: type[Plugin]) -> type[RowView]:
    """The row view of what this plugin declared."""
    return type(f"{plugin.__name__}RowView", (RowView,), {"__slots__": (), **_refusals(plugin, RowView)})


@cache
def summed_view_of(plugin: type[Plugin]) -> type[SummedView]:
    """The view of rows with other sums, of what this plugin declared."""
    return type(f"{plugin.__name__}SummedView", (SummedView,), {"__slots__": (), **_refusals(plugin, SummedView)})


def _refusals(plugin: type[Plugin], view: type[TableView]) -> dict[str, Any]:
    undeclared = (accessor for accessor, need in NEEDS.items() if not _declares(plugin, need))
    return {accessor: _refusal(plugin.name, accessor, view) for accessor in undeclared}


def _declares(plugin: type[Plugin], need: Facet | Input) -> bool:
    return need in plugin.inputs if isinstance(need, Input) else need in plugin.facets


def _refusal(plugin: str, accessor: str, view: type[TableView]) -> Any:
    need = NEEDS[accessor]
    what = f"{accessor} ({type(need).__name__}.{need.name})"

    def refuse(_view: object, *_arguments: object) -> Any:
        raise UndeclaredReadError(plugin, what)

    return property(refuse) if isinstance(getattr(view, accessor), property) else refuse
