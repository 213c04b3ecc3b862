"""Objects as ``kubectl get -o json`` writes them, turned into what the scheduler reads, with errors that name them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

from scheduler.api.objects import (
    DeviceClass,
    Namespace,
    Node,
    ObjectMeta,
    Pod,
    ReplicaSet,
    ReplicationController,
    SelectingObject,
    Service,
    StatefulSet,
)
from scheduler.api.quantity import QuantityError
from scheduler.api.storage import STORAGE_KINDS, StorageObject
from scheduler.cache.node_facts import allocatable_of, images_of
from scheduler.cache.storage import check_amounts
from scheduler.framework.pod_info import PodInfo

ClusterObject: TypeAlias = Node | PodInfo | Namespace | DeviceClass | SelectingObject | StorageObject

SELECTING_KINDS: dict[str, type[SelectingObject]] = {
    "Service": Service,
    "ReplicationController": ReplicationController,
    "ReplicaSet": ReplicaSet,
    "StatefulSet": StatefulSet,
}
KINDS: dict[str, type[Any]] = {
    "Node": Node,
    "Pod": Pod,
    "Namespace": Namespace,
    "DeviceClass": DeviceClass,
    **SELECTING_KINDS,
    **STORAGE_KINDS,
}
NAMESPACED_KINDS = ("Pod", "PersistentVolumeClaim", "CSIStorageCapacity", *SELECTING_KINDS)


class ObjectError(ValueError):
    """An object that cannot be read; the text names it and the field."""


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """An object to delete. Without ``uid`` it is whichever has the name."""

    kind: str
    namespace: str
    name: str
    uid: str


class _Identified(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


def parse_json(data: bytes) -> Any:
    """Raises: ObjectError, saying where it stops to be JSON."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ObjectError(f"not JSON: {error}") from error
    except RecursionError as error:
        raise ObjectError("not JSON that a cluster could have written: it is nested too deeply") from error


def flatten(raw: object, where: str) -> Iterator[dict[str, Any]]:
    """The object itself, or the items of a List, nested ones too. Each has a kind.

    Raises:
        ObjectError: naming the place.
    """
    if not isinstance(raw, dict):
        raise ObjectError(f"{where}: expected a Kubernetes object, got {type_of(raw)}")
    kind = raw.get("kind")
    if not isinstance(kind, str) or not kind:
        raise ObjectError(f'{where}.kind: expected a kind such as "Pod", got {type_of(kind)}')
    if not kind.endswith("List") or "items" not in raw:
        yield raw
        return
    items = raw["items"] or []
    if not isinstance(items, list):
        raise ObjectError(f"{where}.items: expected a list, got {type_of(items)}")
    for index, item in enumerate(items):
        # Items of a typed list, such as NodeList, may leave out their kind.
        typed = isinstance(item, dict) and "kind" not in item and kind != "List"
        yield from flatten({**item, "kind": kind.removesuffix("List")} if typed else item, f"{where}.items[{index}]")


def type_of(value: object) -> str:
    """What a value is called in JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return "a string" if isinstance(value, str) else "a number"


def key_of_raw(raw: dict[str, Any]) -> str:
    """``namespace/name``, or the name alone; "" for an object without a name."""
    metadata = raw.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    if not metadata.get("name"):
        return ""
    return "/".join(str(part) for part in (metadata.get("namespace"), metadata["name"]) if part)


def named(raw: dict[str, Any]) -> str:
    """How to call the object in a message: kind and name, as far as it has them."""
    return f"{raw.get('kind')} {key_of_raw(raw) or '(without a name)'}"


def read_object(raw: dict[str, Any]) -> ClusterObject | None:
    """The object as the scheduler holds it, checked so that a cache takes it; None for a kind that is not read.

    Raises:
        ObjectError: the object cannot be read.
    """
    kind = KINDS.get(raw["kind"])
    if kind is None:
        return None
    decoded = _convert(raw, kind)
    if not decoded.metadata.name:
        raise ObjectError(f"{named(raw)}: metadata.name is required")
    if isinstance(decoded, Pod):
        return _readable_pod(raw, decoded)
    try:
        if isinstance(decoded, Node):
            _ = (allocatable_of(decoded), images_of(decoded))
        elif raw["kind"] in STORAGE_KINDS:
            check_amounts(decoded)
    except ValueError as error:
        raise ObjectError(str(error)) from error
    read: Node | Namespace | DeviceClass | SelectingObject | StorageObject = decoded
    return read


def read_pod(raw: object, where: str) -> PodInfo:
    """A pod; its kind may be left out.

    Raises:
        ObjectError: it cannot be read, or it is something else.
    """
    if not isinstance(raw, dict):
        raise ObjectError(f"{where}: expected a Pod object, got {type_of(raw)}")
    raw = {"kind": "Pod", **raw}
    if raw["kind"] != "Pod":
        raise ObjectError(f"{where}.kind: expected Pod, got {raw['kind']!r}")
    pod = read_object(raw)
    assert isinstance(pod, PodInfo)
    return pod


def read_reference(raw: dict[str, Any]) -> Reference | None:
    """What to delete; None for a kind that is not read.

    Raises:
        ObjectError: the reference cannot be read, or names no object.
    """
    if raw["kind"] not in KINDS:
        return None
    metadata: ObjectMeta = _convert(raw, _Identified).metadata
    if not metadata.name:
        raise ObjectError(f"{named(raw)}: metadata.name is required")
    return Reference(kind=raw["kind"], namespace=metadata.namespace, name=metadata.name, uid=metadata.uid)


def _convert(raw: dict[str, Any], into: type[Any]) -> Any:
    try:
        return msgspec.convert(raw, type=into, strict=True)
    except msgspec.ValidationError:
        pass
    # To the API a null is an absent field, and some programs write one; most objects have none, and are not copied.
    try:
        return msgspec.convert(_without_nulls(raw), type=into, strict=True)
    except msgspec.ValidationError as error:
        raise ObjectError(f"{named(raw)}: {error}") from error
    except RecursionError as error:
        raise ObjectError(f"{named(raw)}: nested too deeply") from error


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(held) for key, held in value.items() if held is not None}
    return [_without_nulls(held) for held in value] if isinstance(value, list) else value


def _readable_pod(raw: dict[str, Any], pod: Pod) -> PodInfo:
    info = PodInfo(_with_uid(pod))
    try:
        _ = info.amounts
    except QuantityError as error:
        raise ObjectError(f"{named(raw)}: {error}") from error
    return info


def _with_uid(pod: Pod) -> Pod:
    """Everything is kept by UID; a hand-written pod without one is known by its namespace and name."""
    if pod.metadata.uid:
        return pod
    uid = f"{pod.metadata.namespace}/{pod.metadata.name}"
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, uid=uid))
