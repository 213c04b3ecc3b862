"""StorageIndex: claims, volumes, classes, drivers, capacities and attachments, and which claims are in use."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

from scheduler.api.objects import ResourceList, key_of
from scheduler.api.quantity import Quantity, QuantityError, nano
from scheduler.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    StorageObject,
    VolumeAttachment,
)
from scheduler.cache.assumed_objects import AssumedObjects
from scheduler.cache.grouped_objects import GroupedObjects
from scheduler.cache.volume_shelf import VolumeShelf, VolumeShelves
from scheduler.framework.pod_info import PodInfo

Assumable: TypeAlias = PersistentVolume | PersistentVolumeClaim


class StorageIndex:
    """What volume rules look at, by name and by what they ask with. Implements framework.storage.Storage.

    Pods that depend on it are never decided on from an entry of the batch cache, so nothing of it is in the table's journal.
    """

    def __init__(self) -> None:
        self.claims: AssumedObjects[PersistentVolumeClaim] = AssumedObjects()
        """By ``namespace/name``."""
        self.volumes: AssumedObjects[PersistentVolume] = AssumedObjects()
        """By name."""
        self._classes: dict[str, StorageClass] = {}
        self._csi_nodes: dict[str, CSINode] = {}
        self._csi_drivers: dict[str, CSIDriver] = {}
        self._capacities: dict[str, CSIStorageCapacity] = {}
        self._attachments: dict[str, VolumeAttachment] = {}
        self._by_kind: dict[str, dict[str, Any]] = {
            "StorageClass": self._classes,
            "CSINode": self._csi_nodes,
            "CSIDriver": self._csi_drivers,
            "CSIStorageCapacity": self._capacities,
            "VolumeAttachment": self._attachments,
        }
        self._volumes_by_class = VolumeShelves()
        self._volumes_by_claim: GroupedObjects[PersistentVolume] = GroupedObjects()
        self._claims_by_volume: GroupedObjects[PersistentVolumeClaim] = GroupedObjects()
        self._attachments_by_volume: GroupedObjects[VolumeAttachment] = GroupedObjects()
        self._capacities_by_class: GroupedObjects[CSIStorageCapacity] = GroupedObjects()
        self._attachments_by_node: GroupedObjects[VolumeAttachment] = GroupedObjects()
        self._claim_users: Counter[str] = Counter()
        self._versions: Counter[str] = Counter()

    # Reading

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        return self.claims.get(f"{namespace}/{name}")

    def volume(self, name: str) -> PersistentVolume | None:
        return self.volumes.get(name)

    def storage_class(self, name: str) -> StorageClass | None:
        return self._classes.get(name)

    def csi_node(self, node_name: str) -> CSINode | None:
        return self._csi_nodes.get(node_name)

    def csi_driver(self, name: str) -> CSIDriver | None:
        return self._csi_drivers.get(name)

    def volumes_of_class(self, class_name: str) -> VolumeShelf:
        return self._volumes_by_class.of(class_name)

    def volumes_for_claim(self, namespace: str, name: str) -> tuple[PersistentVolume, ...]:
        return self._volumes_by_claim.of(f"{namespace}/{name}")

    def capacities_of_class(self, class_name: str) -> tuple[CSIStorageCapacity, ...]:
        return self._capacities_by_class.of(class_name)

    def attachments_of(self, node_name: str) -> tuple[VolumeAttachment, ...]:
        return self._attachments_by_node.of(node_name)

    def claims_of_volume(self, volume_name: str) -> tuple[PersistentVolumeClaim, ...]:
        """Claims that name the volume, by namespace and name."""
        return self._claims_by_volume.of(volume_name)

    def attachments_of_volume(self, volume_name: str) -> tuple[VolumeAttachment, ...]:
        """By name."""
        return self._attachments_by_volume.of(volume_name)

    def claim_users(self, namespace: str, name: str) -> int:
        return self._claim_users[f"{namespace}/{name}"]

    def version(self, kind: str) -> int:
        return self._versions[kind]

    # Writing

    def apply(self, subject: StorageObject) -> StorageObject | None:
        """An object as the API shows it; the one that it showed before, None for a new one.

        Raises:
            ValueError: the object has no name, or a quantity of it cannot be read; nothing was changed.
        """
        if not subject.metadata.name:
            raise ValueError(f"{_kind(subject)} without metadata.name cannot be kept")
        check_amounts(subject)
        self._versions[_kind(subject)] += 1
        match subject:
            case PersistentVolumeClaim():
                self._claims_by_volume.put(key_of(subject.metadata), subject.spec.volume_name or None, subject)
                return self.claims.apply(subject)
            case PersistentVolume():
                before = self.volumes.apply(subject)
                self._index_volume(subject.metadata.name)
                return before
            case CSIStorageCapacity():
                self._capacities_by_class.put(key_of(subject.metadata), subject.storage_class_name, subject)
            case VolumeAttachment():
                self._attachments_by_node.put(subject.metadata.name, subject.spec.node_name, subject)
                volume_name = subject.spec.source.persistent_volume_name
                self._attachments_by_volume.put(subject.metadata.name, volume_name, subject)
        kept, key = self._by_kind[_kind(subject)], key_of(subject.metadata)
        known: StorageObject | None = kept.get(key)
        kept[key] = subject
        return known

    def shown(self, kind: str, namespace: str, name: str) -> StorageObject | None:
        """An object as the API last showed it, whatever is assumed of it."""
        key = f"{namespace}/{name}" if namespace else name
        if kind == "PersistentVolumeClaim":
            return self.claims.shown.get(key)
        if kind == "PersistentVolume":
            return self.volumes.shown.get(key)
        found: StorageObject | None = self._by_kind[kind].get(key)
        return found

    def remove(self, kind: str, namespace: str, name: str) -> StorageObject | None:
        """The object is gone; the one that was shown, None if there was none."""
        key = f"{namespace}/{name}" if namespace else name
        self._versions[kind] += 1
        if kind == "PersistentVolumeClaim":
            self._claims_by_volume.remove(key)
            return self.claims.remove(key)
        if kind == "PersistentVolume":
            self._volumes_by_class.remove(key)
            self._volumes_by_claim.remove(key)
            return self.volumes.remove(key)
        if kind == "CSIStorageCapacity":
            self._capacities_by_class.remove(key)
        elif kind == "VolumeAttachment":
            self._attachments_by_node.remove(key)
            self._attachments_by_volume.remove(key)
        removed: StorageObject | None = self._by_kind[kind].pop(key, None)
        return removed

    def assume(self, subject: Assumable) -> None:
        """Let a changed copy of a volume or claim stand for it until the API shows another version or it is restored.

        Raises:
            OutOfSyncError: what the API last showed is another version, or nothing.
        """
        if isinstance(subject, PersistentVolume):
            self.volumes.assume(subject)
            self._index_volume(subject.metadata.name)
        else:
            self.claims.assume(subject)
        self._versions[_kind(subject)] += 1

    def restore(self, subject: Assumable) -> None:
        """Undo ``assume`` of the same object, unless the API has shown another version of it."""
        if isinstance(subject, PersistentVolume):
            self.volumes.restore(subject)
            if subject.metadata.name in self.volumes.shown:
                self._index_volume(subject.metadata.name)
        else:
            self.claims.restore(subject)
        self._versions[_kind(subject)] += 1

    def _index_volume(self, name: str) -> None:
        volume = self.volumes.get(name)
        assert volume is not None
        claim = volume.spec.claim_ref
        self._volumes_by_class.put(volume)
        self._volumes_by_claim.put(name, None if claim is None else f"{claim.namespace}/{claim.name}", volume)

    def add_pod(self, pod: PodInfo) -> None:
        """The pod is on a known node now."""
        for key in claims_of(pod):
            self._claim_users[key] += 1

    def remove_pod(self, pod: PodInfo) -> None:
        """Undo ``add_pod`` of a pod with the same volumes."""
        for key in claims_of(pod):
            self._claim_users[key] -= 1
            if not self._claim_users[key]:
                del self._claim_users[key]

    def volume_names_by_class(self) -> dict[str, list[str]]:
        return {name: [one.metadata.name for one in shelf.objects()] for name, shelf in self._volumes_by_class.items()}

    def claims_in_use(self) -> dict[str, int]:
        """Number of users by ``namespace/name``."""
        return dict(self._claim_users)


def claims_of(pod: PodInfo) -> list[str]:
    """``namespace/name`` of the claims that the pod's volumes name; those of ephemeral volumes are not among them."""
    namespace = pod.pod.metadata.namespace
    return [
        f"{namespace}/{volume.persistent_volume_claim.claim_name}"
        for volume in pod.pod.spec.volumes or ()
        if volume.persistent_volume_claim is not None
    ]


def _kind(subject: StorageObject) -> str:
    return type(subject).__name__


def check_amounts(subject: StorageObject) -> None:
    """Raises: ValueError, naming the object and the amount of it that cannot be read."""
    named = f"{_kind(subject)} {key_of(subject.metadata)}"
    match subject:
        case PersistentVolumeClaim():
            _check_amounts(subject.spec.resources.requests, f"{named}: spec.resources.requests")
        case PersistentVolume():
            _check_amounts(subject.spec.capacity, f"{named}: spec.capacity")
        case CSIStorageCapacity():
            _check_amount(subject.capacity, f"{named}: capacity")
            _check_amount(subject.maximum_volume_size, f"{named}: maximumVolumeSize")


def _check_amounts(amounts: ResourceList | None, where: str) -> None:
    for name, amount in (amounts or {}).items():
        _check_amount(amount, f"{where}[{name}]")


def _check_amount(amount: Quantity | None, where: str) -> None:
    if amount is None:
        return
    try:
        nano(amount)
    except QuantityError as error:
        raise ValueError(f"{where}: {error}") from error
