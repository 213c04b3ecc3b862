"""Answers that are the same for every row of a view."""

from __future__ import annotations

import numpy as np

from scheduler.framework.ops import Bools, Ints, Masks
from scheduler.framework.view import NodeView


def no_reasons(nodes: NodeView) -> Masks:
    """A Filter's answer when nothing speaks against any node."""
    return 0 if nodes.is_row else np.zeros(len(nodes), dtype=np.uint64)


def same_score(nodes: NodeView, score: int) -> Ints:
    return score if nodes.is_row else np.full(len(nodes), score, dtype=np.int64)


def same_verdict(nodes: NodeView, verdict: bool) -> Bools:
    return verdict if nodes.is_row else np.full(len(nodes), verdict, dtype=np.bool_)
