"""How often each of many may do something."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable

AT_MOST = 1024


class Pace:
    """Allows each key ``per_second`` on average and ``at_once`` together. Keys beyond ``at_most`` are forgotten, the oldest first."""

    def __init__(
        self, per_second: float, at_once: int, monotonic: Callable[[], float], *, at_most: int = AT_MOST
    ) -> None:
        self._per_second = per_second
        self._at_once = float(at_once)
        self._monotonic = monotonic
        self._at_most = at_most
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()
        """By key: how many more it may, and since when."""

    def take(self, key: Hashable) -> bool:
        """Whether it may once more; counts when it may."""
        now = self._monotonic()
        left, since = self._left.get(key, (self._at_once, now))
        left = min(self._at_once, left + (now - since) * self._per_second)
        may = left >= 1.0
        self._left[key] = (left - 1.0 if may else left, now)
        self._left.move_to_end(key)
        while len(self._left) > self._at_most:
            self._left.popitem(last=False)
        return may
