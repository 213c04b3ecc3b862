"""What the server fills in of volumes, claims, classes and drivers. Nothing binds them or holds them back from deletion."""

from datetime import datetime

from scheduler.sim.kinds import Rules
from scheduler.sim.objects import Object, timestamp

_DRIVER: Object = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "volumeLifecycleModes": ["Persistent"],
    "requiresRepublish": False,
    "seLinuxMount": False,
    "preventPodSchedulingIfMissing": False,
}


class VolumeRules(Rules):
    """PersistentVolumes."""

    def created(self, item: Object, now: datetime) -> Object:
        spec = {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem", **(item.get("spec") or {})}
        return {**item, "spec": spec, "status": {"phase": "Pending", "lastPhaseTransitionTime": timestamp(now)}}


class ClaimRules(Rules):
    """PersistentVolumeClaims."""

    def created(self, item: Object, now: datetime) -> Object:
        return {
            **item,
            "spec": {"volumeMode": "Filesystem", **(item.get("spec") or {})},
            "status": {"phase": "Pending"},
        }


class StorageClassRules(Rules):
    """StorageClasses."""

    def created(self, item: Object, now: datetime) -> Object:
        return {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate", **item}


class CSINodeRules(Rules):
    """CSINodes."""

    def created(self, item: Object, now: datetime) -> Object:
        return {**item, "status": {}}


class CSIDriverRules(Rules):
    """CSIDrivers."""

    def created(self, item: Object, now: datetime) -> Object:
        return {**item, "spec": {**_DRIVER, **(item.get("spec") or {})}}


class VolumeAttachmentRules(Rules):
    """VolumeAttachments."""

    def created(self, item: Object, now: datetime) -> Object:
        return {**item, "status": {"attached": False}}
