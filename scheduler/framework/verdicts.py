"""A rule evaluated once per distinct interned value, then gathered by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from scheduler.framework.ops import Ids

Item = TypeVar("Item")


class Verdicts(Generic[Item]):
    """``function(item)`` for each id of an interner that only grows; new ids are evaluated when first asked for."""

    def __init__(self, function: Callable[[Item], Any], dtype: Any) -> None:
        self._function = function
        self._dtype = dtype
        self._values: list[Any] = []
        self._column = np.empty(0, dtype=dtype)

    def gather(self, items: Sequence[Item], ids: Ids) -> Any:
        """The verdict of each row: an array for a column of ids, a Python scalar for one id."""
        if len(self._values) < len(items):
            self._values.extend(self._function(item) for item in items[len(self._values) :])
            self._column = np.asarray(self._values, dtype=self._dtype)
        return self._column.take(ids) if isinstance(ids, np.ndarray) else self._values[ids]
