"""What happens in the cluster while a pod is being tried, so that no event is lost between pop and failure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from scheduler.framework.cluster_event import ClusterEvent


class Missed(NamedTuple):
    """An event with the object as it was and as it became."""

    event: ClusterEvent
    old: Any = None
    new: Any = None


class InFlight:
    """Pods that were popped and not yet decided, and the events since the oldest of them was popped."""

    def __init__(self) -> None:
        self._started: dict[str, int] = {}
        self._events: deque[tuple[int, Missed, str | None]] = deque()
        self._sequence = 0

    def __contains__(self, uid: str) -> bool:
        return uid in self._started

    def __len__(self) -> int:
        return len(self._started)

    @property
    def event_count(self) -> int:
        return len(self._events)

    def start(self, uid: str) -> None:
        self._started[uid] = self._sequence

    def record(self, event: ClusterEvent, uid: str | None = None, *, old: Any = None, new: Any = None) -> None:
        """Remember an event, for everyone in flight or for one pod."""
        if self._started:
            self._events.append((self._sequence, Missed(event, old, new), uid))
            self._sequence += 1

    def events_since_start(self, uid: str) -> Iterator[Missed]:
        """The events that the pod may have missed, oldest first."""
        started = self._started.get(uid)
        if started is not None:
            for sequence, missed, target in self._events:
                if sequence >= started and target in (None, uid):
                    yield missed

    def done(self, uid: str) -> None:
        """Forget the pod, and the events that nobody waits for any more."""
        if self._started.pop(uid, None) is None or not self._events:
            return
        # Pods start in the order of their sequence numbers, so the first one left is the oldest.
        oldest = next(iter(self._started.values()), self._sequence)
        while self._events and self._events[0][0] < oldest:
            self._events.popleft()
