"""VolumeCounts: how many CSI volumes of each driver the nodes hold, kept up to date with each pod, claim and attachment.

A volume counts once a node, however many pods and attachments have it there (kube-scheduler 1.37: NodeVolumeLimits). Volumes
are counted as on a node with a CSINode: others have no limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from scheduler.api.objects import Volume
from scheduler.api.storage import VolumeAttachment, class_of_claim
from scheduler.cache.columns import Column
from scheduler.framework.attached_volumes import (
    AttachError,
    attached_without_pods,
    claim_name,
    controller_of,
    volume_of_claim,
    volume_of_inline,
)
from scheduler.framework.csi_translation import CSIVolume
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.storage import Storage


class _Meaning(NamedTuple):
    """What a claim comes to.

    Attributes:
        volume: that it attaches; None when it counts nowhere.
        is_there: the claim exists.
        controller: the UID of what controls it.
        class_name: the class that says what will be attached; "" when the claim's volume says it.
    """

    volume: CSIVolume | None = None
    is_there: bool = False
    controller: str | None = None
    class_name: str = ""


class _Claim:
    """A claim that pods on nodes name. ``pods``: the row and the pod by UID."""

    __slots__ = ("meaning", "pods")

    def __init__(self, meaning: _Meaning) -> None:
        self.meaning = meaning
        self.pods: dict[str, tuple[int, PodInfo]] = {}


class _Attached:
    """One CSI volume. ``users``: number of volumes of pods that are this one, by row; ``attachers``: by row and attachment."""

    __slots__ = ("attachers", "driver", "users")

    def __init__(self, driver: str) -> None:
        self.driver = driver
        self.users: dict[int, int] = {}
        self.attachers: dict[int, dict[str, str]] = {}

    def counts_for(self, row: int) -> str | None:
        """The driver that it counts for on the row's node; None when it is not there."""
        if row in self.users:
            return self.driver
        attachers = self.attachers.get(row)
        # Of several attachments the last one by name says it.
        return None if attachers is None else attachers[max(attachers)]


class VolumeCounts:
    """``failing``: by row the number of volumes of pods that cannot be told, so that a cycle that has to count fails there.

    Every change costs what it touches: the pods of a claim that means another volume now, a volume of an attachment.
    """

    def __init__(self, capacity: int, storage: Storage) -> None:
        self._capacity = capacity
        self._storage = storage
        self.failing = Column(np.int64, capacity)
        self._counts: dict[str, Column] = {}
        self._volumes: dict[str, _Attached] = {}
        self._claims: dict[str, _Claim] = {}
        self._by_class: dict[str, dict[str, None]] = {}
        """Claims by the class that says what they will attach."""
        self._attachments: dict[str, tuple[int, CSIVolume]] = {}

    # Reading

    def count(self, driver: str) -> Column | None:
        """Volumes of the driver that a node holds, by row; None when none does."""
        return self._counts.get(driver)

    def rows_using(self, unique_name: str) -> dict[int, int]:
        """The rows whose pods use a volume, as keys."""
        volume = self._volumes.get(unique_name)
        return {} if volume is None else volume.users

    def drivers(self) -> list[str]:
        """Drivers that some node holds or held volumes of."""
        return sorted(self._counts)

    def uses(self) -> Iterator[tuple[str, int, int]]:
        """Every (volume, row, number of volumes of pods that are this one)."""
        return ((name, row, number) for name, one in self._volumes.items() for row, number in one.users.items())

    def claims(self) -> Iterator[tuple[str, int, str]]:
        """Every (claim, row, UID of a pod that names it)."""
        return ((key, row, uid) for key, claim in self._claims.items() for uid, (row, _) in claim.pods.items())

    # Writing

    def add(self, row: int, pod: PodInfo) -> None:
        for key in all_claims_of(pod):
            claim = self._claims.get(key)
            if claim is None:
                claim = self._claims[key] = _Claim(self._read(key))
                self._enter_class(key, claim)
            claim.pods[pod.uid] = row, pod
        self._count_pod(row, pod, 1)

    def remove(self, row: int, pod: PodInfo) -> None:
        """Undo ``add`` of a pod with the same UID and volumes."""
        self._count_pod(row, pod, -1)
        for key in dict.fromkeys(all_claims_of(pod)):
            claim = self._claims[key]
            del claim.pods[pod.uid]
            if not claim.pods:
                self._leave_class(key, claim)
                del self._claims[key]

    def claim_changed(self, key: str) -> None:
        """A claim, as ``namespace/name``, its volume or its class is another one now."""
        claim = self._claims.get(key)
        if claim is None:
            return
        meaning = self._read(key)
        if meaning == claim.meaning:
            return
        for row, pod in claim.pods.values():
            self._count_pod(row, pod, -1)
        self._leave_class(key, claim)
        claim.meaning = meaning
        self._enter_class(key, claim)
        for row, pod in claim.pods.values():
            self._count_pod(row, pod, 1)

    def class_changed(self, name: str) -> None:
        """A StorageClass is another one now."""
        for key in list(self._by_class.get(name, ())):
            self.claim_changed(key)

    def update_attachment(self, name: str, attachment: VolumeAttachment | None, row: int | None) -> tuple[int, ...]:
        """A VolumeAttachment as it is now, None when it is gone, and the row of its node. Returns the rows that changed."""
        volume = None if attachment is None else attached_without_pods(attachment, self._storage)
        before = self._attachments.get(name)
        after = None if volume is None or row is None else (row, volume)
        if before == after:
            return ()
        if before is not None:
            del self._attachments[name]
            self._attach(name, *before, is_attached=False)
        if after is not None:
            self._attachments[name] = after
            self._attach(name, *after, is_attached=True)
        return tuple(dict.fromkeys(each[0] for each in (before, after) if each is not None))

    def update_attachments(self, attachments: Iterable[VolumeAttachment], row: int | None) -> None:
        """The VolumeAttachments of a node that came to the row; None: of one that is gone."""
        for attachment in attachments:
            self.update_attachment(attachment.metadata.name, attachment, row)

    def _attach(self, name: str, row: int, volume: CSIVolume, *, is_attached: bool) -> None:
        held = self._held(volume)
        before = held.counts_for(row)
        attachers = held.attachers.setdefault(row, {})
        if is_attached:
            attachers[name] = volume.driver
        else:
            del attachers[name]
            if not attachers:
                del held.attachers[row]
        self._move(row, before, held.counts_for(row))
        self._drop_unused(volume, held)

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        self.failing.grow(capacity)
        for column in self._counts.values():
            column.grow(capacity)

    def _read(self, key: str) -> _Meaning:
        namespace, _, name = key.partition("/")
        claim = self._storage.claim(namespace, name)
        if claim is None:
            return _Meaning()
        volume_name = claim.spec.volume_name
        is_bound = bool(volume_name) and self._storage.volume(volume_name) is not None
        volume = volume_of_claim(claim, self._storage, has_csi_node=True)
        class_name = "" if is_bound else class_of_claim(claim)
        return _Meaning(volume, is_there=True, controller=controller_of(claim), class_name=class_name)

    def _enter_class(self, key: str, claim: _Claim) -> None:
        if claim.meaning.class_name:
            self._by_class.setdefault(claim.meaning.class_name, {})[key] = None

    def _leave_class(self, key: str, claim: _Claim) -> None:
        class_name = claim.meaning.class_name
        if not class_name:
            return
        keys = self._by_class[class_name]
        del keys[key]
        if not keys:
            del self._by_class[class_name]

    def _count_pod(self, row: int, pod: PodInfo, change: int) -> None:
        for volume in pod.storage_volumes:
            try:
                found = self._told(volume, pod)
            except AttachError:
                self.failing.cells[row] += change
                continue
            if found is not None:
                self._use(row, found, change)

    def _told(self, volume: Volume, pod: PodInfo) -> CSIVolume | None:
        name = claim_name(volume, pod.pod)
        if name is None:
            return volume_of_inline(volume, has_csi_node=True)
        if not name:
            raise AttachError("no name")
        meaning = self._claims[f"{pod.pod.metadata.namespace}/{name}"].meaning
        if meaning.is_there and volume.persistent_volume_claim is None and meaning.controller != pod.uid:
            raise AttachError("another pod's")
        return meaning.volume

    def _use(self, row: int, volume: CSIVolume, change: int) -> None:
        held = self._held(volume)
        number = held.users.get(row, 0) + change
        before = held.counts_for(row)
        if number:
            held.users[row] = number
        else:
            del held.users[row]
        self._move(row, before, held.counts_for(row))
        self._drop_unused(volume, held)

    def _held(self, volume: CSIVolume) -> _Attached:
        name = volume.unique_name
        held = self._volumes.get(name)
        if held is None:
            held = self._volumes[name] = _Attached(volume.driver)
        return held

    def _drop_unused(self, volume: CSIVolume, held: _Attached) -> None:
        if not held.users and not held.attachers:
            del self._volumes[volume.unique_name]

    def _move(self, row: int, before: str | None, after: str | None) -> None:
        if before == after:
            return
        if before is not None:
            self._counts[before].cells[row] -= 1
        if after is not None:
            column = self._counts.get(after)
            if column is None:
                column = self._counts[after] = Column(np.int64, self._capacity)
            column.cells[row] += 1


def all_claims_of(pod: PodInfo) -> list[str]:
    """``namespace/name`` of the claims of the pod, those of ephemeral volumes among them."""
    namespace = pod.pod.metadata.namespace
    names = (claim_name(volume, pod.pod) for volume in pod.storage_volumes)
    return [f"{namespace}/{name}" for name in names if name is not None]
