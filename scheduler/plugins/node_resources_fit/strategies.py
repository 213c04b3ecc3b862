"""Scoring strategies of NodeResourcesFit: a score for each resource of a node, and how they make the node's score."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from scheduler.framework import ops
from scheduler.framework.ops import Ints
from scheduler.framework.plugin import MAX_NODE_SCORE
from scheduler.plugins.node_resources_fit.args import (
    LEAST_ALLOCATED,
    MAX_SHAPE_SCORE,
    MAX_UTILIZATION,
    MOST_ALLOCATED,
    ScoringStrategy,
    UtilizationShapePoint,
)

ResourceScore: TypeAlias = Callable[[Ints, Ints], Ints]
"""(requested with the pod, capacity) to 0..100; 0 where there is no capacity."""


class Strategy(NamedTuple):
    """How one resource scores, whether one that scores 0 has its weight counted, and how the weighted sum, not wrapped yet,
    and the sum of weights make the node's score.
    """

    resource_score: ResourceScore
    counts_zero_scores: bool
    mean: Callable[[Ints, Ints], Ints]


def least_allocated(requested: Ints, capacity: Ints) -> Ints:
    """The share that stays free; 0 when there is not enough."""
    share = ops.div_trunc((capacity - requested) * MAX_NODE_SCORE, capacity)
    lacking = requested > capacity
    score: Ints = share if ops.nowhere(lacking) else ops.where(lacking, 0, share)
    return score


def most_allocated(requested: Ints, capacity: Ints) -> Ints:
    """The share that is taken; 100 when there is not enough."""
    # More than there is can be requested when pods without requests count their minimum.
    return ops.div_trunc(ops.minimum(requested, capacity) * MAX_NODE_SCORE, capacity)


def requested_to_capacity_ratio(shape: tuple[UtilizationShapePoint, ...]) -> ResourceScore:
    """The score that the shape gives for the utilization in percent."""
    by_utilization = [shape_value(shape, utilization) for utilization in range(MAX_UTILIZATION + 1)]
    column = np.array(by_utilization, dtype=np.int64)

    def score(requested: Ints, capacity: Ints) -> Ints:
        utilization = ops.div_trunc(requested * MAX_UTILIZATION, capacity)
        utilization = ops.where(requested > capacity, MAX_UTILIZATION, utilization)
        # The shape is flat outside of its points, and they lie within 0..100.
        utilization = ops.maximum(0, ops.minimum(utilization, MAX_UTILIZATION))
        found = ops.gather(column if isinstance(utilization, np.ndarray) else by_utilization, utilization)
        scored: Ints = ops.where(capacity == 0, 0, found)
        return scored

    return score


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


def _rounded_mean(total: Ints, weights: Ints) -> Ints:
    return ops.round_half_away(ops.divide(ops.wrap(total), weights))


def strategy_of(args: ScoringStrategy) -> Strategy:
    """The strategy that validated arguments name."""
    if args.type == LEAST_ALLOCATED:
        return Strategy(least_allocated, True, ops.div_trunc)
    if args.type == MOST_ALLOCATED:
        return Strategy(most_allocated, True, ops.div_trunc)
    assert args.requested_to_capacity_ratio is not None
    # A resource that scores 0 takes no part in the mean at all.
    return Strategy(requested_to_capacity_ratio(args.requested_to_capacity_ratio.shape), False, _rounded_mean)
