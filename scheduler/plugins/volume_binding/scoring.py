"""How full the storage of each class becomes, and the score for it (kube-scheduler 1.37: volumeCapacityScorer)."""

from __future__ import annotations

import numpy as np

from scheduler.framework import ops
from scheduler.framework.function_shape import MAX_UTILIZATION, FunctionShape
from scheduler.framework.ops import BoolArray, IntArray


class ClassUse:
    """Storage that a pod asks for of one class, and that there is of it, on each of some nodes."""

    def __init__(self, count: int) -> None:
        self._is_used: BoolArray = np.zeros(count, dtype=np.bool_)
        self._requested: IntArray = np.zeros(count, dtype=np.int64)
        self._capacity: IntArray = np.zeros(count, dtype=np.int64)

    def add(self, here: BoolArray, requested: int, capacity: IntArray, *, shares: bool) -> None:
        """Count a claim on the nodes ``here``.

        Args:
            shares: the capacity is that of the whole class, and not of one volume more.
        """
        self._is_used |= here
        self._requested[here] += requested
        if shares:
            self._capacity[here] = capacity[here]
        else:
            self._capacity[here] += capacity[here]

    def scores(self, line: FunctionShape) -> tuple[IntArray, BoolArray]:
        """The score of the class on each node, 0 where it is not used, and whether it is used there."""
        share = ops.div_trunc(ops.mul(self._requested, MAX_UTILIZATION), self._capacity)
        is_over = (self._capacity == 0) | (self._requested > self._capacity)
        score = line.at(ops.where(is_over, MAX_UTILIZATION, share))
        return np.where(self._is_used, score, 0), self._is_used


def mean_score(uses: list[ClassUse], line: FunctionShape, count: int) -> IntArray:
    """The mean over the classes that a node uses, rounded half away from zero; 0 where it uses none."""
    total = np.zeros(count, dtype=np.int64)
    classes = np.zeros(count, dtype=np.int64)
    for use in uses:
        scores, is_used = use.scores(line)
        total += scores
        classes += is_used
    mean = ops.round_half_away(ops.divide(total, classes))
    assert isinstance(mean, np.ndarray)
    return mean
