"""Cache: every pod that sits on a node or is assumed to, and the nodes, kept as the API last showed them.

::

    absent --assume--> assumed --apply_pod--> confirmed --remove_pod--> absent
    absent --apply_pod--> confirmed         (bound by someone else, or known from the first list)
    assumed --forget or remove_pod--> absent

An assumed pod stays until it is confirmed, forgotten or removed: there is no expiry (kube-scheduler 1.37: backend/cache).
A pod on a node that is not known is kept, and charged to the node when it comes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from scheduler.api.objects import DeviceClass, Namespace, Node, SelectingObject, key_of
from scheduler.api.quantity import QuantityError
from scheduler.api.storage import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    StorageObject,
    VolumeAttachment,
)
from scheduler.cache.deduced_selectors import DeducedSelector
from scheduler.cache.device_classes import DeviceClassIndex
from scheduler.cache.node_table import JOURNAL_CAPACITY, NodeTable
from scheduler.cache.storage import StorageIndex
from scheduler.cache.storage_validation import check_storage
from scheduler.cache.validation import check
from scheduler.framework.pod_info import PodInfo


class CachedPod(msgspec.Struct, frozen=True):
    """A pod and the node that it takes room on. ``assumed``: by our own decision, which the API has not shown yet."""

    pod: PodInfo
    node_name: str
    assumed: bool


class Cache:
    """Pods by UID, nodes by name, and the table that decisions are made on.

    Args:
        seed: of the keys by which equal nodes are decided between.
        journal_capacity: see NodeTable.
    """

    def __init__(self, seed: int, journal_capacity: int = JOURNAL_CAPACITY) -> None:
        self.table = NodeTable(seed, journal_capacity)
        self.assumed_count = 0
        self._pods: dict[str, CachedPod] = {}
        self._by_node: dict[str, dict[str, CachedPod]] = {}
        self._ranked: dict[int, int] = {}
        """Number of pods by priority; those of priority 0, which is that of nearly all, are not counted."""
        self._device_classes = DeviceClassIndex()

    # Nodes

    def apply_node(self, node: Node) -> Node | None:
        """A node as the watch shows it; the previous object, or None for a new one.

        A previous object with another UID is a node that is gone: its row starts anew, with the pods known by that name.

        Raises:
            ValueError: the node cannot be read; the text names it and the field, and nothing was changed.
        """
        return self.table.apply_node(node, self._pods_of(node.metadata.name))

    def remove_node(self, name: str) -> Node | None:
        """The node is gone; its pods stay known until they are removed themselves. None if there was no such node."""
        return self.table.remove_node(name, self._pods_of(name))

    # Pods

    def assume(self, pod: PodInfo, node_name: str) -> None:
        """Count the pod on the node before the API shows it there.

        Raises:
            ValueError: the pod is known already, or cannot be read; nothing was changed.
        """
        _check_readable(pod)
        if pod.uid in self._pods:
            raise ValueError(f"pod {pod.uid}({pod.key}) is in the cache, so can't be assumed")
        self._add(CachedPod(pod, node_name, True))

    def forget(self, uid: str) -> CachedPod | None:
        """Take back an assumed pod; None if it is not known.

        Raises:
            ValueError: the pod was confirmed, so it is not ours to take back.
        """
        known = self._pods.get(uid)
        if known is None:
            return None
        if not known.assumed:
            raise ValueError(f"pod {uid}({known.pod.key}) is not assumed, so it cannot be removed or forgotten")
        self._remove(known)
        return known

    def apply_pod(self, pod: PodInfo) -> CachedPod | None:
        """A pod with a node, as the watch shows it: a new one, the confirmation of an assumed one, or an update.

        The API's node counts, whatever was assumed. Returns what was known of the pod before.

        Raises:
            ValueError: the pod has no UID or no node, or cannot be read; nothing was changed.
        """
        _check_readable(pod)
        node_name = pod.pod.spec.node_name
        if not node_name:
            raise ValueError(f"pod {pod.key}: spec.nodeName is empty, so it takes room on no node")
        known = self._pods.get(pod.uid)
        now = CachedPod(pod, node_name, assumed=False)
        if known is None:
            self._add(now)
        elif known.node_name == node_name:
            self._replace(known, now)
        else:
            self._remove(known)
            self._add(now)
        return known

    def remove_pod(self, uid: str) -> CachedPod | None:
        """The pod is gone, assumed or not. Returns what was known of it."""
        known = self._pods.get(uid)
        if known is not None:
            self._remove(known)
        return known

    def take_out(self, uid: str) -> CachedPod:
        """Let a known pod take no room for a while: what if it went. ``put_back`` takes what is returned.

        Raises:
            KeyError: the pod is not known.
        """
        known = self._pods[uid]
        self._remove(known)
        return known

    def put_back(self, known: CachedPod) -> None:
        """Undo ``take_out``."""
        self._add(known)

    def pod(self, uid: str) -> CachedPod | None:
        return self._pods.get(uid)

    def pods(self) -> Iterator[CachedPod]:
        """All known pods, assumed ones among them, in the order in which they came."""
        return iter(self._pods.values())

    @property
    def pod_count(self) -> int:
        """Number of known pods, assumed ones among them."""
        return len(self._pods)

    def pods_on(self, node_name: str) -> list[CachedPod]:
        """Pods on the node, known or not, in the order they came."""
        return list(self._by_node.get(node_name, {}).values())

    def _pods_of(self, node_name: str) -> Iterator[PodInfo]:
        # Lazily: a heartbeat of a node does not look at its pods.
        return (cached.pod for cached in self._by_node.get(node_name, {}).values())

    def _add(self, new: CachedPod) -> None:
        pod, node_name = new.pod, new.node_name
        uid = pod.uid
        self._pods[uid] = new
        self.assumed_count += new.assumed
        if pod.pod.spec.priority:
            self._rank(pod.priority, 1)
        on_node = self._by_node.get(node_name)
        if on_node is None:
            on_node = self._by_node[node_name] = {}
        on_node[uid] = new
        row = self.table.rows.get(node_name)
        if row is not None:
            self.table.add_pod(row, pod, is_assumed=new.assumed)

    def _remove(self, known: CachedPod) -> None:
        uid = known.pod.uid
        del self._pods[uid]
        self.assumed_count -= known.assumed
        if known.pod.pod.spec.priority:
            self._rank(known.pod.priority, -1)
        on_node = self._by_node[known.node_name]
        del on_node[uid]
        if not on_node:
            del self._by_node[known.node_name]
        row = self.table.row_of(known.node_name)
        if row is not None:
            self.table.remove_pod(row, known.pod)

    def _replace(self, known: CachedPod, now: CachedPod) -> None:
        uid = now.pod.uid
        self._pods[uid] = now
        self.assumed_count += now.assumed - known.assumed
        if known.pod.pod.spec.priority != now.pod.pod.spec.priority:
            self._rank(known.pod.priority, -1)
            self._rank(now.pod.priority, 1)
        self._by_node[now.node_name][uid] = now
        row = self.table.row_of(now.node_name)
        if row is not None:
            self.table.replace_pod(row, known.pod, now.pod, is_confirmed=known.assumed)

    def _rank(self, priority: int, change: int) -> None:
        if priority:
            count = self._ranked.get(priority, 0) + change
            if count:
                self._ranked[priority] = count
            else:
                del self._ranked[priority]

    def has_pods_below(self, priority: int) -> bool:
        """Whether any pod has a lower priority; it takes no look at pods."""
        unranked = len(self._pods) - sum(self._ranked.values())
        return (unranked > 0 and priority > 0) or any(other < priority for other in self._ranked)

    def pods_below(self, node_name: str, priority: int) -> list[PodInfo]:
        """Pods of a lower priority on the node, known or not, in the order they came."""
        on_node = self._by_node.get(node_name)
        if on_node is None:
            return []
        return [known.pod for known in on_node.values() if (known.pod.pod.spec.priority or 0) < priority]

    # What rules beyond a node look at

    def apply_namespace(self, namespace: Namespace) -> bool:
        """A namespace as the watch shows it. Returns whether it is new, or its labels are."""
        return self.table.apply_namespace(namespace.metadata.name, namespace.metadata.labels or {})

    def remove_namespace(self, name: str) -> bool:
        """The namespace is gone. Returns whether it was known."""
        return self.table.remove_namespace(name)

    def namespace_labels(self, name: str) -> Mapping[str, str] | None:
        """Labels of a namespace; None when it is not known."""
        return self.table.namespaces.labels(name)

    @property
    def has_device_classes(self) -> bool:
        """Whether a DeviceClass is known."""
        return bool(self._device_classes.classes)

    def apply_device_class(self, device_class: DeviceClass) -> DeviceClass | None:
        """A DeviceClass as the watch shows it; the previous object, or None for a new one."""
        return self._device_classes.apply(device_class)

    def remove_device_class(self, name: str) -> DeviceClass | None:
        """The class is gone; None if there was no such class."""
        return self._device_classes.remove(name)

    def device_class_for(self, resource_name: str) -> str | None:
        """The name of the DeviceClass that serves an extended resource; None if there is none."""
        return self._device_classes.serving(resource_name)

    @property
    def storage(self) -> StorageIndex:
        """Claims, volumes and what else volume rules look at. What is assumed of them is set here."""
        return self.table.storage

    def apply_storage_object(self, subject: StorageObject) -> StorageObject | None:
        """An object of storage as the watch shows it; the one that it showed before, None for a new one.

        Raises:
            ValueError: the object cannot be read; the text names it and the field, and nothing was changed.
        """
        before = self.storage.apply(subject)
        self._storage_changed(before, subject)
        return before

    def remove_storage_object(self, kind: str, namespace: str, name: str) -> StorageObject | None:
        """The object is gone; the one that was shown, None if there was none."""
        removed = self.storage.remove(kind, namespace, name)
        self._storage_changed(removed)
        return removed

    def _storage_changed(self, *subjects: StorageObject | None) -> None:
        """Let the rows show it."""
        counts = self.table.volume_counts
        for subject in subjects:
            match subject:
                case CSINode():
                    self.table.update_csi_node(subject.metadata.name)
                case VolumeAttachment():
                    self._attachment_changed(subject.metadata.name)
                case PersistentVolumeClaim():
                    counts.claim_changed(key_of(subject.metadata))
                case PersistentVolume():
                    for claim in self.storage.claims_of_volume(subject.metadata.name):
                        counts.claim_changed(key_of(claim.metadata))
                    for attachment in self.storage.attachments_of_volume(subject.metadata.name):
                        self._attachment_changed(attachment.metadata.name)
                case StorageClass():
                    counts.class_changed(subject.metadata.name)

    def _attachment_changed(self, name: str) -> None:
        attachment = self.storage.shown("VolumeAttachment", "", name)
        assert attachment is None or isinstance(attachment, VolumeAttachment)
        self.table.update_attachment(name, attachment)

    def apply_selecting_object(self, subject: SelectingObject) -> None:
        self.table.deduced_selectors.apply(subject)

    def remove_selecting_object(self, kind: str, namespace: str, name: str) -> None:
        self.table.deduced_selectors.remove(kind, namespace, name)

    def deduced_selector(self, pod: PodInfo) -> DeducedSelector:
        """The selector that default spread constraints have for the pod, known or not."""
        return self.table.deduced_selectors.of(pod.pod.metadata)

    def validate(self) -> None:
        """Work everything out again from the nodes and pods.

        Raises:
            AssertionError: what the table or an index holds is something else; the text says what.
        """
        assert self.assumed_count == sum(cached.assumed for cached in self._pods.values()), "number of assumed pods"
        ranked = Counter(cached.pod.priority for cached in self._pods.values() if cached.pod.priority)
        assert self._ranked == dict(ranked), "number of pods by priority"
        check_storage(self.table, self._by_node)
        check(self.table, self._pods, self._by_node)


def _check_readable(pod: PodInfo) -> None:
    if not pod.uid:
        raise ValueError(f"pod {pod.key}: metadata.uid is empty, and pods are kept by it")
    try:
        _ = pod.amounts
    except QuantityError as error:
        raise ValueError(f"pod {pod.key}: {error}") from error
