"""In-tree volumes as the CSI drivers that took their place know them (kube-scheduler 1.37: csi-translation-lib)."""

from __future__ import annotations

import re
from typing import NamedTuple

from scheduler.api.objects import Volume
from scheduler.api.storage import PersistentVolume, PersistentVolumeSpec

AWS_EBS = "kubernetes.io/aws-ebs"
AZURE_DISK = "kubernetes.io/azure-disk"
AZURE_FILE = "kubernetes.io/azure-file"
CINDER = "kubernetes.io/cinder"
GCE_PD = "kubernetes.io/gce-pd"
PORTWORX = "kubernetes.io/portworx-volume"
VSPHERE = "kubernetes.io/vsphere-volume"

CSI_DRIVERS = {
    GCE_PD: "pd.csi.storage.gke.io",
    AWS_EBS: "ebs.csi.aws.com",
    CINDER: "cinder.csi.openstack.org",
    AZURE_DISK: "disk.csi.azure.com",
    AZURE_FILE: "file.csi.azure.com",
    VSPHERE: "csi.vsphere.vmware.com",
    PORTWORX: "pxd.portworx.com",
}
"""In-tree provisioners that a CSI driver has replaced."""

_COUNTED = frozenset({AWS_EBS, AZURE_DISK, CINDER, GCE_PD, PORTWORX})
"""Those whose volumes count against the limits of their driver; the others never do."""

_ZONE_LABELS = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
_UNSPECIFIED = "UNSPECIFIED"
_AWS_ADDRESS = re.compile(r"aws://[^/?#]*([^?#]*)", re.DOTALL)
_AWS_VOLUME = re.compile(r"vol-[^/]*", re.DOTALL)
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?")


class TranslationError(ValueError):
    """The volume cannot be told in CSI terms."""


class CSIVolume(NamedTuple):
    driver: str
    handle: str

    @property
    def unique_name(self) -> str:
        """What tells it from other volumes."""
        return f"{self.driver}/{self.handle}"


def is_counted(plugin: str, *, has_csi_node: bool) -> bool:
    """Whether volumes of the in-tree plugin count on a node; without a CSINode they do not."""
    return has_csi_node and plugin in _COUNTED


def in_tree_plugin(source: Volume | PersistentVolumeSpec) -> str | None:
    """The in-tree plugin that the volume is of, if a CSI driver has replaced it."""
    if source.gce_persistent_disk is not None:
        return GCE_PD
    if source.aws_elastic_block_store is not None:
        return AWS_EBS
    if source.cinder is not None:
        return CINDER
    if source.azure_disk is not None:
        return AZURE_DISK
    if source.azure_file is not None:
        return AZURE_FILE
    if source.vsphere_volume is not None:
        return VSPHERE
    if source.portworx_volume is not None:
        return PORTWORX
    return None


def translate_inline(volume: Volume, plugin: str) -> CSIVolume:
    """An inline volume of a plugin that counts.

    Raises:
        TranslationError: naming what is wrong.
    """
    if plugin == GCE_PD:
        assert volume.gce_persistent_disk is not None
        return CSIVolume(CSI_DRIVERS[plugin], _gce_zonal(_UNSPECIFIED, volume.gce_persistent_disk.pd_name))
    return CSIVolume(CSI_DRIVERS[plugin], _handle(volume, plugin))


def translate_volume(volume: PersistentVolume, plugin: str) -> CSIVolume:
    """A PersistentVolume of a plugin that counts.

    Raises:
        TranslationError: naming what is wrong.
    """
    if plugin == GCE_PD:
        assert volume.spec.gce_persistent_disk is not None
        return CSIVolume(CSI_DRIVERS[plugin], _gce_handle(volume, volume.spec.gce_persistent_disk.pd_name))
    return CSIVolume(CSI_DRIVERS[plugin], _handle(volume.spec, plugin))


def _handle(source: Volume | PersistentVolumeSpec, plugin: str) -> str:
    if source.aws_elastic_block_store is not None and plugin == AWS_EBS:
        return _aws_volume_id(source.aws_elastic_block_store.volume_id)
    if source.cinder is not None and plugin == CINDER:
        return source.cinder.volume_id
    if source.azure_disk is not None and plugin == AZURE_DISK:
        kind = source.azure_disk.kind
        if kind is not None and kind.lower() != "managed":
            raise TranslationError(f"kind({kind}) is not supported in csi migration")
        return source.azure_disk.disk_uri
    assert source.portworx_volume is not None
    return source.portworx_volume.volume_id


def _aws_volume_id(text: str) -> str:
    """``vol-1`` of ``aws://zone/vol-1``; a text without scheme is an ID already."""
    address = _AWS_ADDRESS.match(text)
    if address is None:
        return text
    path = address[1]
    if all(_ESCAPE.findall(path)):
        found = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), path).strip("/")
        if _AWS_VOLUME.fullmatch(found):
            return found
    raise TranslationError(f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({text})")


def _gce_zonal(zone: str, name: str) -> str:
    return f"projects/{_UNSPECIFIED}/zones/{zone}/disks/{name}"


def _gce_handle(volume: PersistentVolume, name: str) -> str:
    labels = volume.metadata.labels or {}
    text = next((labels[key] for key in _ZONE_LABELS if labels.get(key)), "")
    zones = text.split("__")
    if len(zones) == 1:
        return _gce_zonal(zones[0] or _UNSPECIFIED, name)
    regions = {_gce_region(zone) for zone in zones}
    if len(regions) != 1:
        raise TranslationError(
            f"failed to get region from zones: multiple or no regions gotten from zones, got: {text}"
        )
    return f"projects/{_UNSPECIFIED}/regions/{regions.pop()}/disks/{name}"


def _gce_region(zone: str) -> str:
    parts = zone.split("-")
    if len(parts) != 3:
        raise TranslationError(
            "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: "
            + zone
        )
    return f"{parts[0]}-{parts[1]}"
