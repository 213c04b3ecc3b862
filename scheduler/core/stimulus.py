"""Everything that can happen to the scheduler, as values stamped with the time at which it happened.

``now`` is seconds since the epoch. The edge makes a stimulus of each watch event, deadline and finished API call; the core
turns it into instructions. A list of them is a story, which replays to the same instructions in another process.
Deletions name the object only: the core holds what it knew of it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from scheduler.api.disruption import PodDisruptionBudget
from scheduler.api.objects import DeviceClass, Namespace, Node, Pod, SelectingObject
from scheduler.api.storage import StorageObject
from scheduler.batch.options import BatchOptions
from scheduler.core.instruction import Victims


class _Stimulus(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    now: float


class NodeApplied(_Stimulus, frozen=True):
    """A node as the API server last showed it: new or changed."""

    node: Node


class NodeDeleted(_Stimulus, frozen=True):
    name: str
    uid: str


class PodApplied(_Stimulus, frozen=True):
    """A pod as the API server last showed it: new or changed; any scheduler's, assigned or not, never a terminal one."""

    pod: Pod


class PodDeleted(_Stimulus, frozen=True):
    """The pod was removed, or it reached a terminal phase and so left what is watched."""

    namespace: str
    name: str
    uid: str


class NamespaceApplied(_Stimulus, frozen=True):
    namespace: Namespace


class NamespaceDeleted(_Stimulus, frozen=True):
    name: str
    uid: str


class DeviceClassApplied(_Stimulus, frozen=True):
    device_class: DeviceClass


class DeviceClassDeleted(_Stimulus, frozen=True):
    name: str
    uid: str


class SelectingObjectApplied(_Stimulus, frozen=True):
    """A Service, ReplicationController, ReplicaSet or StatefulSet as the API server last showed it: new or changed."""

    subject: SelectingObject


class SelectingObjectDeleted(_Stimulus, frozen=True):
    kind: str
    namespace: str
    name: str
    uid: str


class StorageObjectApplied(_Stimulus, frozen=True):
    """A claim, volume, class, driver, capacity or attachment as the API server last showed it: new or changed."""

    subject: StorageObject


class StorageObjectDeleted(_Stimulus, frozen=True):
    """``namespace`` is "" for a kind without namespaces."""

    kind: str
    namespace: str
    name: str
    uid: str


class Tick(_Stimulus, frozen=True):
    """Time went by: deadlines (back-off, flush of long unschedulable pods) are looked at."""


class PodBound(_Stimulus, frozen=True):
    """The API server confirmed a BindPod instruction."""

    uid: str
    node_name: str


class BindFailed(_Stimulus, frozen=True):
    """A BindPod instruction did not bind the pod to its node, and it is certain that it did not.

    ``error`` is the API server's message. When the pod turned out to be bound elsewhere or to be gone, the watch tells so.
    """

    uid: str
    node_name: str
    error: str


class BindDue(_Stimulus, frozen=True):
    """A BindPod instruction is about to be sent, and the pod's node was touched by others since it was chosen.

    It is to be sent if the pod is still one that is being bound afterwards.
    """

    uid: str


class PodRead(_Stimulus, frozen=True):
    """What a ReadPod instruction found in the pod's status; all "" when the pod is gone or could not be read."""

    uid: str
    phase: str = ""
    reason: str = ""
    message: str = ""


class ObjectPatched(_Stimulus, frozen=True):
    """The API server took a PatchObject instruction; ``resource_version`` is the object's new one."""

    number: int
    resource_version: str


class ObjectPatchFailed(_Stimulus, frozen=True):
    """A PatchObject instruction was not carried out, or it is not known whether it was. ``error`` is the API server's message."""

    number: int
    error: str


class HostScore(msgspec.Struct, frozen=True):
    """What an extender makes of one node; kube-scheduler's scale is 0 to 10, and nobody has to keep to it."""

    host: str
    score: int


class ExtenderAnswered(_Stimulus, frozen=True):
    """An extender answered an AskExtender instruction.

    ``error`` is the extender's own; otherwise FILTER has the nodes that are left and why others are not, PRIORITIZE has
    scores, PREEMPT has the victims that are left to choose from, and BIND has nothing.
    """

    number: int
    error: str = ""
    node_names: list[str] = []
    failed_nodes: dict[str, str] = {}
    unresolvable_nodes: dict[str, str] = {}
    scores: list[HostScore] = []
    victims: dict[str, Victims] = {}


class ExtenderFailed(_Stimulus, frozen=True):
    """An AskExtender instruction was not answered, or not with what was asked for; ``error`` says why."""

    number: int
    error: str


class DisruptionBudgetApplied(_Stimulus, frozen=True):
    """A PodDisruptionBudget as the API server last showed it: new or changed."""

    budget: PodDisruptionBudget


class DisruptionBudgetDeleted(_Stimulus, frozen=True):
    namespace: str
    name: str
    uid: str


class PodPreempted(_Stimulus, frozen=True):
    """A PreemptPod instruction was carried out: the pod is on its way out. ``is_gone``: it was not there any more."""

    number: int
    is_gone: bool = False


class PreemptPodFailed(_Stimulus, frozen=True):
    """A PreemptPod instruction was not carried out to its end. ``error`` is the API server's message."""

    number: int
    error: str


class ConfigurationChanged(_Stimulus, frozen=True):
    """Another configuration is to be in force from here on. What was built from it has been handed over before, under this number.

    Attributes:
        configuration: the KubeSchedulerConfiguration as JSON values.
        batching, typo_warnings: of the RepriseConfiguration.
    """

    generation: int
    configuration: dict[str, Any]
    batching: BatchOptions = BatchOptions()
    typo_warnings: bool = False


class EventsFound(_Stimulus, frozen=True):
    """What a FindEvents instruction came to; ``has_events`` also when they could not be looked for."""

    uid: str
    has_events: bool


Stimulus: TypeAlias = (
    NodeApplied
    | NodeDeleted
    | PodApplied
    | PodDeleted
    | NamespaceApplied
    | NamespaceDeleted
    | DeviceClassApplied
    | DeviceClassDeleted
    | SelectingObjectApplied
    | SelectingObjectDeleted
    | StorageObjectApplied
    | StorageObjectDeleted
    | Tick
    | PodBound
    | BindFailed
    | BindDue
    | PodRead
    | ExtenderAnswered
    | ExtenderFailed
    | ObjectPatched
    | ObjectPatchFailed
    | DisruptionBudgetApplied
    | DisruptionBudgetDeleted
    | PodPreempted
    | PreemptPodFailed
    | ConfigurationChanged
    | EventsFound
)
