"""The claims of a pod: whether each can be used at all, and what is left to do for it (kube-scheduler 1.37: PreFilter)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scheduler.api.objects import Pod, Volume
from scheduler.api.storage import WAIT_FOR_FIRST_CONSUMER, PersistentVolumeClaim, class_of_claim
from scheduler.framework.storage import Storage
from scheduler.plugins.volume_binding.facts import is_fully_bound

UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"

_LOST = "Lost"


class ClaimRefusal(Exception):
    """A claim that the pod cannot use as it is: unschedulable wherever it goes."""


class PodClaims(NamedTuple):
    """In the order of the pod's volumes; a claim that two of them name is there twice.

    Attributes:
        bound: to a volume, for good.
        delayed: to be bound once the pod has a node.
        immediate: should have been bound already.
    """

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[PersistentVolumeClaim, ...]
    immediate: tuple[PersistentVolumeClaim, ...]


def claim_name(pod: Pod, volume: Volume) -> str | None:
    """The claim that a volume uses; that of an ephemeral volume is named after pod and volume. None for other volumes."""
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    if volume.ephemeral is not None:
        return f"{pod.metadata.name}-{volume.name}"
    return None


def uses_claims(pod: Pod) -> bool:
    return any(claim_name(pod, volume) is not None for volume in pod.spec.volumes or ())


def usable_claims(pod: Pod, storage: Storage) -> tuple[PersistentVolumeClaim, ...]:
    """The claim of each volume that uses one.

    Raises:
        ClaimRefusal: one of them is missing, lost, being deleted, or another pod's.
    """
    return tuple(_usable_claims(pod, storage))


def _usable_claims(pod: Pod, storage: Storage) -> Iterator[PersistentVolumeClaim]:
    namespace = pod.metadata.namespace
    for volume in pod.spec.volumes or ():
        name = claim_name(pod, volume)
        if name is None:
            continue
        claim = storage.claim(namespace, name)
        is_ephemeral = volume.persistent_volume_claim is None
        if claim is None:
            if is_ephemeral:
                raise ClaimRefusal(
                    f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
                )
            raise ClaimRefusal(f'persistentvolumeclaim "{name}" not found')
        if claim.status.phase == _LOST:
            volume_name = claim.spec.volume_name
            raise ClaimRefusal(f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume_name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimRefusal(f'persistentvolumeclaim "{name}" is being deleted')
        if is_ephemeral and not _is_made_for(claim, pod):
            raise ClaimRefusal(
                f"PVC {namespace}/{name} was not created for pod {namespace}/{pod.metadata.name} (pod is not owner)"
            )
        yield claim


def _is_made_for(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    for owner in claim.metadata.owner_references or ():
        if owner.controller:
            return owner.uid == pod.metadata.uid
    return False


def classify(claims: tuple[PersistentVolumeClaim, ...], storage: Storage) -> PodClaims:
    """What is left to do for each claim.

    Raises:
        ValueError: a storage class does not say when its volumes are bound.
    """
    bound, delayed, immediate = [], [], []
    for claim in claims:
        if is_fully_bound(claim):
            bound.append(claim)
        # One that names its volume is bound by the controller, whatever its class says.
        elif _waits_for_consumer(claim, storage) and not claim.spec.volume_name:
            delayed.append(claim)
        else:
            immediate.append(claim)
    return PodClaims(tuple(bound), tuple(delayed), tuple(immediate))


def _waits_for_consumer(claim: PersistentVolumeClaim, storage: Storage) -> bool:
    name = class_of_claim(claim)
    storage_class = storage.storage_class(name) if name else None
    if storage_class is None:
        return False
    if storage_class.volume_binding_mode is None:
        raise ValueError(f'VolumeBindingMode not set for StorageClass "{name}"')
    return storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
