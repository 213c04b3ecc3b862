"""The volumes of a pod on one node, worked out claim by claim and volume by volume as kube-scheduler 1.37 does.

Source: FindPodVolumes, checkVolumeProvisions, FindMatchingVolume, VolumeBinding Score. Nothing of the scheduler's own is used
but the objects and their selectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from scheduler.api.objects import LabelSelector, Node, NodeSelector
from scheduler.api.storage import (
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    StorageObject,
)

_UNITS = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


class Answer(NamedTuple):
    """``reasons``: numbers of the four in upstream's order. The rest is by name, in the order in which it is done."""

    reasons: tuple[int, ...]
    bindings: tuple[tuple[str, str], ...] = ()
    provisions: tuple[str, ...] = ()
    score: int = 0


def amount(quantity: object) -> int:
    text = str(quantity)
    number = text.rstrip("KMGi")
    return int(Decimal(number) * _UNITS[text[len(number) :]])


def _requested(claim: PersistentVolumeClaim) -> object:
    return (claim.spec.resources.requests or {}).get("storage")


def _labels_match(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in (selector.match_labels or {}).items())


def _affinity_matches(required: NodeSelector | None, labels: Mapping[str, str]) -> bool:
    if required is None:
        return True
    for term in required.node_selector_terms or ():
        conditions = term.match_expressions or ()
        if not conditions and not term.match_fields:
            continue
        held = [(labels.get(one.key), one) for one in conditions]
        if all(value is not None if one.operator == "Exists" else value in (one.values or ()) for value, one in held):
            return True
    return False


def _can_use(volume: PersistentVolume, node: Node) -> bool:
    affinity = volume.spec.node_affinity
    return _affinity_matches(None if affinity is None else affinity.required, node.metadata.labels or {})


def _names(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    holder = volume.spec.claim_ref
    return (
        holder is not None
        and (holder.namespace, holder.name) == (claim.metadata.namespace, claim.metadata.name)
        and holder.uid in ("", claim.metadata.uid)
    )


def _find(
    claim: PersistentVolumeClaim, volumes: Sequence[PersistentVolume], node: Node, chosen: set[str]
) -> PersistentVolume | None:
    smallest: PersistentVolume | None = None
    for volume in volumes:
        if volume.metadata.name in chosen:
            continue
        if volume.spec.claim_ref is not None and not _names(volume, claim):
            continue
        if amount((volume.spec.capacity or {})["storage"]) < amount(_requested(claim) or 0):
            continue
        if (volume.spec.volume_mode or "Filesystem") != (claim.spec.volume_mode or "Filesystem"):
            continue
        if volume.metadata.deletion_timestamp is not None:
            continue
        if _names(volume, claim):
            return volume if _can_use(volume, node) else None
        if volume.status.phase != "Available":
            continue
        if claim.spec.selector is not None and not _labels_match(claim.spec.selector, volume.metadata.labels or {}):
            continue
        if not _can_use(volume, node) or not set(claim.spec.access_modes or ()) <= set(volume.spec.access_modes or ()):
            continue
        if smallest is None or _size(smallest) > _size(volume):
            smallest = volume
    return smallest


def _class_of(volume: PersistentVolume) -> str:
    annotations = volume.metadata.annotations or {}
    return annotations.get("volume.beta.kubernetes.io/storage-class", volume.spec.storage_class_name)


def _size(volume: PersistentVolume) -> int:
    return amount((volume.spec.capacity or {})["storage"])


def volumes_on(node: Node, claims: Sequence[PersistentVolumeClaim], objects: Sequence[StorageObject]) -> Answer:
    """What the claims of a pod, none of which is immediate, come to on the node."""
    volumes = sorted((one for one in objects if isinstance(one, PersistentVolume)), key=lambda one: one.metadata.name)
    reasons = set(_check_bound(node, claims, volumes))
    selected, others = [], []
    for claim in claims:
        if claim.spec.volume_name:
            continue
        chosen_node = (claim.metadata.annotations or {}).get("volume.kubernetes.io/selected-node")
        if chosen_node is None:
            others.append(claim)
        elif chosen_node == node.metadata.name:
            selected.append(claim)
        else:
            return Answer(tuple(sorted({*reasons, 1})))
    others.sort(key=lambda claim: amount(_requested(claim) or 0))
    bindings: list[tuple[PersistentVolume, PersistentVolumeClaim]] = []
    to_provision = list(selected)
    for claim in others:
        of_class = [one for one in volumes if _class_of(one) == claim.spec.storage_class_name]
        volume = _find(claim, of_class, node, {one.metadata.name for one, _ in bindings})
        if volume is None:
            to_provision.append(claim)
        else:
            bindings.append((volume, claim))
    provisions: list[tuple[PersistentVolumeClaim, CSIStorageCapacity | None]] = []
    for claim in to_provision:
        reason, room = _provision(claim, node, objects)
        if reason is not None:
            reasons.add(reason)
            break
        provisions.append((claim, room))
    if reasons:
        return Answer(tuple(sorted(reasons)))
    return Answer(
        (),
        tuple((volume.metadata.name, claim.metadata.name) for volume, claim in bindings),
        tuple(claim.metadata.name for claim, _ in provisions),
        _score(bindings, provisions),
    )


def _check_bound(
    node: Node, claims: Sequence[PersistentVolumeClaim], volumes: Sequence[PersistentVolume]
) -> tuple[int, ...]:
    for claim in claims:
        if claim.spec.volume_name:
            found = next((one for one in volumes if one.metadata.name == claim.spec.volume_name), None)
            if found is None:
                return (3,)
            if not _can_use(found, node):
                return (0,)
    return ()


def _provision(
    claim: PersistentVolumeClaim, node: Node, objects: Sequence[StorageObject]
) -> tuple[int | None, CSIStorageCapacity | None]:
    """Why no volume can be made, or where there is room for it if that matters."""
    classes = {one.metadata.name: one for one in objects if isinstance(one, StorageClass)}
    drivers = {one.metadata.name: one for one in objects if isinstance(one, CSIDriver)}
    storage_class = classes[claim.spec.storage_class_name or ""]
    if storage_class.provisioner in ("", "kubernetes.io/no-provisioner") or not _allows(storage_class, node):
        return 1, None
    driver = drivers.get(storage_class.provisioner)
    if _requested(claim) is None or driver is None or not driver.spec.storage_capacity:
        return None, None
    capacities = [one for one in objects if isinstance(one, CSIStorageCapacity) and _has_room(one, claim, node)]
    if not capacities:
        return 2, None
    return None, min(capacities, key=lambda one: one.metadata.name)


def _allows(storage_class: StorageClass, node: Node) -> bool:
    labels = node.metadata.labels or {}
    terms = storage_class.allowed_topologies or ()
    return not terms or any(
        bool(term.match_label_expressions)
        and all(labels.get(one.key) in (one.values or ()) for one in term.match_label_expressions or ())
        for term in terms
    )


def _has_room(capacity: CSIStorageCapacity, claim: PersistentVolumeClaim, node: Node) -> bool:
    limit = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
    return (
        capacity.storage_class_name == claim.spec.storage_class_name
        and limit is not None
        and amount(limit) >= amount(_requested(claim))
        and capacity.node_topology is not None
        and _labels_match(capacity.node_topology, node.metadata.labels or {})
    )


def _score(
    bindings: Sequence[tuple[PersistentVolume, PersistentVolumeClaim]],
    provisions: Sequence[tuple[PersistentVolumeClaim, CSIStorageCapacity | None]],
) -> int:
    """With the default shape: what stays free in percent."""
    use: dict[str, list[int]] = {}
    if bindings:
        for volume, claim in bindings:
            there = use.setdefault(volume.spec.storage_class_name, [0, 0])
            there[0] += amount(_requested(claim) or 0)
            there[1] += _size(volume)
    else:
        for claim, capacity in provisions:
            if capacity is not None:
                there = use.setdefault(claim.spec.storage_class_name or "", [0, 0])
                there[0] += amount(_requested(claim) or 0)
                there[1] = amount(capacity.capacity or 0)
    scores = [0 if room == 0 or asked > room else 100 - asked * 100 // room for asked, room in use.values()]
    return int(Decimal(sum(scores)) / len(scores) + Decimal("0.5")) if scores else 0
