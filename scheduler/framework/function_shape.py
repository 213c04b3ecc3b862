"""A broken line from utilization to score, as plugins take it in their arguments (kube-scheduler 1.37: FunctionShape)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from scheduler.api.field_errors import child, element, invalid, required
from scheduler.framework import ops
from scheduler.framework.ops import Ints
from scheduler.framework.plugin import MAX_NODE_SCORE

MAX_UTILIZATION = 100
MAX_SHAPE_SCORE = 10


class UtilizationShapePoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A point of the function from utilization, 0 to 100, to score, 0 to 10."""

    utilization: int = 0
    score: int = 0


def shape_errors(shape: Sequence[UtilizationShapePoint], path: str) -> list[str]:
    """Every error of the points as ``path: message``."""
    if not shape:
        return [required(path, "at least one point must be specified")]
    errors = []
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            here = child(element(path, index), "utilization")
            errors.append(invalid(here, shape[index].utilization, "values must be sorted in increasing order"))
            break
    for index, point in enumerate(shape):
        for field, value, highest in (
            ("utilization", point.utilization, MAX_UTILIZATION),
            ("score", point.score, MAX_SHAPE_SCORE),
        ):
            if not 0 <= value <= highest:
                here = child(element(path, index), field)
                errors.append(invalid(here, value, f"not in valid range [0, {highest}]"))
    return errors


def shape_value(shape: tuple[UtilizationShapePoint, ...], utilization: int) -> int:
    """The broken line through the points, scores scaled to 0..100, interpolated toward zero."""
    scale = MAX_NODE_SCORE // MAX_SHAPE_SCORE
    before = shape[0]
    for point in shape:
        if utilization <= point.utilization:
            if point is shape[0]:
                break
            rise = (point.score - before.score) * scale * (utilization - before.utilization)
            step = ops.div_trunc(rise, point.utilization - before.utilization)
            assert isinstance(step, int)
            return before.score * scale + step
        before = point
    return before.score * scale


class FunctionShape:
    """The score of every whole utilization, worked out once."""

    def __init__(self, shape: tuple[UtilizationShapePoint, ...]) -> None:
        self._values = [shape_value(shape, utilization) for utilization in range(MAX_UTILIZATION + 1)]
        self._column = np.array(self._values, dtype=np.int64)

    def at(self, utilization: Ints) -> Ints:
        """The scores, 0 to 100, of utilizations; outside of 0 to 100 the line is flat, as its points lie within."""
        bounded = ops.maximum(0, ops.minimum(utilization, MAX_UTILIZATION))
        scores: Ints = ops.gather(self._column if isinstance(bounded, np.ndarray) else self._values, bounded)
        return scores
