"""Where the data of a volume lives, as far as rules look at it; a pod's volume and a PersistentVolume name it alike."""

from __future__ import annotations

import msgspec

from scheduler.api.wire import ApiObject


class PersistentVolumeClaimVolumeSource(ApiObject, frozen=True):
    """A claim of the pod's namespace."""

    claim_name: str = ""


class EphemeralVolumeSource(ApiObject, frozen=True):
    """A claim that is made for the pod and named after it."""


class GCEPersistentDiskVolumeSource(ApiObject, frozen=True):
    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStoreVolumeSource(ApiObject, frozen=True):
    volume_id: str = msgspec.field(name="volumeID", default="")


class ISCSIVolumeSource(ApiObject, frozen=True):
    iqn: str = ""
    read_only: bool = False


class RBDVolumeSource(ApiObject, frozen=True):
    monitors: list[str] | None = None
    pool: str = ""
    image: str = ""
    read_only: bool = False


class AzureDiskVolumeSource(ApiObject, frozen=True):
    disk_uri: str = msgspec.field(name="diskURI", default="")
    kind: str | None = None


class AzureFileVolumeSource(ApiObject, frozen=True):
    """``secret_namespace``: of a PersistentVolume only."""

    secret_name: str = ""
    share_name: str = ""
    secret_namespace: str | None = None


class CinderVolumeSource(ApiObject, frozen=True):
    volume_id: str = msgspec.field(name="volumeID", default="")


class VsphereVirtualDiskVolumeSource(ApiObject, frozen=True):
    volume_path: str = ""


class PortworxVolumeSource(ApiObject, frozen=True):
    volume_id: str = msgspec.field(name="volumeID", default="")


class CSIVolumeSource(ApiObject, frozen=True):
    """``volume_handle``: of a PersistentVolume only."""

    driver: str = ""
    volume_handle: str = ""
