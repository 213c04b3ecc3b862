"""Whether what Filter, Score and NormalizeScore answer for many rows can stand in a column."""

from __future__ import annotations

from typing import Any

import numpy as np


def column_of(answer: Any, size: int) -> Any:
    """The answer, when it is one whole number for each of so many rows, or one for all of them.

    Raises:
        TypeError: it is anything else. Fractions, and what is not a number, would be cut off without a word.
        ValueError: it is of another length.
    """
    found = np.asarray(answer)
    if found.dtype.kind not in "iub":
        raise TypeError(f"it answered {found.dtype} where whole numbers were expected")
    if found.shape not in ((size,), ()):
        raise ValueError(f"it answered an array of shape {found.shape} where ({size},) was expected")
    return answer
