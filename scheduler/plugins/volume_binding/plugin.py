"""The extension points of VolumeBinding."""

from __future__ import annotations

from typing import Any, ClassVar

from scheduler.api import field_errors
from scheduler.framework.binding import (
    Handle,
    PatchAnswer,
    PreBindDone,
    PreBindFailed,
    PreBindStep,
    PreBindWaits,
    PreBindWrites,
    PreFlight,
)
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.columns import no_reasons, same_score
from scheduler.framework.facet import Facet, Input
from scheduler.framework.function_shape import FunctionShape
from scheduler.framework.ops import Ints, Masks
from scheduler.framework.plugin import (
    CycleState,
    EnqueueExtensions,
    FilterPlugin,
    PreBindPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
    SignPlugin,
    Unsignable,
)
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.queueing_hint import Hint, queue_if
from scheduler.framework.status import SKIP, SUCCESS, Code, Reason, Status
from scheduler.framework.view import NodeView
from scheduler.plugins.volume_binding import hints
from scheduler.plugins.volume_binding.args import VolumeBindingArgs, validate
from scheduler.plugins.volume_binding.binding import BindingError, VolumeWork
from scheduler.plugins.volume_binding.catalogue import CapacityCatalogue
from scheduler.plugins.volume_binding.claims import (
    UNBOUND_IMMEDIATE,
    ClaimRefusal,
    classify,
    usable_claims,
    uses_claims,
)
from scheduler.plugins.volume_binding.one_node import view_of
from scheduler.plugins.volume_binding.plan import REASONS, Plan
from scheduler.plugins.volume_binding.planning import make_plan

_VOLUMES = int(Facet.VOLUMES)  # as a plain int: arithmetic of an IntFlag takes ten times as long

_PLAN = "plan"
_FILTERED = "filtered"
_WORK = "work"
_DEADLINE = "deadline"


class VolumeBinding(
    PreFilterPlugin,
    FilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    ReservePlugin,
    PreBindPlugin,
    EnqueueExtensions,
    SignPlugin,
):
    name = "VolumeBinding"
    facets = Facet.LABELS | Facet.NAME
    inputs = frozenset({Input.STORAGE})
    watches: ClassVar[tuple[str, ...]] = (
        "PersistentVolumeClaim",
        "PersistentVolume",
        "StorageClass",
        "CSINode",
        "CSIDriver",
        "CSIStorageCapacity",
    )
    patches: ClassVar[tuple[str, ...]] = ("PersistentVolume", "PersistentVolumeClaim")

    def __init__(self, args: VolumeBindingArgs = VolumeBindingArgs()) -> None:  # noqa: B008 - frozen
        if errors := validate(args, ""):
            raise ValueError(f"arguments of VolumeBinding: {field_errors.aggregate(errors)}")
        self._bind_timeout_seconds = args.bind_timeout_seconds
        self._line = FunctionShape(args.shape)
        self._catalogue = CapacityCatalogue()

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        if not uses_claims(pod.pod):
            state[_PLAN] = None
            return PreFilterResult(SKIP)
        try:
            usable = usable_claims(pod.pod, nodes.storage)
        except ClaimRefusal as refusal:
            return self._refused(str(refusal))
        claims = classify(usable, nodes.storage)
        if claims.immediate:
            return self._refused(UNBOUND_IMMEDIATE)
        state[_PLAN] = make_plan(claims, nodes.storage, self._catalogue)
        return PreFilterResult()

    def _refused(self, reason: str) -> PreFilterResult:
        return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,), self.name))

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        plan: Plan | None = state.get(_PLAN)
        return REASONS if plan is None else plan.reasons

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        plan = _read(state)
        state[_FILTERED] = True
        if plan is None:
            return no_reasons(nodes)
        masks = plan.masks(nodes)
        return int(masks[0]) if nodes.is_row else masks

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        _read(state)
        return SUCCESS

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        plan = _read(state)
        if plan is None or _FILTERED not in state:
            # Upstream scores what Filter found for a node: nothing, where a configuration disables Filter alone.
            return same_score(nodes, 0)
        scores = plan.scores(nodes, self._line)
        return int(scores[0]) if nodes.is_row else scores

    def takes_part(self, pod: PodInfo) -> bool:
        # Asked of each pod that is decided on: most have no volumes of storage, and are done with at once.
        return bool(pod.facets & _VOLUMES) and uses_claims(pod.pod)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str, handle: Handle) -> Status:
        plan = _read(state)
        node = handle.node(node_name)
        # Without Filter no volumes were found, and nothing is bound (kube-scheduler 1.37: VolumeBinding Reserve).
        if plan is None or plan.all_bound or _FILTERED not in state:
            return SUCCESS
        if node is None:
            return Status(Code.ERROR, (f'node "{node_name}" not found',))
        work = VolumeWork(plan.decide(view_of(node)), node_name)
        try:
            work.assume(handle.storage)
        except ValueError as error:
            return Status(Code.ERROR, (str(error),))
        state[_WORK] = work
        # It has columns of all nodes, and the binding may wait for long.
        del state[_PLAN]
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str, handle: Handle) -> None:
        work: VolumeWork | None = state.get(_WORK)
        if work is not None:
            work.restore(handle.storage)

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str, handle: Handle) -> PreFlight:
        return PreFlight(SUCCESS if _WORK in state else SKIP, allow_parallel=True)

    def pre_bind(
        self, state: CycleState, pod: PodInfo, node_name: str, handle: Handle, answers: tuple[PatchAnswer, ...]
    ) -> PreBindStep:
        work: VolumeWork = state[_WORK]
        for answer in answers:
            if answer.error:
                return _failed(answer.error)
            work.written(answer.resource_version)
        patches = work.patches()
        if patches:
            return PreBindWrites(patches)
        deadline: float = state.setdefault(_DEADLINE, handle.now + self._bind_timeout_seconds)
        try:
            is_bound = work.is_bound(handle.storage, handle.node(node_name))
        except BindingError as error:
            return _failed(f"binding volumes: {error}")
        if is_bound:
            return PreBindDone()
        if handle.now >= deadline:
            return _failed("binding volumes: context deadline exceeded")
        return PreBindWaits(work.awaited(handle.storage), deadline)

    def sign(self, pod: PodInfo) -> tuple[Any, ...] | Unsignable:
        if uses_claims(pod.pod):
            return Unsignable("the pod has volumes with claims, which depend on more than nodes and are its own")
        return ()

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        either = ActionType.ADD | ActionType.UPDATE
        return (
            ClusterEvent(EventResource.STORAGE_CLASS, either),
            ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, either),
            ClusterEvent(EventResource.PERSISTENT_VOLUME, either),
            ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
            ClusterEvent(EventResource.CSI_NODE, either),
            ClusterEvent(EventResource.CSI_DRIVER, ActionType.UPDATE),
            ClusterEvent(EventResource.CSI_STORAGE_CAPACITY, either),
        )

    def queueing_hint(self, pod: PodInfo, event: ClusterEvent, old: Any, new: Any, nodes: NodeView) -> Hint:
        match event.resource:
            case EventResource.STORAGE_CLASS:
                return queue_if(old is None or hints.topologies(old) != hints.topologies(new))
            case EventResource.PERSISTENT_VOLUME_CLAIM:
                return queue_if(hints.uses_claim(pod.pod, new))
            case EventResource.CSI_NODE:
                return queue_if(old is None or hints.migrated(old) != hints.migrated(new))
            case EventResource.CSI_DRIVER:
                return queue_if(hints.stopped_limiting(old, new) and hints.may_use(pod.pod, new))
            case EventResource.CSI_STORAGE_CAPACITY:
                return queue_if(old is None or hints.grew(old, new))
        return Hint.QUEUE


def _read(state: CycleState) -> Plan | None:
    """What PreFilter noted: None for a pod without claims."""
    try:
        plan: Plan | None = state[_PLAN]
    except KeyError:
        # A configuration that disables PreFilter alone; kube-scheduler fails the same way.
        raise RuntimeError("not found") from None
    return plan


def _failed(message: str) -> PreBindFailed:
    return PreBindFailed(Status(Code.ERROR, (message,)))
