"""The last changes of a number by row, for those who keep sums of it."""

from __future__ import annotations

from collections import deque

MOST = 32


class ChangeLog:
    """Changes with the version that each led to; versions only rise.

    Args:
        version: the one before the first change.
    """

    __slots__ = ("_changes", "_complete_since")

    def __init__(self, version: int) -> None:
        self._complete_since = version
        self._changes: deque[tuple[int, int, int]] = deque(maxlen=MOST)

    def note(self, version: int, row: int, change: int) -> None:
        """``change`` was added to the row's number; the version is this one now."""
        if len(self._changes) == MOST:
            self._complete_since = self._changes[0][0]
        self._changes.append((version, row, change))

    def since(self, version: int) -> list[tuple[int, int]] | None:
        """What was added to which row after that version, in no order; None when not all of it is known any more."""
        if version < self._complete_since:
            return None
        found = []
        for led_to, row, change in reversed(self._changes):
            if led_to <= version:
                break
            found.append((row, change))
        return found
