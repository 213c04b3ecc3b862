"""What the cache holds of volumes and drivers, worked out again from its nodes, pods and objects of storage and compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from scheduler.api.storage import volume_limits
from scheduler.cache.csi_columns import UNLIMITED
from scheduler.cache.pod_facts import VOLUMES
from scheduler.cache.storage import claims_of
from scheduler.cache.volume_uses import Disk, all_claims_of, disks_of, is_doubtful

if TYPE_CHECKING:
    from scheduler.cache.cache import CachedPod
    from scheduler.cache.node_table import NodeTable

    Pods = Mapping[str, CachedPod]


def check_storage(table: NodeTable, pods_by_node: Mapping[str, Pods]) -> None:
    """Raises: AssertionError, naming the first thing that is not what nodes, pods and objects of storage make it."""
    users = Counter(key for _, cached in _on_rows(table, pods_by_node) for key in claims_of(cached.pod))
    _same("claims in use", table.storage.claims_in_use(), dict(users))
    _check_uses(table, pods_by_node)
    _check_csi(table)


def _same(what: str, held: Any, expected: Any) -> None:
    if held != expected:
        raise AssertionError(f"{what} is {held!r}, and it should be {expected!r}")


def _column(values: Any) -> dict[int, Any]:
    return {row: value for row, value in enumerate(values.tolist()) if value}


def _check_uses(table: NodeTable, pods_by_node: Mapping[str, Pods]) -> None:
    counts: Counter[int] = Counter()
    doubtful: Counter[int] = Counter()
    users: Counter[tuple[Disk, int]] = Counter()
    writers: Counter[tuple[Disk, int]] = Counter()
    claims: Counter[tuple[str, int]] = Counter()
    uses = set()
    for row, cached in _on_rows(table, pods_by_node):
        uses.add((row, cached.pod.uid))
        claims.update((key, row) for key in all_claims_of(cached.pod))
        for volume in cached.pod.storage_volumes:
            counts[row] += 1
            doubtful[row] += is_doubtful(volume)
            for disk, read_only in disks_of(volume):
                users[disk, row] += 1
                writers[disk, row] += not read_only
    _same("pods with volumes", set(table.volumes.uses()), uses)
    _same("claims by row", {(key, row): number for key, row, number in table.volumes.claims()}, dict(claims))
    _same("number of volumes", _column(table.volumes.counts.values), dict(counts))
    _same(
        "number of doubtful volumes",
        _column(table.volumes.doubtful.values),
        {row: n for row, n in doubtful.items() if n},
    )
    expected = {(disk, row, number, writers[disk, row]) for (disk, row), number in users.items()}
    _same("inline disks", set(table.volumes.disks()), expected)


def _on_rows(table: NodeTable, pods_by_node: Mapping[str, Pods]) -> Iterator[tuple[int, CachedPod]]:
    for name, row in table.rows.items():
        for cached in pods_by_node.get(name, {}).values():
            if cached.pod.facets & VOLUMES:
                yield row, cached


def _check_csi(table: NodeTable) -> None:
    storage, csi = table.storage, table.csi
    nodes = {row: node for name, row in table.rows.items() if (node := storage.csi_node(name)) is not None}
    drivers = {row: {driver.name for driver in node.spec.drivers or ()} for row, node in nodes.items()}
    limits = {row: volume_limits(node) for row, node in nodes.items()}
    attachments = {row: len(storage.attachments_of(name)) for name, row in table.rows.items()}
    _same("rows with a CSINode", _column(csi.known.values), dict.fromkeys(sorted(nodes), True))
    _same("rows with limits", sorted(_column(csi.limited.values)), sorted(row for row, each in limits.items() if each))
    _same("attachments", _column(csi.attachments.values), {row: count for row, count in attachments.items() if count})
    _same("CSI drivers", csi.drivers(), sorted(set().union(*drivers.values())))
    for driver in csi.drivers():
        installed = csi.installed(driver)
        assert installed is not None
        listing = sorted(row for row, names in drivers.items() if driver in names)
        _same(f"rows with driver {driver}", sorted(_column(installed.values)), listing)
        allowed = {row: each[driver] for row, each in limits.items() if driver in each}
        held = {row: limit for row, limit in enumerate(csi.limits(driver).tolist()) if limit != UNLIMITED}
        _same(f"limits of driver {driver}", held, allowed)
