"""What the plugins that score by resources have in common: the list of resources in their arguments."""

from __future__ import annotations

from typing import Annotated

import msgspec

from scheduler.api.resources import CPU, MEMORY, is_counted, is_scalar

Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class ResourceSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A resource to score by; a weight of 0 counts as absent, which means 1."""

    name: str = ""
    weight: Int64 = 1

    def __post_init__(self) -> None:
        if self.weight == 0:
            msgspec.structs.force_setattr(self, "weight", 1)


DEFAULT_RESOURCES = (ResourceSpec(name=CPU), ResourceSpec(name=MEMORY))


def takes_part(name: str, request: int) -> bool:
    """Whether a resource can count in a pod's score at all, on nodes that have it.

    Extended and other scalar resources count only for pods that ask for them; names that are summed up on no node never
    do (kube-scheduler 1.37: resourceAllocationScorer).
    """
    return is_counted(name) and (request != 0 or not is_scalar(name))
