"""Scoring strategies of NodeResourcesFit: a score for each resource of a node, and how they make the node's score."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from scheduler.framework import ops
from scheduler.framework.function_shape import MAX_UTILIZATION, FunctionShape, UtilizationShapePoint
from scheduler.framework.ops import Ints
from scheduler.framework.plugin import MAX_NODE_SCORE
from scheduler.plugins.node_resources_fit.args import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    ScoringStrategy,
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
    line = FunctionShape(shape)

    def score(requested: Ints, capacity: Ints) -> Ints:
        utilization = ops.div_trunc(requested * MAX_UTILIZATION, capacity)
        utilization = ops.where(requested > capacity, MAX_UTILIZATION, utilization)
        scored: Ints = ops.where(capacity == 0, 0, line.at(utilization))
        return scored

    return score


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
