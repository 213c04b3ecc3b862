"""A cluster given as objects: one of each kind and name, the last one that was applied, in a cache to decide on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from scheduler.api.objects import (
    DeviceClass,
    Namespace,
    Node,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    key_of,
)
from scheduler.app.cluster_objects import (
    NAMESPACED_KINDS,
    SELECTING_KINDS,
    ClusterObject,
    Reference,
)
from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo

SEED = 0
"""Ties do not show in an answer, which lists all of the best nodes."""

TERMINAL_PHASES = ("Succeeded", "Failed")


class PlainCluster:
    """Objects by kind, namespace and name. ``cache`` has the nodes, and the pods that take room on them."""

    def __init__(self) -> None:
        self.cache = Cache(seed=SEED)
        self._uids: dict[tuple[str, str], str] = {}
        self._pod_keys: dict[str, str] = {}

    def apply(self, item: ClusterObject) -> None:
        """Put the object in, in the place of another one of its name. It was read by ``read_object``, so it can be."""
        if isinstance(item, PodInfo):
            self._apply_pod(item)
            return
        if isinstance(item, Node):
            self.cache.apply_node(item)
        elif isinstance(item, Namespace):
            self.cache.apply_namespace(item)
        elif isinstance(item, DeviceClass):
            self.cache.apply_device_class(item)
        elif isinstance(item, Service | ReplicationController | ReplicaSet | StatefulSet):
            self.cache.apply_selecting_object(item)
        else:
            self.cache.apply_storage_object(item)
        self._uids[type(item).__name__, key_of(item.metadata)] = item.metadata.uid

    def _apply_pod(self, pod: PodInfo) -> None:
        key = pod.key
        before = self._uids.get(("Pod", key))
        if before is not None and before != pod.uid:
            self._forget_pod(key, before)
        elsewhere = self._pod_keys.get(pod.uid)
        if elsewhere is not None and elsewhere != key:
            self._forget_pod(elsewhere, pod.uid)
        self._uids["Pod", key] = pod.uid
        self._pod_keys[pod.uid] = key
        if pod.pod.spec.node_name and pod.pod.status.phase not in TERMINAL_PHASES:
            self.cache.apply_pod(pod)
        else:
            self.cache.remove_pod(pod.uid)

    def _forget_pod(self, key: str, uid: str) -> None:
        del self._uids["Pod", key]
        del self._pod_keys[uid]
        self.cache.remove_pod(uid)

    def delete(self, reference: Reference) -> None:
        """Take an object out. Nothing happens when it is not there, or is there with another UID than the one given."""
        kind, name = reference.kind, reference.name
        namespace = reference.namespace if kind in NAMESPACED_KINDS else ""
        key = f"{namespace}/{name}" if namespace else name
        known = self._uids.get((kind, key))
        if known is None or reference.uid not in ("", known):
            return
        if kind == "Pod":
            self._forget_pod(key, known)
            return
        del self._uids[kind, key]
        if kind == "Node":
            self.cache.remove_node(name)
        elif kind == "Namespace":
            self.cache.remove_namespace(name)
        elif kind == "DeviceClass":
            self.cache.remove_device_class(name)
        elif kind in SELECTING_KINDS:
            self.cache.remove_selecting_object(kind, namespace, name)
        else:
            self.cache.remove_storage_object(kind, namespace, name)

    @contextmanager
    def without(self, uid: str) -> Iterator[None]:
        """The cluster without this pod, for as long as it is looked at."""
        seated = self.cache.remove_pod(uid)
        try:
            yield
        finally:
            if seated is not None:
                self.cache.apply_pod(seated.pod)
