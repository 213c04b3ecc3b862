"""Everything that the scheduler can ask of the outside world, as values. Whoever carries them out answers with stimuli."""

from __future__ import annotations

import enum
from typing import TypeAlias

import msgspec

from scheduler.framework.binding import ObjectPatch


class _Instruction(msgspec.Struct, frozen=True, tag=True, tag_field="instruction", kw_only=True):
    pass


class PodReference(msgspec.Struct, frozen=True, kw_only=True):
    """One incarnation of a pod. ``resource_version`` is the one that the decision saw; Events carry it."""

    namespace: str
    name: str
    uid: str
    resource_version: str = ""


class BindPod(_Instruction, frozen=True):
    """Bind the pod to the node; answered by PodBound or BindFailed."""

    pod: PodReference
    node_name: str


class ReadPod(_Instruction, frozen=True):
    """Read the pod once, to see how it ended; answered by PodRead."""

    pod: PodReference


class FindEvents(_Instruction, frozen=True):
    """See whether there is any Event about the pod; answered by EventsFound."""

    pod: PodReference


class PatchObject(_Instruction, frozen=True):
    """Patch an object that the pod needs before it can be bound; answered by ObjectPatched or ObjectPatchFailed.

    ``number`` is another one for each of these instructions, and the answer carries it.
    """

    number: int
    pod: PodReference
    patch: ObjectPatch


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """A pod condition to write. ``last_transition_time`` (seconds since the epoch) is None when the status stays as it was."""

    type: str
    status: str
    reason: str
    message: str
    observed_generation: int
    last_transition_time: float | None


class PatchPodStatus(_Instruction, frozen=True):
    """Write one condition and, when not None, ``status.nominatedNodeName`` ("" clears it).

    ``condition_order`` has the types of all the pod's conditions, this one included, as they shall stand.
    """

    pod: PodReference
    condition: Condition | None = None
    condition_order: list[str] = []
    nominated_node_name: str | None = None


class PreemptPod(_Instruction, frozen=True):
    """Write the condition, if there is one, that tells why the pod has to go, then delete it; answered by PodPreempted or
    PreemptPodFailed.

    ``number`` is another one for each of these instructions, and the answer carries it.
    """

    number: int
    pod: PodReference
    condition: Condition | None
    condition_order: list[str] = []


class RecordEvent(_Instruction, frozen=True):
    """An ``events.k8s.io/v1`` Event about the pod.

    ``note`` is complete: it was cut to 1024 bytes by the core. ``controller`` is the profile's schedulerName.
    """

    pod: PodReference
    type: str
    reason: str
    action: str
    note: str
    controller: str
    now: float


class ExtenderVerb(enum.Enum):
    """What an extender can be asked."""

    FILTER = "filter"
    PRIORITIZE = "prioritize"
    PREEMPT = "preempt"
    BIND = "bind"


class Victims(msgspec.Struct, frozen=True, kw_only=True):
    """Pods of one node that would have to go, by UID, and how many disruption budgets that breaks."""

    pods: list[str]
    pdb_violations: int = 0


class AskExtender(_Instruction, frozen=True, kw_only=True):
    """Ask an extender, by its place in the configuration; answered by ExtenderAnswered or ExtenderFailed.

    ``number`` is another one for each of these instructions, and the answer carries it. ``node_names`` are the candidates in
    FILTER and PRIORITIZE, and the chosen node in BIND; ``victims`` are the candidates in PREEMPT, by node.
    """

    number: int
    extender: int
    verb: ExtenderVerb
    pod: PodReference
    node_names: list[str] = []
    victims: dict[str, Victims] = {}


Instruction: TypeAlias = (
    AskExtender | BindPod | FindEvents | PatchObject | PatchPodStatus | PreemptPod | ReadPod | RecordEvent
)
