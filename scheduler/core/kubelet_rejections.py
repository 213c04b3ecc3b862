"""Pods that we have bound and that their kubelet refused: they fail without having run, and leave what is watched.

::

    bound, or found bound and Pending --seen Running--> forgotten
      | left the watch before that
      read once --Failed, by one of the reasons below--> counted, told, and the node cools down for the pod's shape

Found are pods of our profiles that are first seen with a node: what ran before a restart has bound them, or the last leader.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from scheduler.core.cooling import Cooling, Shape
from scheduler.core.failure import note
from scheduler.core.instruction import Instruction, PodReference, ReadPod, RecordEvent
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.signature import Signature
from scheduler.queue.queued_pod import QueuedPod

READS_PER_SECOND = 10.0
READ_BURST = 50.0

COOLING = "KubeletRejections"
"""Stands where a rejecting plugin stands, for pods that are kept from nodes."""
COOLED_DOWN = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_CONDITION, "NodeCooledDown")
COOLING_EVENTS = (ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_CONDITION),)
COOLING_REASON = "node(s) had rejected a pod of this kind a short while ago"

PENDING, RUNNING = "Pending", "Running"
OUT_OF = "OutOf"
_REASONS = ("NodeAffinity", "NodePorts", "UnexpectedAdmissionError")
USUAL_REASONS = (*(f"{OUT_OF}{name}" for name in ("cpu", "memory", "pods", "ephemeral-storage")), *_REASONS)
"""Those that every cluster can show; a resource of another name has one of its own."""


def is_rejection(reason: str) -> bool:
    """Whether a failed pod's ``status.reason`` says that the kubelet never took it (kubelet 1.37: admission)."""
    return reason.startswith(OUT_OF) or reason in _REASONS


def shape_of(queued: QueuedPod) -> Shape | None:
    """What the pod shares with those that would be refused like it; None when there is nothing to tell them by."""
    return _shape(queued.pod, queued.signature)


def _shape(pod: PodInfo, signature: Signature | None) -> Shape | None:
    if signature is not None:
        return signature
    owners = pod.pod.metadata.owner_references or ()
    return next((("controller", owner.uid) for owner in owners if owner.controller), None)


class Placed(NamedTuple):
    """A pod of ours on its node that has not been seen running. ``found`` is it as it was first seen, when it has no shape yet."""

    node_name: str
    shape: Shape | None
    controller: str
    found: PodInfo | None = None


class KubeletRejection(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that the kubelet refused, for the log. ``seconds``: how long the node is kept from such pods."""

    pod: str
    node: str
    reason: str
    message: str
    seconds: float


class KubeletRejections:
    """What is known of pods between their bind and their first sign of life.

    Args:
        sign: gives the signature that a pod has while it waits for a node.
    """

    def __init__(self, sign: Callable[[PodInfo], Signature | None]) -> None:
        self.cooling = Cooling()
        self.unseen: dict[str, Placed] = {}
        """By UID."""
        self.skipped_reads = 0
        self.reads = 0
        self._sign = sign
        self.being_read: dict[str, tuple[Placed, PodReference]] = {}
        """By UID; whoever carries out a ReadPod answers it."""
        self._tokens = READ_BURST
        self._filled_at = 0.0

    def bound(self, queued: QueuedPod, node_name: str) -> None:
        """From now on it matters what becomes of the pod."""
        pod = queued.pod.pod
        self.unseen[queued.pod.uid] = Placed(node_name, shape_of(queued), pod.spec.scheduler_name)

    def found(self, pod: PodInfo) -> None:
        """The pod is on a node already, and not because of anything that this process remembers."""
        spec = pod.pod.spec
        # Few of them are refused, so those alone are signed.
        self.unseen[pod.uid] = Placed(spec.node_name, None, spec.scheduler_name, pod)

    def signed_anew(self, signature_now: Callable[[Signature], Signature]) -> None:
        """Other profiles sign from now on. What is known of pods holds on for those that they sign as before."""

        def shape_now(shape: Shape) -> Shape:
            return signature_now(shape) if isinstance(shape, Signature) else shape

        def placed_now(placed: Placed) -> Placed:
            return placed if placed.shape is None else placed._replace(shape=shape_now(placed.shape))

        self.cooling.translate(shape_now)
        self.unseen = {uid: placed_now(placed) for uid, placed in self.unseen.items()}
        self.being_read = {uid: (placed_now(placed), pod) for uid, (placed, pod) in self.being_read.items()}

    def left(self, pod: PodReference, now: float, *, is_terminating: bool) -> list[Instruction]:
        """The pod is not watched any more: if nobody saw it run, and nobody asked for its end, have it read."""
        placed = self.unseen.pop(pod.uid, None)
        if placed is None or is_terminating:
            return []
        if not self._may_read(now):
            self.skipped_reads += 1
            return []
        self.reads += 1
        self.being_read[pod.uid] = (placed, pod)
        return [ReadPod(pod=pod)]

    def read(
        self, uid: str, phase: str, reason: str, message: str, now: float
    ) -> tuple[KubeletRejection, RecordEvent] | None:
        """What the pod was found to be; a rejection and what to tell of it, None when it is none."""
        placed, pod = self.being_read.pop(uid, (None, None))
        if placed is None or pod is None or phase != "Failed" or not is_rejection(reason):
            return None
        told = f"Node {placed.node_name} rejected the pod ({reason})"
        seconds = 0.0
        shape = placed.shape if placed.found is None else self._shape_of_found(placed.found)
        if shape is not None:
            seconds = self.cooling.refused(shape, placed.node_name, now)
            told += f"; for {seconds:.0f}s it gets no other pod of this kind"
        rejection = KubeletRejection(
            pod=f"{pod.namespace}/{pod.name}", node=placed.node_name, reason=reason, message=message, seconds=seconds
        )
        event = RecordEvent(
            pod=pod,
            type="Warning",
            reason="RejectedByKubelet",
            action="Binding",
            note=note(f"{told}: {message}" if message else told),
            controller=placed.controller,
            now=now,
        )
        return rejection, event

    def _shape_of_found(self, pod: PodInfo) -> Shape | None:
        """That of the pods that wait and are like it: they have no node."""
        waiting = PodInfo(replace(pod.pod, spec=replace(pod.pod.spec, node_name="")))
        return _shape(pod, self._sign(waiting))

    def _may_read(self, now: float) -> bool:
        self._tokens = min(READ_BURST, self._tokens + max(0.0, now - self._filled_at) * READS_PER_SECOND)
        self._filled_at = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True
