"""NodeDeclaredFeatures: a node must declare the features that a pod needs (kube-scheduler 1.37: NodeDeclaredFeatures).

What a node declares is one list among few in a cluster, so it is evaluated once per distinct list and gathered by row.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np

from scheduler.api.objects import Container, PodSpec
from scheduler.framework import ops
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.facet import Facet
from scheduler.framework.ops import Masks
from scheduler.framework.plugin import (
    CycleState,
    EnqueueExtensions,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    SignPlugin,
)
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.queueing_hint import Hint, queue_if
from scheduler.framework.status import SKIP, Code, Reason
from scheduler.framework.verdicts import Verdicts
from scheduler.framework.view import NodeView

RESTART_ALL = "RestartAllContainersOnContainerExits"
USER_NAMESPACES = "UserNamespacesHostNetworkSupport"
MOUNT_OPTIONS = "VolumeBindMountOptions"
REGISTERED = (
    "DRANodeAllocatableResources",
    "DRAOptionalNodeOperations",
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "InPlacePodVerticalScalingMemoryBackedVolumes",
    RESTART_ALL,
    USER_NAMESPACES,
    MOUNT_OPTIONS,
)
"""All features that 1.37 knows, sorted. A pod can need the last three only."""

_REASONS = (Reason("node(s) didn't match Pod's required features", Code.UNSCHEDULABLE_AND_UNRESOLVABLE),)


class NodeDeclaredFeatures(PreFilterPlugin, FilterPlugin, EnqueueExtensions, SignPlugin):
    name = "NodeDeclaredFeatures"
    facets = Facet.FEATURES

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        required = required_features(pod.pod.spec)
        state["lacking"] = _lacking(frozenset(required))
        return PreFilterResult() if required else PreFilterResult(SKIP)

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return _REASONS

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        lacking: Verdicts[tuple[str, ...]] | None = state.get("lacking")
        if lacking is None:
            # A configuration that disables PreFilter alone; kube-scheduler fails the same way.
            raise RuntimeError(f'error reading "PreFilter{self.name}" from cycle-state: not found')
        return ops.bit(lacking.gather(nodes.feature_lists, nodes.features), 0)

    def sign(self, pod: PodInfo) -> tuple[str, ...]:
        return required_features(pod.pod.spec)

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (
            ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE),
            ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE),
        )

    def queueing_hint(self, pod: PodInfo, event: ClusterEvent, old: Any, new: Any, nodes: NodeView) -> Hint:
        if event.resource is EventResource.TARGET_POD:
            return queue_if(required_features(old.pod.spec) != required_features(new.pod.spec))
        return queue_if(old is None or (old.status.declared_features or []) != (new.status.declared_features or []))


def required_features(spec: PodSpec) -> tuple[str, ...]:
    """What the pod needs its node to declare, sorted (kube-scheduler 1.37: NodeDeclaredFeatures)."""
    required = []
    containers = spec.containers if spec.init_containers is None else (*spec.containers, *spec.init_containers)
    if any(_restarts_all(one) for one in containers):
        required.append(RESTART_ALL)
    if spec.host_network and spec.host_users is False:
        required.append(USER_NAMESPACES)
    if any(_has_mount_options(one) for one in chain(containers, spec.ephemeral_containers or ())):
        required.append(MOUNT_OPTIONS)
    return tuple(required)


def _restarts_all(container: Container) -> bool:
    return any(rule.action == "RestartAllContainers" for rule in container.restart_policy_rules or ())


def _has_mount_options(container: Container) -> bool:
    return any(mount.bind_mount_options for mount in container.volume_mounts or ())


def _lacking(required: frozenset[str]) -> Verdicts[tuple[str, ...]]:
    return Verdicts(lambda declared: not required <= known_features(declared), np.bool_)


def known_features(declared: Iterable[str]) -> frozenset[str]:
    """The features of a node's list that 1.37 knows.

    The list is sorted, as the API server demands; of one that is not, a name that comes after a higher known one is not seen.
    """
    known, position = set(), 0
    for name in declared:
        while position < len(REGISTERED) and REGISTERED[position] < name:
            position += 1
        if position < len(REGISTERED) and REGISTERED[position] == name:
            known.add(name)
            position += 1
    return frozenset(known)
