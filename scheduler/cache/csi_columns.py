"""CSIColumns: what the CSI drivers of each node allow, by driver instead of by node."""

from __future__ import annotations

import numpy as np

from scheduler.api.storage import CSINode, volume_limits
from scheduler.cache.columns import Column
from scheduler.framework.ops import IntArray

UNLIMITED = 2**62
"""Stands for no limit; a limit is an int32."""

_LIFT = 2**31 + 1
"""Added to what is held of a limit, so that 0 is none."""


class _Driver:
    """One driver by row. ``limits`` are lifted, 0 where there is none; ``rows``: how many list it."""

    __slots__ = ("installed", "limits", "rows")

    def __init__(self, capacity: int) -> None:
        self.installed = Column(np.bool_, capacity)
        self.limits = Column(np.int64, capacity)
        self.rows = 0


class CSIColumns:
    """CSINode of each row's node."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self.known = Column(np.bool_, capacity)
        """Rows whose node has a CSINode."""
        self.limited = Column(np.bool_, capacity)
        """Rows whose node limits some driver."""
        self._drivers: dict[str, _Driver] = {}
        self._nodes: dict[int, CSINode] = {}

    def set(self, row: int, node: CSINode | None) -> bool:
        """What is known of the row's node now. Returns whether a plugin could see a difference."""
        before = self._nodes.get(row)
        if before is node:
            return False
        self._withdraw(row, before)
        self._enter(row, node)
        return before is None or node is None or before.spec != node.spec

    def _withdraw(self, row: int, node: CSINode | None) -> None:
        if node is None:
            return
        del self._nodes[row]
        self.known.cells[row] = False
        self.limited.cells[row] = False
        for name in _names(node):
            driver = self._drivers[name]
            driver.installed.cells[row] = False
            driver.limits.cells[row] = 0
            driver.rows -= 1
            if not driver.rows:
                del self._drivers[name]

    def _enter(self, row: int, node: CSINode | None) -> None:
        if node is None:
            return
        self._nodes[row] = node
        limits = volume_limits(node)
        self.known.cells[row] = True
        self.limited.cells[row] = bool(limits)
        for name in _names(node):
            driver = self._drivers.get(name)
            if driver is None:
                driver = self._drivers[name] = _Driver(self._capacity)
            driver.installed.cells[row] = True
            driver.limits.cells[row] = limits[name] + _LIFT if name in limits else 0
            driver.rows += 1

    def limits(self, driver: str) -> IntArray:
        """Each row's limit for the driver, UNLIMITED where there is none; shape (capacity,)."""
        found = self._drivers.get(driver)
        if found is None:
            return np.full(self._capacity, UNLIMITED, np.int64)
        return np.where(found.limits.values == 0, UNLIMITED, found.limits.values - _LIFT)

    def limit(self, driver: str, row: int) -> int:
        """One row of ``limits``."""
        found = self._drivers.get(driver)
        lifted: int = 0 if found is None else found.limits.cells[row]
        return lifted - _LIFT if lifted else UNLIMITED

    def installed(self, driver: str) -> Column | None:
        """The rows that list the driver; None when there are none."""
        found = self._drivers.get(driver)
        return None if found is None else found.installed

    def drivers(self) -> list[str]:
        """Names of the drivers that some node lists."""
        return sorted(self._drivers)

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        for column in (self.known, self.limited):
            column.grow(capacity)
        for driver in self._drivers.values():
            driver.installed.grow(capacity)
            driver.limits.grow(capacity)


def _names(node: CSINode) -> list[str]:
    return sorted({driver.name for driver in node.spec.drivers or ()})
