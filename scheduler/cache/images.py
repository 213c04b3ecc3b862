"""Which nodes hold an image, and how large it is there (kube-scheduler 1.37: ImageLocality)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from scheduler.framework.ops import IntArray

_COLUMNS = 64


class ImageIndex:
    """Sizes by image name and row. A node's own size counts, where kube-scheduler takes the one it saw first."""

    def __init__(self) -> None:
        self._sizes: dict[str, dict[int, int]] = {}
        self._versions: dict[str, int] = {}
        self._changes = 0
        # Columns of images that pods ask about, by name; dropped when the image's sizes change.
        self._columns: dict[str, IntArray] = {}

    def update(self, row: int, old: Mapping[str, int], new: Mapping[str, int]) -> bool:
        """Take a node's images from one set to another; whether that changed anything."""
        changed = False
        for name, size in new.items():
            if old.get(name) != size:
                self._sizes.setdefault(name, {})[row] = size
                self._note(name)
                changed = True
        for name in old:
            if name not in new:
                sizes = self._sizes[name]
                del sizes[row]
                self._note(name)
                changed = True
                if not sizes:
                    del self._sizes[name]
                    del self._versions[name]
        return changed

    def _note(self, name: str) -> None:
        self._changes += 1
        self._versions[name] = self._changes
        self._columns.pop(name, None)

    def size(self, name: str, row: int) -> int:
        sizes = self._sizes.get(name)
        return sizes.get(row, 0) if sizes else 0

    def column(self, name: str, capacity: int) -> IntArray:
        """Sizes by row, 0 where the node does not hold the image; shape (capacity,), read-only."""
        column = self._columns.get(name)
        if column is not None and len(column) == capacity:
            return column
        column = np.zeros(capacity, np.int64)
        sizes = self._sizes.get(name)
        if sizes:
            column[np.fromiter(sizes, np.int64, len(sizes))] = np.fromiter(sizes.values(), np.int64, len(sizes))
        column.flags.writeable = False
        if sizes:
            if len(self._columns) >= _COLUMNS:
                self._columns.pop(next(iter(self._columns)))
            self._columns[name] = column
        return column

    def holders(self, name: str) -> int:
        return len(self._sizes.get(name, ()))

    def version(self, name: str) -> int:
        """Another number after each change of the image; 0 while nobody holds it."""
        return self._versions.get(name, 0)

    def held(self) -> Iterator[tuple[int, str, int]]:
        """Every (row, image, bytes), in no particular order."""
        for name, sizes in self._sizes.items():
            for row, size in sizes.items():
                yield row, name, size
