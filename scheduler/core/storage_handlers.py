"""What claims, volumes, classes, drivers, capacities and attachments do to the state when they come, change and go."""

from __future__ import annotations

from scheduler.api.objects import ObjectMeta
from scheduler.api.storage import StorageObject
from scheduler.core.heard import heard
from scheduler.core.state import State
from scheduler.core.stimulus import StorageObjectApplied, StorageObjectDeleted
from scheduler.framework.binding import ObjectKey
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource

_RESOURCES = {
    "PersistentVolumeClaim": EventResource.PERSISTENT_VOLUME_CLAIM,
    "PersistentVolume": EventResource.PERSISTENT_VOLUME,
    "StorageClass": EventResource.STORAGE_CLASS,
    "CSINode": EventResource.CSI_NODE,
    "CSIDriver": EventResource.CSI_DRIVER,
    "CSIStorageCapacity": EventResource.CSI_STORAGE_CAPACITY,
    "VolumeAttachment": EventResource.VOLUME_ATTACHMENT,
}


def storage_changed(state: State, stimulus: StorageObjectApplied | StorageObjectDeleted) -> ObjectKey | None:
    """Take the change in and wake who may be helped by it. Returns the object that changed, None when nothing did."""
    return _applied(state, stimulus) if isinstance(stimulus, StorageObjectApplied) else _deleted(state, stimulus)


def _applied(state: State, stimulus: StorageObjectApplied) -> ObjectKey | None:
    subject = stimulus.subject
    kind, metadata = type(subject).__name__, subject.metadata
    known = state.cache.storage.shown(kind, metadata.namespace, metadata.name)
    try:
        state.cache.apply_storage_object(subject)
    except ValueError as error:
        state.report_bad(kind, metadata, str(error))
        return None
    state.report_good(kind, metadata)
    if known is not None and known.metadata.uid != metadata.uid:
        # Another object of the same name: the end of the first one was not seen.
        _move(state, kind, ActionType.DELETE, stimulus.now, known)
        known = None
    _move(state, kind, ActionType.ADD if known is None else ActionType.UPDATE, stimulus.now, known, subject)
    return ObjectKey(kind, metadata.namespace, metadata.name)


def _deleted(state: State, stimulus: StorageObjectDeleted) -> ObjectKey | None:
    kind, namespace, name = stimulus.kind, stimulus.namespace, stimulus.name
    state.report_good(kind, ObjectMeta(namespace=namespace, name=name))
    known = state.cache.storage.shown(kind, namespace, name)
    if known is None or known.metadata.uid != stimulus.uid:
        return None
    state.cache.remove_storage_object(kind, namespace, name)
    _move(state, kind, ActionType.DELETE, stimulus.now, known)
    return ObjectKey(kind, namespace, name)


def _move(
    state: State,
    kind: str,
    action: ActionType,
    now: float,
    old: StorageObject | None = None,
    new: StorageObject | None = None,
) -> None:
    heard(state, ClusterEvent(_RESOURCES[kind], action), now, old=old, new=new)
