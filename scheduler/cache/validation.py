"""Everything that the cache holds, worked out again from its nodes and pods and compared."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scheduler.api.ports import HostPort
from scheduler.api.resources import CPU, MEMORY
from scheduler.cache.columns import InternedColumn
from scheduler.cache.node_facts import allocatable_of, features_of, images_of, labels_of, taints_of, tie_key
from scheduler.cache.pod_terms import scopes_of
from scheduler.framework.affinity_terms import HeldTerm
from scheduler.framework.pod_kind import kind_of

if TYPE_CHECKING:
    from scheduler.cache.cache import CachedPod
    from scheduler.cache.node_table import NodeTable

    Pods = Mapping[str, CachedPod]


def check(table: NodeTable, pods: Pods, pods_by_node: Mapping[str, Pods]) -> None:
    """Raises: AssertionError, naming the first thing that is not what nodes and pods make it."""
    _check_pods(pods, pods_by_node)
    _check_rows(table)
    _check_resources(table, pods_by_node)
    _check_interned(table)
    _check_sparse(table, pods_by_node)
    _check_terms(table, pods_by_node)


def _same(what: str, held: Any, expected: Any) -> None:
    if held != expected:
        raise AssertionError(f"{what} is {held!r}, and nodes and pods make it {expected!r}")


def _check_pods(pods: Pods, pods_by_node: Mapping[str, Pods]) -> None:
    by_node: dict[str, dict[str, CachedPod]] = defaultdict(dict)
    for uid, cached in pods.items():
        _same("UID of a pod", cached.pod.uid, uid)
        by_node[cached.node_name][uid] = cached
        if not cached.assumed:
            _same(f"node of pod {uid}", cached.node_name, cached.pod.pod.spec.node_name)
    _same("pods by node", pods_by_node, by_node)


def _check_rows(table: NodeTable) -> None:
    rows = table.rows
    _same("live rows", [row for row, live in enumerate(table.live.tolist()) if live], sorted(rows.values()))
    _same("number of nodes", table.node_count, len(rows))
    _same("used rows", sorted([*rows.values(), *table.free_rows]), list(range(table.size)))
    for name, row in rows.items():
        _same(f"name of row {row}", table.name_of(row), name)
        _same(f"tie key of node {name}", int(table.tie_keys[row]), tie_key(table.seed, name))
    for row in table.free_rows:
        _same(f"tie key of free row {row}", int(table.tie_keys[row]), 0)


def _check_resources(table: NodeTable, pods_by_node: Mapping[str, Pods]) -> None:
    allocatable: dict[str, Counter[int]] = defaultdict(Counter)
    requested: dict[str, Counter[int]] = defaultdict(Counter)
    non_zero: dict[str, Counter[int]] = {CPU: Counter(), MEMORY: Counter()}
    pods: Counter[int] = Counter()
    allowed: Counter[int] = Counter()
    entries = {"allocatable": Counter[str](), "requested": Counter[str]()}
    for name, row in table.rows.items():
        amounts, allowed[row] = allocatable_of(table.node(row))
        for resource, amount in amounts:
            allocatable[resource][row] += amount
            entries["allocatable"][resource] += 1
        for cached in pods_by_node.get(name, {}).values():
            pods[row] += 1
            for resource, amount in cached.pod.amounts.charged:
                requested[resource][row] += amount
                entries["requested"][resource] += 1
            for resource in (CPU, MEMORY):
                non_zero[resource][row] += cached.pod.accounted_non_zero[resource]
    for what, sums, columns in (
        ("allocatable", allocatable, table.resources.allocatable),
        ("requested", requested, table.resources.requested),
    ):
        _same(f"{what} resources", {name for name, _ in columns.items()}, set(sums))
        for resource, column in columns.items():
            _same(f"entries of {what} {resource}", column.entries, entries[what][resource])
            _same_column(table, f"{what} {resource}", column.values, sums[resource])
    for resource, sums_of in non_zero.items():
        _same_column(table, f"non-zero requested {resource}", table.resources.non_zero[resource].values, sums_of)
    _same_column(table, "number of pods", table.resources.pod_count.values, pods)
    _same_column(table, "allowed pods", table.resources.allowed_pods.values, allowed)


def _same_column(table: NodeTable, what: str, values: Any, expected: Counter[int]) -> None:
    held = {row: value for row, value in enumerate(values.tolist()) if value}
    _same(what, held, {row: wrapped for row, value in expected.items() if (wrapped := _wrapped(value))})
    _same(f"capacity of {what}", len(values), table.capacity)


def _wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def _check_interned(table: NodeTable) -> None:
    nodes = {row: table.node(row) for row in table.rows.values()}
    _same_items(table, "taints", table.taints, {row: taints_of(node) for row, node in nodes.items()})
    _same_items(table, "features", table.features, {row: features_of(node) for row, node in nodes.items()})
    for key, column in table.labels.items():
        _same_items(table, f"label {key}", column, {row: labels_of(node).get(key) for row, node in nodes.items()})
    unschedulable = Counter({row: int(node.spec.unschedulable) for row, node in nodes.items()})
    _same_column(table, "unschedulable", table.unschedulable.values, unschedulable)


def _same_items(table: NodeTable, what: str, interned: InternedColumn[Any], expected: dict[int, Any]) -> None:
    ids = interned.column.values.tolist()
    _same(f"capacity of {what}", len(ids), table.capacity)
    items, default = interned.items, interned.items[0]
    held = {row: items[number] for row, number in enumerate(ids) if number}
    _same(what, held, {row: item for row, item in expected.items() if item != default})
    _same(f"distinct {what}", len(set(items)), len(items))
    used = set(held.values())
    _same(f"unused ids of {what}", interned.unused, len(items) - 1 - len(used))
    for number, item in enumerate(items[1:], start=1):
        _same(f"id of {item!r} in {what}", interned.id_of(item), number if item in used else -1)


def _check_sparse(table: NodeTable, pods_by_node: Mapping[str, Pods]) -> None:
    ports: Counter[tuple[int, HostPort]] = Counter()
    images: dict[tuple[int, str], int] = {}
    for name, row in table.rows.items():
        ports.update((row, port) for cached in pods_by_node.get(name, {}).values() for port in cached.pod.host_ports)
        images.update({(row, image): size for image, size in images_of(table.node(row)).items()})
    kinds = Counter(
        (kind_of(one.pod.pod), row) for name, row in table.rows.items() for one in pods_by_node.get(name, {}).values()
    )
    _same("pods by kind", table.pods.counts(), dict(kinds))
    for each in table.pods.columns():
        counts: Counter[int] = Counter()
        for (kind, row), number in kinds.items():
            if each.match.matches(kind.namespace, dict(kind.labels), is_terminating=kind.is_terminating):
                counts[row] += number
        _same_column(table, f"pods that {each.match} matches", each.column.values, counts)
    _same("host ports", {(row, port): count for row, port, count in table.host_ports.uses()}, dict(ports))
    _same("images", {(row, image): size for row, image, size in table.images.held()}, images)
    for image in sorted({image for _, image in images}):
        sizes = {row: size for (row, name), size in images.items() if name == image and size}
        _same_column(table, f"image {image}", table.image_column(image), Counter(sizes))


def _check_terms(table: NodeTable, pods_by_node: Mapping[str, Pods]) -> None:
    held: Counter[tuple[HeldTerm, int]] = Counter()
    for name, row in table.rows.items():
        for cached in pods_by_node.get(name, {}).values():
            held.update((term, row) for term in cached.pod.affinity_terms.held)
    _same("held terms", table.terms.counts(), dict(held))
    _same("scopes of terms", table.terms.scopes(), {scope for term, _ in held for scope in scopes_of(term)})
    for each, column in table.terms.columns():
        counts = Counter({row: number for (term, row), number in held.items() if term == each})
        _same_column(table, f"holders of {each}", column.values, counts)
