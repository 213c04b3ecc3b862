"""Arguments of VolumeBinding (kubescheduler.config.k8s.io/v1: VolumeBindingArgs)."""

from __future__ import annotations

from typing import Annotated

import msgspec

from scheduler.api.field_errors import child, invalid
from scheduler.framework.function_shape import MAX_SHAPE_SCORE, MAX_UTILIZATION, UtilizationShapePoint, shape_errors

DEFAULT_SHAPE = (
    UtilizationShapePoint(utilization=0, score=MAX_SHAPE_SCORE),
    UtilizationShapePoint(utilization=MAX_UTILIZATION, score=0),
)


class VolumeBindingArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How long to wait for volumes to be bound, and what score a share of the storage that is taken makes.

    The default shape prefers the storage that is left with the most room.
    """

    bind_timeout_seconds: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] = 600
    shape: tuple[UtilizationShapePoint, ...] = DEFAULT_SHAPE

    def __post_init__(self) -> None:
        if not self.shape:
            msgspec.structs.force_setattr(self, "shape", DEFAULT_SHAPE)


def validate(args: VolumeBindingArgs, path: str) -> list[str]:
    """Every error of the arguments as ``path: message``."""
    errors = []
    if args.bind_timeout_seconds < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        errors.append(invalid(child(path, "bindTimeoutSeconds"), args.bind_timeout_seconds, detail))
    return [*errors, *shape_errors(args.shape, child(path, "shape"))]
