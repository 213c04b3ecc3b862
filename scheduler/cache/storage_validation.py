"""What the cache holds of volumes and drivers, worked out again from its nodes, pods and objects of storage and compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from scheduler.api.storage import class_of_volume, volume_limits
from scheduler.cache.csi_columns import UNLIMITED
from scheduler.cache.pod_facts import VOLUMES
from scheduler.cache.storage import claims_of
from scheduler.cache.volume_counts import all_claims_of
from scheduler.framework.attached_volumes import Attached, AttachError, attached_by, attached_without_pods
from scheduler.framework.disks import Disk, disks_of
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.volume_facts import read_volume

if TYPE_CHECKING:
    from scheduler.cache.cache import CachedPod
    from scheduler.cache.node_table import NodeTable

    Pods = Mapping[str, CachedPod]


def check_storage(table: NodeTable, pods_by_node: Mapping[str, Pods]) -> None:
    """Raises: AssertionError, naming the first thing that is not what nodes, pods and objects of storage make it."""
    users = Counter(key for _, cached in _on_rows(table, pods_by_node) for key in claims_of(cached.pod))
    _same("claims in use", table.storage.claims_in_use(), dict(users))
    _check_uses(table, pods_by_node)
    _check_counts(table, pods_by_node)
    _check_csi(table)
    _check_shelves(table)


def _same(what: str, held: Any, expected: Any) -> None:
    if held != expected:
        raise AssertionError(f"{what} is {held!r}, and it should be {expected!r}")


def _column(values: Any) -> dict[int, Any]:
    return {row: value for row, value in enumerate(values.tolist()) if value}


def _check_uses(table: NodeTable, pods_by_node: Mapping[str, Pods]) -> None:
    users: Counter[tuple[Disk, int]] = Counter()
    writers: Counter[tuple[Disk, int]] = Counter()
    claims: set[tuple[str, int, str]] = set()
    uses = set()
    for row, cached in _on_rows(table, pods_by_node):
        uses.add((row, cached.pod.uid))
        claims.update((key, row, cached.pod.uid) for key in all_claims_of(cached.pod))
        for volume in cached.pod.storage_volumes:
            for disk, read_only in disks_of(volume):
                users[disk, row] += 1
                writers[disk, row] += not read_only
    _same("pods with volumes", set(table.volumes.uses()), uses)
    _same("claims by pod", set(table.volume_counts.claims()), claims)
    expected = {(disk, row, number, writers[disk, row]) for (disk, row), number in users.items()}
    _same("inline disks", set(table.volumes.disks()), expected)


def _check_counts(table: NodeTable, pods_by_node: Mapping[str, Pods]) -> None:
    """CSI volumes by row and driver, told from the objects one node at a time."""
    counts: Counter[tuple[str, int]] = Counter()
    used: set[tuple[str, int]] = set()
    failing = set()
    for name, row in table.rows.items():
        attached: Attached = {}
        for cached in pods_by_node.get(name, {}).values():
            for volume in cached.pod.storage_volumes:
                # A pod with this volume alone: one that fails does not hide the others.
                spec = msgspec.structs.replace(cached.pod.pod.spec, volumes=[volume])
                alone = PodInfo(msgspec.structs.replace(cached.pod.pod, spec=spec))
                try:
                    attached.update(attached_by(alone, table.storage, has_csi_node=True, is_new=False))
                except AttachError:
                    failing.add(row)
        used.update((volume, row) for volume in attached)
        by_attachment = {}
        for attachment in table.storage.attachments_of(name):
            found = attached_without_pods(attachment, table.storage)
            if found is not None:
                by_attachment[found.unique_name] = found.driver
        counts.update((driver, row) for driver in (by_attachment | attached).values())
    held = table.volume_counts
    _same("CSI volumes in use", {(volume, row) for volume, row, _ in held.uses()}, used)
    _same("rows with volumes that fail", set(_column(held.failing.values)), failing)
    by_driver = {driver: held.count(driver) for driver in held.drivers()}
    columns = {driver: _column(column.values) for driver, column in by_driver.items() if column is not None}
    found_counts = {(driver, row): count for driver, column in columns.items() for row, count in column.items()}
    _same("number of CSI volumes", found_counts, dict(counts))


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
    _same("rows with a CSINode", _column(csi.known.values), dict.fromkeys(sorted(nodes), True))
    _same("rows with limits", sorted(_column(csi.limited.values)), sorted(row for row, each in limits.items() if each))
    _same("CSI drivers", csi.drivers(), sorted(set().union(*drivers.values())))
    for driver in csi.drivers():
        installed = csi.installed(driver)
        assert installed is not None
        listing = sorted(row for row, names in drivers.items() if driver in names)
        _same(f"rows with driver {driver}", sorted(_column(installed.values)), listing)
        allowed = {row: each[driver] for row, each in limits.items() if driver in each}
        held = {row: limit for row, limit in enumerate(csi.limits(driver).tolist()) if limit != UNLIMITED}
        _same(f"limits of driver {driver}", held, allowed)


def _check_shelves(table: NodeTable) -> None:
    expected: dict[str, list[str]] = {}
    for volume in sorted(table.storage.volumes, key=lambda one: one.metadata.name):
        name = volume.metadata.name
        expected.setdefault(class_of_volume(volume), []).append(name)
        shelf = table.storage.volumes_of_class(class_of_volume(volume))
        number = shelf.number_of(name)
        held = None if number is None else shelf.listed().volumes[number]
        _same(f"volume {name} of its class", held, read_volume(volume)._replace(reach=held.reach) if held else volume)
    _same("volumes by class", table.storage.volume_names_by_class(), expected)
