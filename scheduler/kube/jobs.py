"""What the dispatcher carries out: jobs, each in one of three lanes, and how slots are shared between the lanes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import IntEnum
from typing import Protocol


class Lane(IntEnum):
    """Kinds of work that compete for slots, in the order in which they are preferred."""

    BIND = 0
    STATUS = 1
    EVENT = 2


_BIND, _STATUS, _EVENT = map(int, Lane)  # to look a member of an Enum up takes as long as a call


class Job(Protocol):
    """One instruction under way. Jobs of one ``key`` run one after the other, in the order of their submission."""

    @property
    def lane(self) -> Lane: ...

    @property
    def key(self) -> str: ...

    @property
    def outcome(self) -> str: ...

    async def attempt(self) -> float | None:
        """Try once: None when the job is finished, however it ended, else the seconds to wait before the next try.

        It holds a slot while it runs, and none while it waits.
        """


class LaneQueues:
    """Jobs ready to start, and the choice of the next one.

    Binds go first, but of any eight jobs started one is a status patch and one an Event whenever such wait: strict order would
    starve Events under a steady load. Neither may fill all slots, so that a bind never waits for a pile of them.
    """

    def __init__(self, slots: int) -> None:
        self._ready: tuple[deque[Job], ...] = tuple(deque() for _ in Lane)
        self._others = max(1, slots * 3 // 8)
        self._passed_over = [0] * len(Lane)
        self.in_flight = [0] * len(Lane)

    def add(self, job: Job) -> None:
        self._ready[job.lane].append(job)

    def add_first(self, job: Job) -> None:
        """Queue a job that has run before: it is older than all that wait."""
        self._ready[job.lane].appendleft(job)

    def waiting(self, lane: Lane) -> int:
        return len(self._ready[lane])

    def choose(self, *, may_send_event: Callable[[], bool]) -> Job | None:
        """Take the next job to start; None when none may start now. Whether an Event may be sent is asked only when one could be next."""
        passed_over, in_flight, others = self._passed_over, self.in_flight, self._others
        binds, statuses, events = self._ready
        can_status = statuses and in_flight[_STATUS] < others
        can_event = events and in_flight[_EVENT] < others
        if can_status and passed_over[_STATUS] >= 7:
            lane = _STATUS
        elif can_event and passed_over[_EVENT] >= 7 and may_send_event():
            lane = _EVENT
        elif binds:
            lane = _BIND
        elif can_status:
            lane = _STATUS
        elif can_event and may_send_event():
            lane = _EVENT
        else:
            return None
        passed_over[_BIND] += 1
        passed_over[_STATUS] += 1
        passed_over[_EVENT] += 1
        passed_over[lane] = 0
        self.in_flight[lane] += 1
        return self._ready[lane].popleft()

    def has_event(self) -> bool:
        """Whether an Event could start but for the rate limit."""
        return bool(self._ready[_EVENT]) and self.in_flight[_EVENT] < self._others
