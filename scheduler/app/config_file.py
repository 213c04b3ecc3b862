"""Watches a mounted configuration file.

A ConfigMap's files are links through ``..data``, which the kubelet swaps at once; an editor or ``cp`` may write for a while. So a file is
read when nothing about it has changed between two looks, or at once when it is another file by now, and read again when it
changed meanwhile. It is looked at, not subscribed to: a swapped link tells subscribers of nothing that they asked for.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

LOOK_SECONDS = 0.5


class Look(NamedTuple):
    """What a file is known by."""

    path: str
    inode: int
    size: int
    changed_ns: int


def look(path: Path) -> Look | None:
    """The file behind all links as it is now; None when there is none."""
    try:
        real = Path(os.path.realpath(path))
        found = real.stat()
    except OSError:
        return None
    return Look(str(real), found.st_ino, found.st_size, found.st_mtime_ns)


class ConfigFile:
    """One file. ``changes`` is to be iterated once; ``read_again`` makes it due whether it changed or not."""

    def __init__(self, path: Path, *, look_seconds: float = LOOK_SECONDS) -> None:
        self.path = path
        self._look_seconds = look_seconds
        self._seen = look(path)
        self._is_due = asyncio.Event()

    def read_again(self) -> None:
        """Whoever sends SIGHUP wants the file to be read."""
        self._is_due.set()

    async def changes(self) -> AsyncIterator[None]:
        """An item whenever the file is to be read: it is another one, and it is not being written."""
        before = self._seen
        while True:
            try:
                async with asyncio.timeout(self._look_seconds):
                    await self._is_due.wait()
            except TimeoutError:
                pass
            now = await asyncio.to_thread(look, self.path)
            is_settled = now == before or (now is not None and before is not None and now.path != before.path)
            before = now
            if self._is_due.is_set() or (now != self._seen and is_settled):
                self._is_due.clear()
                self._seen = now
                yield
