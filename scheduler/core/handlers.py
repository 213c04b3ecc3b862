"""What each stimulus does to the state (kube-scheduler 1.37: event handlers), and which instructions follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler.api.objects import Namespace, ObjectMeta
from scheduler.api.quantity import QuantityError
from scheduler.core.bind_check import bind_due
from scheduler.core.binding import bind_failed, pod_bound, pod_read
from scheduler.core.binding_cycle import abandon, expire, follow_permits, object_changed, patch_answered
from scheduler.core.changes import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    NODE_DELETE,
    UNSCHEDULED_POD_ADD,
    UNSCHEDULED_POD_DELETE,
    UNSCHEDULED_POD_UPDATE,
    node_events,
    placed,
    pod_changes,
    pod_events,
)
from scheduler.core.clock import set_back
from scheduler.core.extend_answers import extender_answered
from scheduler.core.heard import heard
from scheduler.core.instruction import Instruction, PodReference
from scheduler.core.kubelet_rejections import COOLED_DOWN, PENDING, RUNNING
from scheduler.core.preemption import preemption_answered
from scheduler.core.reload import configuration_changed
from scheduler.core.state import State
from scheduler.core.stimulus import (
    BindDue,
    BindFailed,
    ConfigurationChanged,
    DeviceClassApplied,
    DeviceClassDeleted,
    DisruptionBudgetApplied,
    DisruptionBudgetDeleted,
    EventsFound,
    ExtenderAnswered,
    ExtenderFailed,
    NamespaceApplied,
    NamespaceDeleted,
    NodeApplied,
    NodeDeleted,
    ObjectPatched,
    ObjectPatchFailed,
    PodApplied,
    PodBound,
    PodDeleted,
    PodPreempted,
    PodRead,
    PreemptPodFailed,
    SelectingObjectApplied,
    SelectingObjectDeleted,
    Stimulus,
    StorageObjectApplied,
    StorageObjectDeleted,
    Tick,
)
from scheduler.core.storage_handlers import storage_changed
from scheduler.framework.binding import ObjectKey
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo

_TERMINAL = ("Succeeded", "Failed")


def handle(state: State, stimulus: Stimulus) -> list[Instruction]:
    """Apply one stimulus. An object that cannot be understood is counted and left out; everything else goes on."""
    state.measurements.taken_up = state.measurements.stopwatch()
    state.ticks.begin(stimulus.now)
    instructions = _apply(state, stimulus)
    if state.binding_cycles.settled:
        instructions = [*instructions, *follow_permits(state, stimulus.now)]
    return instructions


def _apply(state: State, stimulus: Stimulus) -> list[Instruction]:
    match stimulus:
        case PodApplied():
            return _pod_applied(state, stimulus)
        case PodDeleted():
            metadata = ObjectMeta(namespace=stimulus.namespace, name=stimulus.name, uid=stimulus.uid)
            return _pod_deleted(state, metadata, stimulus.now)
        case (
            PodBound()
            | BindFailed()
            | BindDue()
            | PodRead()
            | ExtenderAnswered()
            | ExtenderFailed()
            | ObjectPatched()
            | ObjectPatchFailed()
            | EventsFound()
        ):
            return _answered(state, stimulus)
        case NodeApplied():
            _node_applied(state, stimulus)
            return object_changed(state, ObjectKey("Node", "", stimulus.node.metadata.name), stimulus.now)
        case NodeDeleted():
            _node_deleted(state, stimulus)
            return object_changed(state, ObjectKey("Node", "", stimulus.name), stimulus.now)
        case NamespaceApplied():
            _namespace_applied(state, stimulus)
        case NamespaceDeleted():
            _namespace_deleted(state, stimulus)
        case DeviceClassApplied() | DeviceClassDeleted():
            _device_class_changed(state, stimulus)
        # These wake nobody (kube-scheduler 1.37: listed without handlers).
        case (
            SelectingObjectApplied() | SelectingObjectDeleted() | DisruptionBudgetApplied() | DisruptionBudgetDeleted()
        ):
            _listed(state, stimulus)
        case PodPreempted() | PreemptPodFailed():
            return preemption_answered(state, stimulus)
        case StorageObjectApplied() | StorageObjectDeleted():
            key = storage_changed(state, stimulus)
            return [] if key is None else object_changed(state, key, stimulus.now)
        case Tick():
            _look_at_clock(state, stimulus.now)
            return [*expire(state, stimulus.now), *state.unserved.expire(stimulus.now)]
        case ConfigurationChanged():
            configuration_changed(state, stimulus)
    return []


def _device_class_changed(state: State, stimulus: DeviceClassApplied | DeviceClassDeleted) -> None:
    if isinstance(stimulus, DeviceClassApplied):
        device_class = stimulus.device_class
        known = state.cache.apply_device_class(device_class)
        action = ActionType.ADD if known is None else ActionType.UPDATE
        _move(state, EventResource.DEVICE_CLASS, action, stimulus.now, known, device_class)
    elif (known := state.cache.remove_device_class(stimulus.name)) is not None:
        _move(state, EventResource.DEVICE_CLASS, ActionType.DELETE, stimulus.now, known)


def _answered(
    state: State,
    answer: PodBound
    | BindFailed
    | BindDue
    | PodRead
    | ExtenderAnswered
    | ExtenderFailed
    | ObjectPatched
    | ObjectPatchFailed
    | EventsFound,
) -> list[Instruction]:
    match answer:
        case PodBound():
            return pod_bound(state, answer)
        case BindFailed():
            return bind_failed(state, answer)
        case BindDue():
            return bind_due(state, answer)
        case ExtenderAnswered() | ExtenderFailed():
            return extender_answered(state, answer)
        case PodRead():
            return pod_read(state, answer)
        case EventsFound():
            return state.unserved.found(answer.uid, answer.has_events, answer.now)
        case _:
            return patch_answered(state, answer)


def _listed(
    state: State,
    stimulus: SelectingObjectApplied | SelectingObjectDeleted | DisruptionBudgetApplied | DisruptionBudgetDeleted,
) -> None:
    match stimulus:
        case SelectingObjectApplied():
            state.cache.apply_selecting_object(stimulus.subject)
        case SelectingObjectDeleted():
            state.cache.remove_selecting_object(stimulus.kind, stimulus.namespace, stimulus.name)
        case DisruptionBudgetApplied():
            metadata = stimulus.budget.metadata
            try:
                state.budgets.apply(stimulus.budget)
            except ValueError as error:
                state.report_bad("PodDisruptionBudget", metadata, f"spec.selector: {error}")
            else:
                state.report_good("PodDisruptionBudget", metadata)
        case DisruptionBudgetDeleted():
            state.budgets.remove(stimulus.namespace, stimulus.name)
            gone = ObjectMeta(namespace=stimulus.namespace, name=stimulus.name, uid=stimulus.uid)
            state.report_good("PodDisruptionBudget", gone)


def _move(
    state: State, resource: EventResource, action: ActionType, now: float, old: Any = None, new: Any = None
) -> None:
    heard(state, ClusterEvent(resource, action), now, old=old, new=new)


def _look_at_clock(state: State, now: float) -> None:
    """What is due; when the clock was set back, that is as long from now as it was."""
    if seconds := state.ticks.set_back_seconds(now):
        set_back(state, seconds)
    state.queue.flush(now)
    _cool_down(state, now)


def _cool_down(state: State, now: float) -> None:
    cooling = state.kubelet_rejections.cooling
    if cooling.active and cooling.expire(now):
        state.queue.move_all(COOLED_DOWN, now)


def _node_applied(state: State, stimulus: NodeApplied) -> None:
    node = stimulus.node
    try:
        old = state.cache.apply_node(node)
    except ValueError as error:
        state.report_bad("Node", node.metadata, str(error))
        return
    state.report_good("Node", node.metadata)
    if old is not None and old.metadata.uid == node.metadata.uid:
        for event in node_events(old, node):
            heard(state, event, stimulus.now, old=old, new=node)
        return
    if old is not None:
        # Another node of the same name: the end of the first one was not seen.
        heard(state, NODE_DELETE, stimulus.now, old=old)
    state.batching.entries.node_added(stimulus.now)
    heard(state, NODE_ADD, stimulus.now, new=node)


def _node_deleted(state: State, stimulus: NodeDeleted) -> None:
    state.report_good("Node", ObjectMeta(name=stimulus.name))
    row = state.cache.table.row_of(stimulus.name)
    if row is not None and state.cache.table.node(row).metadata.uid == stimulus.uid:
        removed = state.cache.remove_node(stimulus.name)
        heard(state, NODE_DELETE, stimulus.now, old=removed)


def _namespace_applied(state: State, stimulus: NamespaceApplied) -> None:
    """A namespace matters by its labels."""
    metadata = stimulus.namespace.metadata
    before = state.cache.namespace_labels(metadata.name)
    if state.cache.apply_namespace(stimulus.namespace):
        state.batching.entries.namespace_changed(metadata.name, stimulus.now)
    if before is None:
        _move(state, EventResource.NAMESPACE, ActionType.ADD, stimulus.now, new=stimulus.namespace)
    elif before != (metadata.labels or {}):
        old = _namespace(metadata.name, before)
        _move(state, EventResource.NAMESPACE, ActionType.UPDATE, stimulus.now, old, stimulus.namespace)


def _namespace_deleted(state: State, stimulus: NamespaceDeleted) -> None:
    before = state.cache.namespace_labels(stimulus.name)
    if state.cache.remove_namespace(stimulus.name):
        state.batching.entries.namespace_changed(stimulus.name, stimulus.now)
    _move(state, EventResource.NAMESPACE, ActionType.DELETE, stimulus.now, _namespace(stimulus.name, before or {}))


def _namespace(name: str, labels: Mapping[str, str]) -> Namespace:
    """What is known of a namespace."""
    return Namespace(metadata=ObjectMeta(name=name, labels=dict(labels)))


def _pod_applied(state: State, stimulus: PodApplied) -> list[Instruction]:
    pod = PodInfo(stimulus.pod)
    if stimulus.pod.status.phase in _TERMINAL:
        return _pod_deleted(state, stimulus.pod.metadata, stimulus.now)
    if (error := unreadable(pod)) is not None:
        state.report_bad("Pod", stimulus.pod.metadata, error)
        if stimulus.pod.spec.node_name:
            # It has a node, so it needs none from us any more.
            state.queue.delete(pod.uid)
            _leave_binding(state, pod.uid, stimulus.now)
    else:
        state.report_good("Pod", stimulus.pod.metadata)
        if stimulus.pod.spec.node_name:
            _assigned(state, pod, stimulus.now)
        else:
            _unassigned(state, pod, stimulus.now)
    return []


def unreadable(pod: PodInfo) -> str | None:
    """What of the pod cannot be understood, so that it must not change anything; None when it can be worked with."""
    if not pod.uid:
        return "metadata.uid is empty, and pods are kept by it"
    try:
        _ = pod.amounts
    except QuantityError as error:
        return str(error)
    return None


def _assigned(state: State, pod: PodInfo, now: float) -> None:
    known = state.cache.apply_pod(pod)
    if known is None:
        state.unserved.placed(pod)
    _leave_extending(state, pod.uid)
    if state.kubelet_rejections.unseen and pod.pod.status.phase == RUNNING:
        state.kubelet_rejections.unseen.pop(pod.uid, None)
    if pod.uid in state.binding_cycles.before_bind:
        abandon(state, pod.uid, now)
    nominated = _nominated(state, pod.uid)
    state.queue.delete(pod.uid)
    if nominated is not None and nominated.pod.status.nominated_node_name != pod.pod.spec.node_name:
        state.release_nomination(nominated, now)
    if known is None:
        if pod.pod.status.phase == PENDING and state.profile_of(pod) is not None:
            state.kubelet_rejections.found(pod)
        heard(state, ASSIGNED_POD_ADD, now, new=pod)
    elif known.node_name != pod.pod.spec.node_name:
        # It is not where it was thought to be: there is room again.
        heard(state, ASSIGNED_POD_DELETE, now, old=placed(known.pod, known.node_name))
        heard(state, ASSIGNED_POD_ADD, now, new=pod)
    elif known.assumed:
        heard(state, ASSIGNED_POD_ADD, now, new=pod)
        # What changed since the decision is seen here for the first time.
        for event in pod_changes(known.pod, pod, EventResource.ASSIGNED_POD):
            heard(state, event, now, old=placed(known.pod, known.node_name), new=pod)
    else:
        for event in pod_events(known.pod, pod, EventResource.ASSIGNED_POD):
            heard(state, event, now, old=known.pod, new=pod)


def _unassigned(state: State, pod: PodInfo, now: float) -> None:
    if state.profile_of(pod) is None and state.tries(pod.uid):
        # No API server lets a pod name another scheduler; kube-scheduler drops it without a word when its turn comes.
        _withdraw(state, pod.uid, now)
        state.unserved.apply(pod, now)
        return
    if state.extending is not None and state.extending.uid == pod.uid:
        decided_on, state.extending.latest = state.extending.latest, pod
        events = () if decided_on is None else pod_events(decided_on, pod, EventResource.TARGET_POD)
        state.queue.update(pod, events, now)
        state.measurements.event_handled(UNSCHEDULED_POD_UPDATE)
        return
    binding = state.bindings.get(pod.uid)
    if binding is not None:
        before = binding.latest
        newly_deleted = (
            pod.pod.metadata.deletion_timestamp is not None
            and before is not None
            and before.pod.metadata.deletion_timestamp is None
        )
        binding.latest = pod
        if before is not None and state.queue.is_in_flight(pod.uid):
            # Should Permit reject it, the change may have helped (kube-scheduler drops updates of assumed pods).
            state.queue.record_own(pod, pod_events(before, pod, EventResource.TARGET_POD), old=before)
        if newly_deleted:
            _forget_assumed(state, pod.uid, now)
        state.measurements.event_handled(UNSCHEDULED_POD_UPDATE)
        return
    if state.cache.pod(pod.uid) is not None:
        # It has a node already, so this is an older state of it; a watch never gives that afterwards.
        return
    queued = state.queue.get(pod.uid)
    if queued is None:
        if state.profile_of(pod) is not None:
            state.queue.update(pod, (), now)
            state.measurements.event_handled(UNSCHEDULED_POD_ADD)
        else:
            state.unserved.apply(pod, now)
        return
    old = queued.pod
    if old.pod.metadata.resource_version != pod.pod.metadata.resource_version or not pod.pod.metadata.resource_version:
        state.queue.update(pod, pod_events(old, pod, EventResource.TARGET_POD), now)
        nominated = old.pod.status.nominated_node_name
        if nominated and nominated != pod.pod.status.nominated_node_name:
            state.release_nomination(old, now)
        state.measurements.event_handled(UNSCHEDULED_POD_UPDATE)


def _forget_assumed(state: State, uid: str, now: float) -> None:
    """The assumed pod is going away: its place is free at once, and it waits no longer; its bind will fail by itself."""
    cycle = state.binding_cycles.before_bind.get(uid)
    if cycle is not None and cycle.wait is not None:
        cycle.wait.reject("", "removed")
        return
    known = state.cache.pod(uid)
    if known is not None and known.assumed:
        state.cache.forget(uid)
        heard(state, ASSIGNED_POD_DELETE, now, old=placed(known.pod, known.node_name))


def _pod_deleted(state: State, metadata: ObjectMeta, now: float) -> list[Instruction]:
    state.report_good("Pod", metadata)
    was_tried = state.tries(metadata.uid)
    _withdraw(state, metadata.uid, now)
    if was_tried:
        state.measurements.event_handled(UNSCHEDULED_POD_DELETE)
    state.unserved.remove(metadata.uid)
    known = state.cache.remove_pod(metadata.uid)
    if known is not None:
        heard(state, ASSIGNED_POD_DELETE, now, old=placed(known.pod, known.node_name))
    if not state.kubelet_rejections.unseen:
        return []
    is_terminating = known is not None and known.pod.pod.metadata.deletion_timestamp is not None
    reference = PodReference(namespace=metadata.namespace, name=metadata.name, uid=metadata.uid)
    return state.kubelet_rejections.left(reference, now, is_terminating=is_terminating)


def _withdraw(state: State, uid: str, now: float) -> None:
    """The pod needs no node of us any more."""
    _leave_binding(state, uid, now)
    nominated = _nominated(state, uid)
    state.queue.delete(uid)
    if nominated is not None:
        state.release_nomination(nominated, now)


def _leave_binding(state: State, uid: str, now: float) -> None:
    """Should the pod's bind fail, it is not tried again; if it has not begun it never will."""
    _leave_extending(state, uid)
    binding = state.bindings.get(uid)
    if binding is not None:
        binding.latest = None
        abandon(state, uid, now)


def _leave_extending(state: State, uid: str) -> None:
    """Whatever extenders say of the pod, it needs no node any more."""
    if state.extending is not None and state.extending.uid == uid:
        state.extending.latest = None


def _nominated(state: State, uid: str) -> PodInfo | None:
    """A pod that waits, or was dropped, and that room is kept for; also one whose nomination the API still has to clear."""
    queued = state.queue.get(uid)
    if queued is not None and queued.pod.pod.status.nominated_node_name:
        return queued.pod
    return state.queue.nominator.remove(uid)
