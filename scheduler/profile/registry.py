"""The plugins there are, kube-scheduler's default set of them, and the names that are known but not there yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec

from scheduler.framework.plugin import Plugin
from scheduler.plugins.default_binder import DefaultBinder
from scheduler.plugins.default_preemption import DefaultPreemption, DefaultPreemptionArgs
from scheduler.plugins.default_preemption import validate as validate_preemption
from scheduler.plugins.image_locality import ImageLocality
from scheduler.plugins.inter_pod_affinity import InterPodAffinity, InterPodAffinityArgs
from scheduler.plugins.inter_pod_affinity import validate as validate_inter_pod_affinity
from scheduler.plugins.node_affinity import NodeAffinity, NodeAffinityArgs
from scheduler.plugins.node_affinity import validate as validate_node_affinity
from scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from scheduler.plugins.node_name import NodeName
from scheduler.plugins.node_ports import NodePorts
from scheduler.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
    NodeResourcesBalancedAllocationArgs,
)
from scheduler.plugins.node_resources_balanced_allocation import validate as validate_balanced_allocation
from scheduler.plugins.node_resources_fit import NodeResourcesFit, NodeResourcesFitArgs
from scheduler.plugins.node_resources_fit import validate as validate_fit
from scheduler.plugins.node_unschedulable import NodeUnschedulable
from scheduler.plugins.node_volume_limits import NodeVolumeLimits
from scheduler.plugins.pod_topology_spread import PodTopologySpread, PodTopologySpreadArgs
from scheduler.plugins.pod_topology_spread import validate as validate_topology_spread
from scheduler.plugins.priority_sort import PrioritySort
from scheduler.plugins.scheduling_gates import SchedulingGates
from scheduler.plugins.taint_toleration import TaintToleration
from scheduler.plugins.volume_binding import VolumeBinding, VolumeBindingArgs
from scheduler.plugins.volume_binding import validate as validate_volume_binding
from scheduler.plugins.volume_restrictions import VolumeRestrictions
from scheduler.plugins.volume_zone import VolumeZone
from scheduler.profile.plugin_set import Enabled, Selection


class Registration(NamedTuple):
    """How a plugin is made: ``make(args)`` when it takes arguments, ``make()`` when not.

    ``validate(args, path)`` answers with an error, as ``path: message``, for each argument that breaks a rule.
    """

    make: Callable[..., Plugin]
    args: type[msgspec.Struct] | None = None
    validate: Callable[[Any, str], list[str]] | None = None


Registry: TypeAlias = Mapping[str, Registration]

IN_TREE: Registry = {
    "SchedulingGates": Registration(SchedulingGates),
    "PrioritySort": Registration(PrioritySort),
    "NodeName": Registration(NodeName),
    "NodeUnschedulable": Registration(NodeUnschedulable),
    "TaintToleration": Registration(TaintToleration),
    "NodeAffinity": Registration(NodeAffinity, NodeAffinityArgs, validate_node_affinity),
    "NodePorts": Registration(NodePorts),
    "NodeResourcesFit": Registration(NodeResourcesFit, NodeResourcesFitArgs, validate_fit),
    "PodTopologySpread": Registration(PodTopologySpread, PodTopologySpreadArgs, validate_topology_spread),
    "DefaultPreemption": Registration(DefaultPreemption, DefaultPreemptionArgs, validate_preemption),
    "VolumeRestrictions": Registration(VolumeRestrictions),
    "NodeVolumeLimits": Registration(NodeVolumeLimits),
    "VolumeBinding": Registration(VolumeBinding, VolumeBindingArgs, validate_volume_binding),
    "VolumeZone": Registration(VolumeZone),
    "NodeResourcesBalancedAllocation": Registration(
        NodeResourcesBalancedAllocation, NodeResourcesBalancedAllocationArgs, validate_balanced_allocation
    ),
    "InterPodAffinity": Registration(InterPodAffinity, InterPodAffinityArgs, validate_inter_pod_affinity),
    "ImageLocality": Registration(ImageLocality),
    "DefaultBinder": Registration(DefaultBinder),
    "NodeDeclaredFeatures": Registration(NodeDeclaredFeatures),
}

DEFAULTS = (
    Enabled("SchedulingGates"),
    Enabled("PrioritySort"),
    Enabled("NodeName"),
    Enabled("NodeUnschedulable"),
    Enabled("TaintToleration", 3),
    Enabled("NodeAffinity", 2),
    Enabled("NodePorts"),
    Enabled("NodeResourcesFit", 1),
    Enabled("VolumeRestrictions"),
    Enabled("NodeVolumeLimits"),
    Enabled("VolumeBinding"),
    Enabled("VolumeZone"),
    Enabled("PodTopologySpread", 2),
    Enabled("InterPodAffinity", 2),
    Enabled("DynamicResources", 2),
    Enabled("DefaultPreemption"),
    Enabled("NodeResourcesBalancedAllocation", 1),
    Enabled("ImageLocality", 1),
    Enabled("DefaultBinder"),
    Enabled("NodeDeclaredFeatures"),
)
"""kube-scheduler's ``multiPoint`` list with the feature gates of a 1.37 that nobody configured."""

OFF_BY_DEFAULT = ("DeferredPodScheduling", "GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount")
"""Plugins that kube-scheduler 1.37 has, and enables only with a feature gate that is off."""

REMOVED = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
"""Names that kubescheduler.config.k8s.io/v1 no longer accepts."""

_UPSTREAM = (*(default.name for default in DEFAULTS), *OFF_BY_DEFAULT)


def default_selection(registry: Registry) -> Selection:
    """The default ``multiPoint`` list, without what is not there yet."""
    return Selection(enabled=tuple(default for default in DEFAULTS if default.name in registry))


def missing_defaults(registry: Registry) -> tuple[str, ...]:
    """The plugins that a default kube-scheduler would run and this one does not."""
    return tuple(default.name for default in DEFAULTS if default.name not in registry)


def is_known(name: str, registry: Registry) -> bool:
    return name in registry or name in _UPSTREAM


def is_missing(name: str, registry: Registry) -> bool:
    """Whether kube-scheduler has this plugin, and this scheduler does not have it yet."""
    return name in _UPSTREAM and name not in registry
