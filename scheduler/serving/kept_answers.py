"""Answers that are kept for a while, so many and no more; who asks for one that is being fetched waits for it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

AT_MOST = 4096
"""kube-scheduler keeps so many answers a shard and user."""


class _Kept(NamedTuple, Generic[T]):
    until: float
    answer: T


class KeptAnswers(Generic[T]):
    """By key, the one least recently asked for goes first. Only answers are kept, no errors."""

    def __init__(self, seconds: float, monotonic: Callable[[], float], *, at_most: int = AT_MOST) -> None:
        self._seconds = seconds
        self._monotonic = monotonic
        self._at_most = at_most
        self._kept: OrderedDict[Hashable, _Kept[T]] = OrderedDict()
        self._asking: dict[Hashable, asyncio.Task[T]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def holds(self, key: Hashable) -> bool:
        """Whether nobody has to be asked: there is an answer, or it is on its way."""
        kept = self._kept.get(key)
        return key in self._asking or (kept is not None and self._monotonic() < kept.until)

    def last(self, key: Hashable) -> T | None:
        """The last answer, however old."""
        kept = self._kept.get(key)
        return None if kept is None else kept.answer

    async def get(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer that is kept, or the one to ``ask``; what that raises is raised."""
        kept = self._kept.get(key)
        if kept is not None and self._monotonic() < kept.until:
            self._kept.move_to_end(key)
            return kept.answer
        task = self._asking.get(key)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._fetch(key, ask))
            self._asking[key] = task
            # An error is told to those who wait; when they are all gone nobody need know.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(task)

    async def _fetch(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        try:
            answer = await ask()
            self._kept[key] = _Kept(self._monotonic() + self._seconds, answer)
            self._kept.move_to_end(key)
            while len(self._kept) > self._at_most:
                self._kept.popitem(last=False)
            return answer
        finally:
            del self._asking[key]
