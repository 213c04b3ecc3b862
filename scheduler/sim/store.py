"""What the server knows: the objects, one counter for all their versions, and the changes of late."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from scheduler.sim.errors import ApiError, expired
from scheduler.sim.objects import Object

DEFAULT_HISTORY = 10_000

_encode = msgspec.json.Encoder().encode


class Version:
    """One state of one object. The object carries its resourceVersion, but neither kind nor apiVersion."""

    __slots__ = ("_encoded", "key", "number", "object")

    def __init__(self, key: str, number: int, item: Object) -> None:
        self.key = key
        self.number = number
        self.object = item
        self._encoded: dict[str, bytes] = {}

    def encoded(self, form: str = "", convert: Callable[[Object], Object] | None = None) -> bytes:
        """The object as JSON in one of its forms, made once; `convert` makes that form of the stored one."""
        body = self._encoded.get(form)
        if body is None:
            body = _encode(self.object if convert is None else convert(self.object))
            self._encoded[form] = body
        return body


class Change(NamedTuple):
    """A change, as a watch without selectors sees it. That of a deletion has the last state under a version of its own."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    current: Version
    previous: Version | None

    @property
    def number(self) -> int:
        return self.current.number


Listener: TypeAlias = Callable[[Change], None]


class Shelf:
    """The objects of one resource by key, `namespace/name` or `name`, and their latest changes."""

    def __init__(self, history: int) -> None:
        self.versions: dict[str, Version] = {}
        self.changes: deque[Change] = deque()
        # Changes up to this version are forgotten: a watch may start from it, and not from less.
        self.floor = 0
        self._history = history
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Have every change told at once, before the write that made it returns; the result ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def record(self, change: Change) -> None:
        """Keep a change and tell it."""
        self.changes.append(change)
        if len(self.changes) > self._history:
            self.floor = self.changes.popleft().number
        for listener in tuple(self._listeners):
            listener(change)

    def since(self, number: int) -> list[Change]:
        """The changes after a version.

        Raises:
            ApiError: they are not all known any more.
        """
        if number < self.floor:
            raise too_old(number, self.floor)
        newer = []
        for change in reversed(self.changes):
            if change.number <= number:
                break
            newer.append(change)
        newer.reverse()
        return newer

    def as_of(self, number: int) -> dict[str, Version]:
        """The objects at a version.

        Raises:
            ApiError: the changes since are not all known any more.
        """
        versions = dict(self.versions)
        for change in reversed(self.since(number)):
            if change.previous is None:
                versions.pop(change.current.key, None)
            else:
                versions[change.current.key] = change.previous
        return versions


class Store:
    """All shelves, and the one counter that numbers every change."""

    def __init__(self, shelves: Iterable[str], *, history: int = DEFAULT_HISTORY) -> None:
        self.shelves = {name: Shelf(history) for name in shelves}
        self.number = 0

    def write(self, shelf: Shelf, key: str, item: Object) -> Version:
        """Put a new state of an object on its shelf, under the next version."""
        previous = shelf.versions.get(key)
        version = self._next_version(key, item)
        shelf.versions[key] = version
        shelf.record(Change("ADDED" if previous is None else "MODIFIED", version, previous))
        return version

    def remove(self, shelf: Shelf, key: str, item: Object) -> Version:
        """Take an object off its shelf; `item` is its last state, which the deletion gives the next version."""
        previous = shelf.versions.pop(key)
        version = self._next_version(key, item)
        shelf.record(Change("DELETED", version, previous))
        return version

    def expire(self) -> None:
        """Forget all changes: a watch or a page that refers to any earlier version is answered 410."""
        for shelf in self.shelves.values():
            shelf.changes.clear()
            shelf.floor = self.number

    def _next_version(self, key: str, item: Object) -> Version:
        self.number += 1
        metadata = {**item["metadata"], "resourceVersion": str(self.number)}
        return Version(key, self.number, {**item, "metadata": metadata})


def too_old(number: int, floor: int) -> ApiError:
    """A watch from a version whose changes are forgotten."""
    return expired(f"too old resource version: {number} ({floor})")
