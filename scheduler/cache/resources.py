"""Amounts a row by resource name: what a node has, and what its pods take of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from scheduler.api.pod_requests import PodAmounts
from scheduler.api.quantity import INT64_MAX, INT64_MIN
from scheduler.api.resources import CPU, MEMORY
from scheduler.cache.columns import Column
from scheduler.cache.node_facts import Allocatable


class AmountColumn(Column):
    """An int64 column that knows how many entries it is the sum of."""

    __slots__ = ("entries",)

    def __init__(self, capacity: int) -> None:
        super().__init__(np.int64, capacity)
        self.entries = 0


class ResourceColumns:
    """Columns by resource name. A column exists while some entry of it does: vanished resources cost nothing."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._columns: dict[str, AmountColumn] = {}
        self.cells: dict[str, memoryview[Any]] = {}
        """``cells`` of every column there is, for one row. The dict stays the same one."""

    def get(self, resource: str) -> AmountColumn | None:
        """The column, or None when it would be all zeros."""
        return self._columns.get(resource)

    def add(self, row: int, amounts: Iterable[tuple[str, int]]) -> None:
        for resource, amount in amounts:
            column = self._columns.get(resource)
            if column is None:
                column = self._columns[resource] = AmountColumn(self._capacity)
                self.cells[resource] = column.cells
            column.entries += 1
            # As Column.add, which would be a fifth of the time that a pod takes here.
            cells = column.cells
            total = cells[row] + amount
            if INT64_MIN <= total <= INT64_MAX:
                cells[row] = total
            else:
                column.add(row, amount)

    def subtract(self, row: int, amounts: Iterable[tuple[str, int]]) -> None:
        """Undo an ``add`` of the same amounts."""
        for resource, amount in amounts:
            column = self._columns[resource]
            column.entries -= 1
            column.add(row, -amount)
            if not column.entries:
                del self._columns[resource], self.cells[resource]

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        for resource, column in self._columns.items():
            column.grow(capacity)
            self.cells[resource] = column.cells

    def items(self) -> Iterator[tuple[str, AmountColumn]]:
        return iter(self._columns.items())


class NodeResources:
    """Everything that Facet.RESOURCES stands for."""

    def __init__(self, capacity: int) -> None:
        self.allocatable = ResourceColumns(capacity)
        self.requested = ResourceColumns(capacity)
        self.non_zero = {CPU: Column(np.int64, capacity), MEMORY: Column(np.int64, capacity)}
        self.non_zero_cells: dict[str, memoryview[Any]] = {}
        """``cells`` of both. The dict stays the same one."""
        self._show_non_zero()
        self.allowed_pods = Column(np.int64, capacity)
        self.pod_count = Column(np.int64, capacity)

    def set_allocatable(self, row: int, old: Allocatable, new: Allocatable) -> bool:
        """Take a node from one allocatable to another; whether they differ."""
        if old.allowed_pods == new.allowed_pods and dict(old.amounts) == dict(new.amounts):
            return False
        self.allocatable.subtract(row, old.amounts)
        self.allocatable.add(row, new.amounts)
        self.allowed_pods.cells[row] = new.allowed_pods
        return True

    def charge(self, row: int, pod: PodAmounts) -> None:
        self.requested.add(row, pod.charged)
        self.non_zero[CPU].add(row, pod.accounted_non_zero[CPU])
        self.non_zero[MEMORY].add(row, pod.accounted_non_zero[MEMORY])
        self.pod_count.cells[row] += 1

    def release(self, row: int, pod: PodAmounts) -> None:
        """Undo a ``charge`` of the same amounts."""
        self.requested.subtract(row, pod.charged)
        self.non_zero[CPU].add(row, -pod.accounted_non_zero[CPU])
        self.non_zero[MEMORY].add(row, -pod.accounted_non_zero[MEMORY])
        self.pod_count.cells[row] -= 1

    def grow(self, capacity: int) -> None:
        self.allocatable.grow(capacity)
        self.requested.grow(capacity)
        for column in (*self.non_zero.values(), self.allowed_pods, self.pod_count):
            column.grow(capacity)
        self._show_non_zero()

    def _show_non_zero(self) -> None:
        self.non_zero_cells.update((resource, column.cells) for resource, column in self.non_zero.items())
