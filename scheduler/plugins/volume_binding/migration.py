"""Volumes of in-tree kinds on nodes where a CSI driver has taken over: their zones are asked for by the driver's label there.

csi-translation-lib 0.37: TranslateInTreePVToCSI; kube-scheduler 1.37: tryTranslatePVToCSI.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from scheduler.api import field_errors
from scheduler.api.objects import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from scheduler.api.selectors import IN, compile_node_selector, term_errors
from scheduler.api.storage import CSINode, PersistentVolume
from scheduler.framework.volume_facts import required_of

MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"

_ZONE = "topology.kubernetes.io/zone"
_REGION = "topology.kubernetes.io/region"
_BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
_BETA_REGION = "failure-domain.beta.kubernetes.io/region"
_ZONES_SEPARATOR = "__"
_NO_TERM = "no matching NodeSelectorTerms"


def in_tree_plugin(volume: PersistentVolume) -> str | None:
    """The plugin of a volume that a CSI driver can take over; None for any other volume."""
    plugin = _plugin_of(volume)
    return None if plugin is None else plugin[0]


def migrated_required_of(volume: PersistentVolume) -> NodeSelector | None:
    """The nodes that the volume can be used on, of those where the CSI driver has taken over."""
    plugin = _plugin_of(volume)
    return _translated(volume, plugin[1]) if plugin is not None and plugin[1] else required_of(volume)


def _plugin_of(volume: PersistentVolume) -> tuple[str, str] | None:
    """The in-tree plugin and the label that its CSI driver has for zones, "" for none."""
    spec = volume.spec
    if spec.aws_elastic_block_store is not None:
        return "kubernetes.io/aws-ebs", "topology.ebs.csi.aws.com/zone"
    if spec.gce_persistent_disk is not None:
        return "kubernetes.io/gce-pd", "topology.gke.io/zone"
    if spec.cinder is not None:
        return "kubernetes.io/cinder", "topology.cinder.csi.openstack.org/zone"
    if spec.azure_disk is not None:
        return "kubernetes.io/azure-disk", ""
    if spec.portworx_volume is not None:
        return "kubernetes.io/portworx-volume", ""
    return None


def is_migrated(plugin: str, csi_node: CSINode | None) -> bool:
    """Whether the CSI driver has taken over from the in-tree plugin on the node."""
    annotations = None if csi_node is None else csi_node.metadata.annotations
    return plugin in (annotations or {}).get(MIGRATED_PLUGINS, "").split(",")


def affinity_error(volume: PersistentVolume, node: Node, csi_node: CSINode | None) -> str:
    """Why the node cannot use the volume; "" when it can (component-helpers 0.37: CheckNodeAffinity).

    ``translation_error`` is to be asked first.
    """
    required = required_of(volume)
    plugin = in_tree_plugin(volume)
    if plugin is not None and is_migrated(plugin, csi_node):
        required = migrated_required_of(volume)
    if required is None:
        return ""
    terms = compile_node_selector(required)
    labels = node.metadata.labels or {}
    if any(not term.errors and all(one.matches(labels) for one in term.labels) for term in terms):
        return ""
    errors = term_errors(terms)
    return field_errors.aggregate(errors) if errors else _NO_TERM


def translation_error(volume: PersistentVolume) -> str:
    """Why the volume's source is none that the CSI driver could have; "" when it is one."""
    error = _source_error(volume)
    return f"could not translate pv: {error}" if error else ""


def _source_error(volume: PersistentVolume) -> str:
    spec = volume.spec
    if spec.aws_elastic_block_store is not None:
        volume_id = spec.aws_elastic_block_store.volume_id
        _, _, path = volume_id.removeprefix("aws://").partition("/")
        if volume_id.startswith("aws://") and not re.fullmatch(r"vol-[^/]*", path.strip("/")):
            return f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({volume_id})"
    if spec.azure_disk is not None and spec.azure_disk.kind is not None and spec.azure_disk.kind.lower() != "managed":
        return f"kind({spec.azure_disk.kind}) is not supported in csi migration"
    if spec.gce_persistent_disk is not None:
        labels = volume.metadata.labels or {}
        zones = (labels.get(_BETA_ZONE) or labels.get(_ZONE, "")).split(_ZONES_SEPARATOR)
        error = _region_error(zones) if len(zones) > 1 else ""
        return f"failed to get region from zones: {error}" if error else ""
    return ""


def _region_error(zones: list[str]) -> str:
    regions = dict.fromkeys(zone.rpartition("-")[0] for zone in zones)
    for zone in zones:
        if zone.count("-") != 2:
            return f"zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
    if len(regions) != 1:
        return (
            f"multiple or no regions gotten from zones, got: map[{' '.join(f'{one}:{{}}' for one in sorted(regions))}]"
        )
    return ""


def _translated(volume: PersistentVolume, zone_key: str) -> NodeSelector | None:
    required = required_of(volume)
    terms = list((required.node_selector_terms if required is not None else None) or ())
    labels = volume.metadata.labels or {}
    zone, region = _topology_labels(terms, labels)
    if _values(terms, zone):
        terms = _renamed(terms, zone, zone_key)
    elif zone in labels:
        zones = sorted({name.strip() for name in labels[zone].split(_ZONES_SEPARATOR)} - {""})
        if zones:
            condition = NodeSelectorRequirement(key=zone_key, operator=IN, values=zones)
            terms = [_with_condition(term, condition) for term in terms or [NodeSelectorTerm()]]
            required = required or NodeSelector()
    if region == _BETA_REGION and _values(terms, region):
        terms = _renamed(terms, region, _REGION)
    return None if required is None else NodeSelector(node_selector_terms=terms)


def _topology_labels(terms: list[NodeSelectorTerm], labels: dict[str, str]) -> tuple[str, str]:
    """The labels for zone and region that the volume uses: in its node affinity, or else of its own."""
    keys = {one.key for one in _conditions(terms)}
    for held in (keys, labels):
        if _ZONE in held:
            return _ZONE, _REGION
        if _BETA_ZONE in held:
            return _BETA_ZONE, _BETA_REGION
    return _ZONE, _REGION


def _conditions(terms: list[NodeSelectorTerm]) -> Iterator[NodeSelectorRequirement]:
    for term in terms:
        yield from term.match_expressions or ()


def _values(terms: list[NodeSelectorTerm], key: str) -> bool:
    return any(one.key == key and one.values for one in _conditions(terms))


def _renamed(terms: list[NodeSelectorTerm], key: str, new_key: str) -> list[NodeSelectorTerm]:
    replace = msgspec.structs.replace
    return [
        replace(
            term,
            match_expressions=[
                replace(one, key=new_key) if one.key == key else one for one in term.match_expressions or ()
            ],
        )
        for term in terms
    ]


def _with_condition(term: NodeSelectorTerm, condition: NodeSelectorRequirement) -> NodeSelectorTerm:
    return msgspec.structs.replace(term, match_expressions=[*(term.match_expressions or ()), condition])
