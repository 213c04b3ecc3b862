"""From raw scores to 0..100, row by row (kube-scheduler 1.37: helper.DefaultNormalizeScore)."""

from __future__ import annotations

from scheduler.framework import ops
from scheduler.framework.ops import Ints
from scheduler.framework.plugin import MAX_NODE_SCORE


def by_highest(scores: Ints, high: int) -> Ints:
    """Raw scores as a share of the highest one: it gets 100. All stay as they are when none is above 0."""
    if high <= 0:
        return scores
    return ops.div_trunc(scores * MAX_NODE_SCORE, high)


def by_highest_reversed(scores: Ints, high: int) -> Ints:
    """The lower the raw score the better: the highest one gets 0, a 0 gets 100, and all get 100 when none is above 0."""
    if high <= 0:
        return scores * 0 + MAX_NODE_SCORE
    return ops.wrap(MAX_NODE_SCORE - by_highest(scores, high))
