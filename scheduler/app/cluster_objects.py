"""Objects as ``kubectl get -o json`` writes them, turned into what the scheduler reads, with errors that name them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec

from scheduler.api.objects import DeviceClass, Namespace, Node, Pod
from scheduler.api.quantity import QuantityError, amount
from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo

ClusterObject: TypeAlias = Node | Pod | Namespace | DeviceClass

KINDS: dict[str, type[ClusterObject]] = {
    "Node": Node,
    "Pod": Pod,
    "Namespace": Namespace,
    "DeviceClass": DeviceClass,
}
TERMINAL_PHASES = ("Succeeded", "Failed")


class ObjectError(ValueError):
    """An object that cannot be read; the text names it and the field."""


def flatten(raw: object, where: str) -> Iterator[dict[str, Any]]:
    """The object itself, or the items of a List, nested ones too."""
    if not isinstance(raw, dict):
        raise ObjectError(f"{where}: expected a Kubernetes object, got {type(raw).__name__}")
    kind = raw.get("kind")
    if isinstance(kind, str) and kind.endswith("List") and "items" in raw:
        items = raw["items"] or []
        if not isinstance(items, list):
            raise ObjectError(f"{where}.items: expected a list, got {type(items).__name__}")
        for index, item in enumerate(items):
            # Items of a typed list, such as NodeList, may leave out their kind.
            if isinstance(item, dict) and "kind" not in item and kind != "List":
                item = {**item, "kind": kind.removesuffix("List")}
            yield from flatten(item, f"{where}.items[{index}]")
    else:
        yield raw


def named(raw: dict[str, Any]) -> str:
    """How to call the object in a message: kind and name, as far as it has them."""
    metadata = raw.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    key = "/".join(str(part) for part in (metadata.get("namespace"), metadata.get("name")) if part)
    return f"{raw.get('kind', 'object')} {key or '(without a name)'}"


def decode(raw: dict[str, Any], kind: type[Any]) -> Any:
    """Raises: ObjectError, naming the object and the field."""
    try:
        return msgspec.convert(raw, type=kind, strict=True)
    except msgspec.ValidationError as error:
        raise ObjectError(f"{named(raw)}: {error}") from error


Change: TypeAlias = Callable[[Cache], object]
"""A change of the cache that was checked beforehand and cannot fail half-way."""


def to_apply(raw: dict[str, Any]) -> Change | None:
    """How to put the object into a cache, or its new state in the place of the old one; None for a kind that is not read.

    Raises:
        ObjectError: the object cannot be read.
    """
    kind = KINDS.get(str(raw.get("kind")))
    if kind is None:
        return None
    decoded = decode(raw, kind)
    if not decoded.metadata.name:
        raise ObjectError(f"{named(raw)}: metadata.name is required")
    match decoded:
        case Node():
            _check_quantities(raw, decoded)
            return lambda cache: cache.apply_node(decoded)
        case Pod():
            return _pod_change(readable_pod(raw, decoded))
        case Namespace():
            return lambda cache: cache.apply_namespace(decoded)
        case _:
            return lambda cache: cache.apply_device_class(decoded)


def _check_quantities(raw: dict[str, Any], node: Node) -> None:
    for resource, quantity in (node.status.allocatable or {}).items():
        try:
            amount(resource, quantity)
        except QuantityError as error:
            raise ObjectError(f"{named(raw)}: status.allocatable[{resource}]: {error}") from error


def readable_pod(raw: dict[str, Any], pod: Pod) -> PodInfo:
    """The pod with its figures worked out.

    Raises:
        ObjectError: one of its quantities cannot be read.
    """
    info = PodInfo(with_uid(pod))
    try:
        _ = (info.requests, info.score_requests, info.accounted_requests, info.accounted_non_zero)
    except ValueError as error:
        raise ObjectError(f"{named(raw)}: {error}") from error
    return info


def with_uid(pod: Pod) -> Pod:
    """Everything is kept by UID; a hand-written pod without one is known by its namespace and name."""
    if pod.metadata.uid:
        return pod
    uid = f"{pod.metadata.namespace}/{pod.metadata.name}"
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, uid=uid))


def _pod_change(pod: PodInfo) -> Change:
    if pod.pod.spec.node_name and pod.pod.status.phase not in TERMINAL_PHASES:
        return lambda cache: cache.apply_pod(pod)
    return lambda cache: cache.remove_pod(pod.uid)


def to_delete(raw: dict[str, Any]) -> Change | None:
    """How to take the object out of a cache; one that is not there is no error.

    Raises:
        ObjectError: the reference does not name an object.
    """
    kind = KINDS.get(str(raw.get("kind")))
    if kind is None:
        return None
    decoded = decode({"kind": raw.get("kind"), "metadata": raw.get("metadata")}, kind)
    name = decoded.metadata.name
    if not name:
        raise ObjectError(f"{named(raw)}: metadata.name is required")
    match decoded:
        case Node():
            return lambda cache: cache.remove_node(name)
        case Pod():
            uid = with_uid(decoded).metadata.uid
            return lambda cache: cache.remove_pod(uid)
        case Namespace():
            return lambda cache: cache.remove_namespace(name)
        case _:
            return lambda cache: cache.remove_device_class(name)
