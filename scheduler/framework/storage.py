"""Storage: what plugins read of claims, volumes and drivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

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

if TYPE_CHECKING:  # the volumes are found on views of nodes, and these know Storage
    from scheduler.framework.volume_facts import ClassVolumes


class Storage(Protocol):
    """Objects by their names, as the API last showed them; claims and volumes as they are assumed to become, if they are.

    A plugin that reads a kind names it in its ``watches``: what no plugin names is not watched, and so never there.
    """

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None: ...

    def volume(self, name: str) -> PersistentVolume | None: ...

    def storage_class(self, name: str) -> StorageClass | None: ...

    def csi_node(self, node_name: str) -> CSINode | None: ...

    def csi_driver(self, name: str) -> CSIDriver | None: ...

    def volumes_of_class(self, class_name: str) -> ClassVolumes:
        """Volumes of the class ("" for those without one)."""
        ...

    def volumes_for_claim(self, namespace: str, name: str) -> tuple[PersistentVolume, ...]:
        """Volumes whose ``claimRef`` names the claim, by name; the UIDs may differ."""
        ...

    def capacities_of_class(self, class_name: str) -> tuple[CSIStorageCapacity, ...]:
        """By namespace and name."""
        ...

    def attachments_of(self, node_name: str) -> tuple[VolumeAttachment, ...]:
        """By name."""
        ...

    def claim_users(self, namespace: str, name: str) -> int:
        """Number of ``persistentVolumeClaim`` volumes of pods on known nodes, assumed ones included, that name the claim."""
        ...

    def version(self, kind: str) -> int:
        """Another number after each change of an object of the kind, or of what is assumed of one."""
        ...


class AssumingStorage(Storage, Protocol):
    """Storage, for plugins that change volumes and claims."""

    def shown(self, kind: str, namespace: str, name: str) -> StorageObject | None:
        """An object as the API last showed it, whatever is assumed of it."""
        ...

    def assume(self, subject: PersistentVolume | PersistentVolumeClaim) -> None:
        """Let a changed copy stand for the object until the API shows another version of it, or it is restored.

        Raises:
            ValueError: what the API last showed is another version, or nothing.
        """
        ...

    def restore(self, subject: PersistentVolume | PersistentVolumeClaim) -> None:
        """Undo ``assume`` of the same copy, unless the API has shown another version of the object."""
        ...
