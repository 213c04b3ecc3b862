"""Binding a pod's volumes: what is assumed of them, what is written, and when they are bound.

kube-scheduler 1.37: AssumePodVolumes, BindPodVolumes, checkBindings; component-helpers 0.37: GetBindVolumeToClaim.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

from scheduler.api.objects import Node
from scheduler.api.storage import ObjectReference, PersistentVolume, PersistentVolumeClaim
from scheduler.framework.binding import ObjectKey, ObjectPatch
from scheduler.framework.storage import AssumingStorage
from scheduler.plugins.volume_binding.facts import SELECTED_NODE, is_bound_to, is_fully_bound
from scheduler.plugins.volume_binding.migration import affinity_error, in_tree_plugin, is_migrated, translation_error
from scheduler.plugins.volume_binding.plan import PodVolumes

BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"

_CLAIM = "PersistentVolumeClaim"
_VOLUME = "PersistentVolume"

_Subject: TypeAlias = PersistentVolume | PersistentVolumeClaim


class BindingError(Exception):
    """The volumes will not be bound as they were meant to be: the pod has to be scheduled anew."""


class _Write:
    """One object that the pod's volumes need changed.

    Attributes:
        changed: the object as it shall become.
        claim: to be bound with it.
        fields: what is to be written; None when the object is as it shall be already.
        version: the resource version that the API server gave it then.
    """

    def __init__(self, changed: _Subject, claim: PersistentVolumeClaim, fields: dict[str, Any] | None) -> None:
        self.changed = changed
        self.claim = claim
        self.fields = fields
        self.version = changed.metadata.resource_version
        self.is_written = fields is None

    @property
    def key(self) -> ObjectKey:
        return _key_of(self.changed)


class VolumeWork:
    """What has to happen to the volumes of one pod, on the node that was chosen for it."""

    def __init__(self, volumes: PodVolumes, node_name: str) -> None:
        self._node_name = node_name
        self._writes = [_claim_volume(one.volume, one.claim) for one in volumes.bindings]
        self._writes += [_select_node(claim, node_name) for claim in volumes.provisions]

    def assume(self, storage: AssumingStorage) -> None:
        """Let other pods see the volumes as taken, and the claims as on their way.

        Raises:
            ValueError: an object has changed since; nothing is assumed then.
        """
        assumed: list[_Subject] = []
        for write in self._writes:
            if write.fields is None:
                continue
            try:
                storage.assume(write.changed)
            except ValueError:
                for one in assumed:
                    storage.restore(one)
                raise
            assumed.append(write.changed)

    def restore(self, storage: AssumingStorage) -> None:
        """Take that back, but for what was written: the API server shows it soon enough."""
        for write in self._writes:
            if not write.is_written:
                storage.restore(write.changed)

    def patches(self) -> tuple[ObjectPatch, ...]:
        """What is left to write, volumes first. Each is for the object as it was seen."""
        return tuple(
            ObjectPatch(
                kind=write.key.kind,
                namespace=write.key.namespace,
                name=write.key.name,
                uid=write.changed.metadata.uid,
                resource_version=write.changed.metadata.resource_version,
                patch=write.fields,
            )
            for write in self._writes
            if write.fields is not None and not write.is_written
        )

    def written(self, version: str) -> None:
        """The first of ``patches`` was carried out."""
        write = next(one for one in self._writes if not one.is_written)
        write.version = version
        write.is_written = True

    def awaited(self, storage: AssumingStorage) -> tuple[ObjectKey, ...]:
        """Objects whose change can decide whether everything is bound."""
        return tuple(dict.fromkeys(self._awaited(storage)))

    def _awaited(self, storage: AssumingStorage) -> Iterator[ObjectKey]:
        for write in self._writes:
            yield write.key
            yield _key_of(write.claim)
            shown = _shown_claim(storage, write.claim)
            if shown is not None and shown.spec.volume_name:
                yield ObjectKey(_VOLUME, "", shown.spec.volume_name)

    def is_bound(self, storage: AssumingStorage, node: Node | None) -> bool:
        """Whether all claims are bound, as the API server shows them, to volumes that the node can use.

        Raises:
            BindingError: that will not come to be.
        """
        if node is None:
            raise BindingError(f'failed to get node "{self._node_name}": node "{self._node_name}" not found')
        for write in self._writes:
            if isinstance(write.changed, PersistentVolume):
                is_bound = self._is_volume_bound(write, write.changed, storage, node)
            else:
                is_bound = self._is_provisioned(write, storage, node)
            if not is_bound:
                return False
        return True

    def _is_volume_bound(self, write: _Write, volume: PersistentVolume, storage: AssumingStorage, node: Node) -> bool:
        name = volume.metadata.name
        shown = _shown_volume(storage, name)
        if shown is None:
            raise BindingError(f'failed to check binding: persistentvolumes "{name}" not found')
        claim = _shown_claim(storage, write.claim)
        if claim is None:
            raise BindingError(f"failed to check binding: {_claim_not_found(write.claim)}")
        if _is_older(shown, write.version):
            return False
        _check_affinity(shown, storage, node, "failed to translate pv to csi: ")
        holder = shown.spec.claim_ref
        if holder is None or not holder.uid:
            raise BindingError(f'ClaimRef got reset for pv "{name}"')
        return is_fully_bound(claim)

    def _is_provisioned(self, write: _Write, storage: AssumingStorage, node: Node) -> bool:
        name = write.claim.metadata.name
        claim = _shown_claim(storage, write.claim)
        if claim is None:
            raise BindingError(f"failed to check provisioning pvc: {_claim_not_found(write.claim)}")
        if _is_older(claim, write.version):
            return False
        if claim.metadata.annotations is None:
            raise BindingError(f'selectedNode annotation reset for PVC "{name}"')
        if claim.metadata.annotations.get(SELECTED_NODE, "") != self._node_name:
            # A provisioner that fails takes the annotation away, so that another node is selected.
            raise BindingError(f'provisioning failed for PVC "{name}"')
        if claim.spec.volume_name:
            volume = _shown_volume(storage, claim.spec.volume_name)
            if volume is None:
                return False
            _check_affinity(volume, storage, node)
        return is_fully_bound(claim)


def _claim_volume(volume: PersistentVolume, claim: PersistentVolumeClaim) -> _Write:
    """The volume, held by the claim. One that the user has bound to the claim does not get the mark of the controller."""
    fields: dict[str, Any] = {}
    annotations = volume.metadata.annotations or {}
    holder = volume.spec.claim_ref
    if not is_bound_to(volume, claim) and BOUND_BY_CONTROLLER not in annotations:
        annotations = {**annotations, BOUND_BY_CONTROLLER: "yes"}
        fields["metadata"] = {"annotations": {BOUND_BY_CONTROLLER: "yes"}}
    if holder is None or (holder.namespace, holder.name, holder.uid) != (
        claim.metadata.namespace,
        claim.metadata.name,
        claim.metadata.uid,
    ):
        holder = ObjectReference(
            api_version="v1",
            kind=_CLAIM,
            namespace=claim.metadata.namespace,
            name=claim.metadata.name,
            uid=claim.metadata.uid,
            resource_version=claim.metadata.resource_version,
        )
        fields["spec"] = {"claimRef": msgspec.to_builtins(holder)}
    replace = msgspec.structs.replace
    changed = replace(
        volume,
        metadata=replace(volume.metadata, annotations=annotations or None),
        spec=replace(volume.spec, claim_ref=holder),
    )
    return _Write(changed, claim, fields or None)


def _select_node(claim: PersistentVolumeClaim, node_name: str) -> _Write:
    """The claim, with the node that a volume shall be made for."""
    replace = msgspec.structs.replace
    annotations = {**(claim.metadata.annotations or {}), SELECTED_NODE: node_name}
    changed = replace(claim, metadata=replace(claim.metadata, annotations=annotations))
    return _Write(changed, claim, {"metadata": {"annotations": {SELECTED_NODE: node_name}}})


def _key_of(subject: _Subject) -> ObjectKey:
    kind = _VOLUME if isinstance(subject, PersistentVolume) else _CLAIM
    return ObjectKey(kind, subject.metadata.namespace, subject.metadata.name)


def _shown_volume(storage: AssumingStorage, name: str) -> PersistentVolume | None:
    shown = storage.shown(_VOLUME, "", name)
    assert shown is None or isinstance(shown, PersistentVolume)
    return shown


def _shown_claim(storage: AssumingStorage, claim: PersistentVolumeClaim) -> PersistentVolumeClaim | None:
    shown = storage.shown(_CLAIM, claim.metadata.namespace, claim.metadata.name)
    assert shown is None or isinstance(shown, PersistentVolumeClaim)
    return shown


def _claim_not_found(claim: PersistentVolumeClaim) -> str:
    return f'persistentvolumeclaims "{claim.metadata.namespace}/{claim.metadata.name}" not found'


def _is_older(shown: _Subject, version: str) -> bool:
    """Whether our own write is not shown yet."""
    held = shown.metadata.resource_version
    return held.isdecimal() and version.isdecimal() and int(held) < int(version)


def _check_affinity(volume: PersistentVolume, storage: AssumingStorage, node: Node, context: str = "") -> None:
    name = node.metadata.name
    csi_node = storage.csi_node(name)
    plugin = in_tree_plugin(volume)
    if plugin is not None and is_migrated(plugin, csi_node) and (error := translation_error(volume)):
        raise BindingError(f"{context}{error}")
    error = affinity_error(volume, node, csi_node)
    if error:
        raise BindingError(f'pv "{volume.metadata.name}" node affinity doesn\'t match node "{name}": {error}')
