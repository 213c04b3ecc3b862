"""What each stimulus does to the state (kube-scheduler 1.37: event handlers), and which instructions follow."""

from __future__ import annotations

from scheduler.api.objects import key_of
from scheduler.core.binding import bind_failed, pod_bound
from scheduler.core.changes import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    NODE_DELETE,
    node_events,
    pod_events,
)
from scheduler.core.instruction import Instruction
from scheduler.core.state import BadObject, State
from scheduler.core.stimulus import (
    BindFailed,
    DeviceClassApplied,
    DeviceClassDeleted,
    NamespaceApplied,
    NamespaceDeleted,
    NodeApplied,
    NodeDeleted,
    PodApplied,
    PodBound,
    PodDeleted,
    Stimulus,
    Tick,
)
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo

_TERMINAL = ("Succeeded", "Failed")


def handle(state: State, stimulus: Stimulus) -> list[Instruction]:
    """Apply one stimulus. An object that cannot be understood is counted and left out; everything else goes on."""
    match stimulus:
        case PodApplied():
            _pod_applied(state, stimulus)
        case PodDeleted():
            _pod_deleted(state, stimulus.uid, stimulus.now)
        case PodBound():
            return pod_bound(state, stimulus)
        case BindFailed():
            return bind_failed(state, stimulus)
        case NodeApplied():
            _node_applied(state, stimulus)
        case NodeDeleted():
            if state.cache.table.row_of(stimulus.name) is not None:
                state.cache.remove_node(stimulus.name)
                state.queue.move_all(NODE_DELETE, stimulus.now)
        case NamespaceApplied():
            state.cache.apply_namespace(stimulus.namespace)
            _move(state, EventResource.NAMESPACE, ActionType.UPDATE, stimulus.now)
        case NamespaceDeleted():
            state.cache.remove_namespace(stimulus.name)
            _move(state, EventResource.NAMESPACE, ActionType.DELETE, stimulus.now)
        case DeviceClassApplied():
            state.cache.apply_device_class(stimulus.device_class)
            _move(state, EventResource.DEVICE_CLASS, ActionType.UPDATE, stimulus.now)
        case DeviceClassDeleted():
            state.cache.remove_device_class(stimulus.name)
            _move(state, EventResource.DEVICE_CLASS, ActionType.DELETE, stimulus.now)
        case Tick():
            state.queue.flush(stimulus.now)
    return []


def _move(state: State, resource: EventResource, action: ActionType, now: float) -> None:
    state.queue.move_all(ClusterEvent(resource, action), now)


def _bad(state: State, kind: str, key: str, error: Exception) -> None:
    state.measurements.bad_objects[kind] += 1
    state.bad_objects.append(BadObject(kind=kind, key=key, error=str(error)))


def _node_applied(state: State, stimulus: NodeApplied) -> None:
    node = stimulus.node
    try:
        old = state.cache.apply_node(node)
    except ValueError as error:
        _bad(state, "Node", node.metadata.name, error)
        return
    if old is None or old.metadata.uid != node.metadata.uid:
        state.queue.move_all(NODE_ADD, stimulus.now)
        return
    for event in node_events(old, node):
        state.queue.move_all(event, stimulus.now)


def _pod_applied(state: State, stimulus: PodApplied) -> None:
    pod = PodInfo(stimulus.pod)
    if stimulus.pod.status.phase in _TERMINAL:
        _pod_deleted(state, pod.uid, stimulus.now)
        return
    try:
        # Worked out now, so that a pod with an unreadable quantity changes nothing.
        _ = (pod.requests, pod.score_requests, pod.accounted_requests, pod.accounted_non_zero)
    except ValueError as error:
        _bad(state, "Pod", key_of(stimulus.pod.metadata), error)
        return
    if stimulus.pod.spec.node_name:
        _assigned(state, pod, stimulus.now)
    else:
        _unassigned(state, pod, stimulus.now)


def _assigned(state: State, pod: PodInfo, now: float) -> None:
    known = state.cache.pod(pod.uid)
    state.cache.apply_pod(pod)
    if known is not None and not known.assumed:
        for event in pod_events(known.pod, pod, EventResource.ASSIGNED_POD):
            state.queue.move_all(event, now)
        return
    state.queue.delete(pod.uid)
    state.queue.move_all(ASSIGNED_POD_ADD, now)


def _unassigned(state: State, pod: PodInfo, now: float) -> None:
    binding = state.bindings.get(pod.uid)
    if binding is not None:
        newly_deleted = (
            pod.pod.metadata.deletion_timestamp is not None
            and binding.latest is not None
            and binding.latest.pod.metadata.deletion_timestamp is None
        )
        binding.latest = pod
        if newly_deleted:
            _forget_assumed(state, pod.uid, now)
        return
    if state.cache.pod(pod.uid) is not None:
        # Seen with a node and now without one: an older state of the pod, which the watch never gives in this order.
        return
    queued = state.queue.get(pod.uid)
    if queued is None:
        if state.profile_of(pod) is not None:
            state.queue.update(pod, (), now)
        return
    old = queued.pod
    if old.pod.metadata.resource_version != pod.pod.metadata.resource_version or not pod.pod.metadata.resource_version:
        state.queue.update(pod, pod_events(old, pod, EventResource.TARGET_POD), now)


def _forget_assumed(state: State, uid: str, now: float) -> None:
    """The assumed pod is going away: its place is free at once, its bind will fail by itself."""
    known = state.cache.pod(uid)
    if known is not None and known.assumed:
        state.cache.forget(uid)
        state.queue.move_all(ASSIGNED_POD_DELETE, now)


def _pod_deleted(state: State, uid: str, now: float) -> None:
    binding = state.bindings.get(uid)
    if binding is not None:
        binding.latest = None
    state.queue.delete(uid)
    known = state.cache.pod(uid)
    if known is None:
        return
    if known.assumed:
        _forget_assumed(state, uid, now)
    else:
        state.cache.remove_pod(uid)
        state.queue.move_all(ASSIGNED_POD_DELETE, now)
