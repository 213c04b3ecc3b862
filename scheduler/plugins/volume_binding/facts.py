"""What is looked at, read once: of a claim and of a CSIStorageCapacity."""

from __future__ import annotations

from typing import NamedTuple

from scheduler.api import quantity
from scheduler.api.selectors import LabelMatcher, SelectorError, compile_label_selector
from scheduler.api.storage import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim, class_of_claim
from scheduler.framework.reach import Reach, reach_of_selector
from scheduler.framework.volume_facts import FILESYSTEM

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"

_STORAGE = "storage"


class Claim(NamedTuple):
    """A claim that waits for the pod's node.

    Attributes:
        storage_class: its name; "" for none.
        size: requested storage in units of 10**-9, 0 without a request.
        size_bytes: the same, rounded up; None without a request.
        selector: of volumes; None for any.
        error: why it cannot be matched with volumes at all; "" when it can.
        selected_node: the node that it was to be provisioned for before; None when there was none.
    """

    object: PersistentVolumeClaim
    storage_class: str
    size: int
    size_bytes: int | None
    mode: str
    attributes_class: str
    access_modes: frozenset[str]
    selector: LabelMatcher | None
    error: str
    selected_node: str | None


def read_claim(claim: PersistentVolumeClaim) -> Claim:
    spec = claim.spec
    requested = (spec.resources.requests or {}).get(_STORAGE)
    selector, error = None, ""
    if spec.selector is not None:
        try:
            selector = compile_label_selector(spec.selector)
        except SelectorError as wrong:
            key = f"{claim.metadata.namespace}/{claim.metadata.name}"
            error = f"error creating internal label selector for claim: {key}: {wrong}"
    return Claim(
        object=claim,
        storage_class=class_of_claim(claim),
        size=0 if requested is None else quantity.nano(requested),
        size_bytes=None if requested is None else quantity.value(requested),
        mode=FILESYSTEM if spec.volume_mode is None else spec.volume_mode,
        attributes_class=spec.volume_attributes_class_name or "",
        access_modes=frozenset(spec.access_modes or ()),
        selector=selector,
        error=error,
        selected_node=(claim.metadata.annotations or {}).get(SELECTED_NODE),
    )


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    return claim.spec.volume_name != "" and BIND_COMPLETED in (claim.metadata.annotations or {})


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume names the claim, by hand perhaps and then without its UID."""
    holder = volume.spec.claim_ref
    return (
        holder is not None
        and holder.name == claim.metadata.name
        and holder.namespace == claim.metadata.namespace
        and holder.uid in ("", claim.metadata.uid)
    )


class Capacity(NamedTuple):
    """Room for volumes of a class on some nodes.

    Attributes:
        largest_bytes: the largest volume that can be made; None when nothing says so, and then none can.
        room_bytes: all the room, 0 when nothing says how much.
    """

    largest_bytes: int | None
    room_bytes: int
    reach: Reach


def read_capacity(capacity: CSIStorageCapacity) -> Capacity:
    largest = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
    return Capacity(
        largest_bytes=None if largest is None else quantity.value(largest),
        room_bytes=0 if capacity.capacity is None else quantity.value(capacity.capacity),
        reach=reach_of_selector(capacity.node_topology),
    )
