"""Objects by a property that several share, each group in the order of its keys."""

from __future__ import annotations

from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")


class _Group(Generic[ItemT]):
    __slots__ = ("is_sorted", "items", "listed")

    def __init__(self) -> None:
        self.items: dict[str, ItemT] = {}
        self.is_sorted = True
        self.listed: tuple[ItemT, ...] | None = None


class GroupedObjects(Generic[ItemT]):
    """Groups are put in order when they are asked for, so that a first list costs one sort a group."""

    def __init__(self) -> None:
        self._groups: dict[str, _Group[ItemT]] = {}
        self._group_of: dict[str, str] = {}

    def put(self, key: str, group: str | None, item: ItemT) -> None:
        """The item of this key, in the place of another one; None: it belongs to no group."""
        before = self._group_of.get(key)
        if before is not None and before != group:
            self.remove(key)
        if group is None:
            return
        there = self._groups.get(group)
        if there is None:
            there = self._groups[group] = _Group()
        there.is_sorted = there.is_sorted and key in there.items
        there.items[key] = item
        there.listed = None
        self._group_of[key] = group

    def remove(self, key: str) -> None:
        group = self._group_of.pop(key, None)
        if group is None:
            return
        there = self._groups[group]
        del there.items[key]
        there.listed = None
        if not there.items:
            del self._groups[group]

    def of(self, group: str) -> tuple[ItemT, ...]:
        """The items of a group, by key."""
        there = self._groups.get(group)
        if there is None:
            return ()
        if there.listed is None:
            if not there.is_sorted:
                there.items = dict(sorted(there.items.items()))
                there.is_sorted = True
            there.listed = tuple(there.items.values())
        return there.listed
