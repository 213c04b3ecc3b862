"""A heap of queued pods that can be taken out of the middle."""

from __future__ import annotations

import heapq
from typing import Any

from scheduler.queue.queued_pod import QueuedPod


class PodHeap:
    """Lowest key first, equal keys in order of arrival.

    Removal is lazy: the place of a pod that left or moved stays until it comes first in ``peek`` or ``pop``. A ``push`` clears all such
    places away when there are more of them than of pods, by 16 at least.
    """

    def __init__(self) -> None:
        self._places: list[tuple[Any, int, QueuedPod]] = []
        self._live: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, uid: str) -> bool:
        return uid in self._live

    def push(self, key: Any, ticket: int, queued: QueuedPod) -> None:
        """Put the pod in, or move it to a new place. Tickets only grow."""
        self._live[queued.pod.uid] = ticket
        heapq.heappush(self._places, (key, ticket, queued))
        if len(self._places) > 2 * len(self._live) + 16:
            self._places = [place for place in self._places if self._is_live(place)]
            heapq.heapify(self._places)

    def remove(self, uid: str) -> None:
        self._live.pop(uid, None)

    def peek(self) -> tuple[Any, QueuedPod] | None:
        """The first key and its pod."""
        while self._places and not self._is_live(self._places[0]):
            heapq.heappop(self._places)
        return (self._places[0][0], self._places[0][2]) if self._places else None

    def pop(self) -> QueuedPod | None:
        while self._places:
            _, ticket, queued = heapq.heappop(self._places)
            uid = queued.pod.uid
            if self._live.get(uid) == ticket:
                del self._live[uid]
                return queued
        return None

    def _is_live(self, place: tuple[Any, int, QueuedPod]) -> bool:
        return self._live.get(place[2].pod.uid) == place[1]
