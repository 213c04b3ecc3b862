"""Normalisation by the highest raw score; the cases are worked out by hand after kube-scheduler's formula."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler.framework.normalize import by_highest, by_highest_reversed


def column(*scores: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(scores, dtype=np.int64)


@pytest.mark.parametrize(
    ("scores", "forward", "backward"),
    [
        ([0, 1, 3], [0, 33, 100], [100, 67, 0]),
        ([0, 0], [0, 0], [100, 100]),
        ([7], [100], [0]),
        ([1, 2, 3, 4, 5, 6, 7], [14, 28, 42, 57, 71, 85, 100], [86, 72, 58, 43, 29, 15, 0]),
        ([-5, -1], [-5, -1], [100, 100]),
        ([-5, 0], [-5, 0], [100, 100]),
        ([-5, 2], [-250, 100], [350, 0]),
        ([2**60, 1], [4, 0], [96, 100]),
    ],
)
def test_scores_are_shares_of_the_highest(scores: list[int], forward: list[int], backward: list[int]) -> None:
    high = max(scores)
    assert by_highest(column(*scores), high).tolist() == forward  # type: ignore[union-attr]
    assert [by_highest(score, high) for score in scores] == forward
    assert by_highest_reversed(column(*scores), high).tolist() == backward  # type: ignore[union-attr]
    assert [by_highest_reversed(score, high) for score in scores] == backward
