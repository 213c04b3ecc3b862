"""What the table keeps of a node object, read in one place."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from scheduler.api.field_errors import element
from scheduler.api.objects import Node, Taint
from scheduler.api.quantity import INT64_MAX, INT64_MIN, QuantityError, amount
from scheduler.api.resources import PODS, is_counted

NO_NODE = Node()
"""Stands for a row's node before it is added and after it was removed."""


class Allocatable(NamedTuple):
    """``amounts``: what is counted and not 0, as (resource, amount)."""

    amounts: tuple[tuple[str, int], ...]
    allowed_pods: int


def allocatable_of(node: Node) -> Allocatable:
    """status.allocatable in whole units, milli for cpu.

    Raises:
        ValueError: a quantity cannot be read; the text names the node and the field.
    """
    amounts, allowed_pods = [], 0
    for resource, quantity in (node.status.allocatable or {}).items():
        try:
            read = amount(resource, quantity)
        except QuantityError as error:
            field = element("status.allocatable", resource)
            raise ValueError(f"node {node.metadata.name}: {field}: {error}") from error
        if resource == PODS:
            allowed_pods = read
        elif read and is_counted(resource):
            amounts.append((resource, read))
    return Allocatable(tuple(amounts), allowed_pods)


def images_of(node: Node) -> dict[str, int]:
    """Bytes by image name; the last entry of a name wins.

    Raises:
        ValueError: a size does not fit in 64 bits; the text names the node and the field.
    """
    sizes = {}
    for index, image in enumerate(node.status.images or ()):
        size = image.size_bytes
        if not INT64_MIN <= size <= INT64_MAX:
            field = f"status.images[{index}].sizeBytes"
            raise ValueError(
                f"node {node.metadata.name}: {field}: {size} does not fit in 64 bits; write a number of bytes"
            )
        for name in image.names or ():
            sizes[name] = size
    return sizes


def labels_of(node: Node) -> Mapping[str, str]:
    return node.metadata.labels or {}


def taints_of(node: Node) -> tuple[Taint, ...]:
    return tuple(node.spec.taints or ())


def features_of(node: Node) -> tuple[str, ...]:
    return tuple(node.status.declared_features or ())


def tie_key(seed: int, name: str) -> int:
    """31 bits of a hash of the name under the seed; the same in every process."""
    key = seed.to_bytes(16, "little", signed=True)
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=4, key=key).digest(), "little") >> 1
