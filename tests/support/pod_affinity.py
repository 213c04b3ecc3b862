"""Short ways to write pod affinity."""

from __future__ import annotations

from typing import Any

import msgspec

from scheduler.api.objects import Affinity, Namespace, ObjectMeta

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

Term = dict[str, Any]


def term(key: str = "zone", selector: Any = None, **fields: Any) -> Term:
    """A term about pods with the label app=web, or another selector as the API writes it."""
    return {
        "topologyKey": key,
        "labelSelector": {"matchLabels": {"app": "web"}} if selector is None else selector,
        **fields,
    }


def weighted(weight: int, of: Term) -> dict[str, Any]:
    return {"weight": weight, "podAffinityTerm": of}


def affinity(
    *,
    near: tuple[Term, ...] = (),
    apart: tuple[Term, ...] = (),
    prefer_near: tuple[dict[str, Any], ...] = (),
    prefer_apart: tuple[dict[str, Any], ...] = (),
) -> Affinity:
    """Required and preferred affinity and anti-affinity."""
    return msgspec.convert(
        {
            "podAffinity": {REQUIRED: list(near), PREFERRED: list(prefer_near)},
            "podAntiAffinity": {REQUIRED: list(apart), PREFERRED: list(prefer_apart)},
        },
        Affinity,
    )


def namespace(name: str, **labels: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name, labels=labels))
