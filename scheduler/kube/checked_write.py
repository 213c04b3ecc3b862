"""A write that is never done twice and never taken for failed when it was not: what its answer does not tell is read back.

It is repeated unread only when it cannot have been processed. In every other doubt the object is read and compared.
kube-scheduler 1.37: binding cycle, retry of API calls.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Awaitable
from dataclasses import dataclass

import structlog

from scheduler.kube.jobs import Lane
from scheduler.kube.retry import Retries
from scheduler.kube.timing import Backoff, Timing
from scheduler.kube.transport import ApiError, Response, Transport, TransportFailure, error_of

log = structlog.get_logger(__name__)

READ_BACK_SECONDS = 0.1
LONGEST_READ_BACK_SECONDS = 5.0


@dataclass(slots=True)
class WriteCounters:
    """What happened so far; for metrics."""

    requests: int = 0
    failed: int = 0
    repeated: int = 0
    read_back: int = 0
    conflicts: int = 0  # answers 409: somebody else has written, or deletes it


class Found(enum.Enum):
    """What the object shows of a write that is in doubt: it was carried out, it was not, or it never can be."""

    WRITTEN = enum.auto()
    UNWRITTEN = enum.auto()
    OTHERWISE = enum.auto()


class Reading:
    """Whether objects can be read whose write is in doubt: a line in the log when that changes.

    Args:
        lost: the line when they cannot, any more.
        regained: the line when they can again.
    """

    def __init__(self, lost: str, regained: str) -> None:
        self._lost = lost
        self._regained = regained
        self._is_blind = False

    def fails(self, name: str, message: str) -> None:
        if not self._is_blind:
            log.error(self._lost, object=name, error=message)
        self._is_blind = True

    def works(self) -> None:
        if self._is_blind:
            log.info(self._regained)
        self._is_blind = False


class CheckedWrite(ABC):
    """One write, from the first request to the answer that its maker delivers, once.

    Args:
        key: jobs of one key run one after the other.
        path: of the object, to read it.
        name: of the object, for the log.
    """

    lane = Lane.BIND

    def __init__(
        self,
        transport: Transport,
        timing: Timing,
        counters: WriteCounters,
        reading: Reading,
        *,
        key: str,
        path: str,
        name: str,
    ) -> None:
        self.key = key
        self.outcome = ""
        self.transport = transport
        self.path = path
        self._name = name
        self._counters = counters
        self._reading = reading
        self._retries = Retries(timing.chance)
        self._timing = timing
        self._reads: Backoff | None = None
        # Set while it is unknown whether the last request was carried out; says what it was answered.
        self._doubt: str | None = None
        self._may_repeat = False
        self._is_repeated = False
        self._was_in_doubt = False

    def is_wanted(self) -> bool:
        """Whether the write is still to be done; asked right before it is sent, for as long as it is certain that it was not."""
        return True

    @abstractmethod
    def send(self) -> Awaitable[Response]:
        """Send the request; awaiting its answer raises TransportFailure when there is none."""

    @abstractmethod
    def find(self, body: bytes) -> Found:
        """Compare the object, as it was read, with what was to be written."""

    @abstractmethod
    def written(self, body: bytes) -> None:
        """It is done; ``body`` is the answer to the request, or the object as it was read."""

    @abstractmethod
    def failed(self, message: str) -> None:
        """It is certain that it was not done; the message is the API server's."""

    async def attempt(self) -> float | None:
        if self._doubt is None:
            wait_seconds = await self._try()
            if self._doubt is None:
                return wait_seconds
        return await self._read_back(self._doubt)

    async def _try(self) -> float | None:
        """Send the write. Afterwards it is decided, or to be repeated after the returned seconds, or in doubt."""
        # A request that got no answer may still be under way: then there is nothing to take back.
        if not self._was_in_doubt and not self.is_wanted():
            self.outcome = "withdrawn"
            return None
        self._counters.requests += 1
        self._counters.repeated += self._is_repeated
        self._is_repeated = True
        try:
            response = await self.send()
        except TransportFailure as failure:
            if failure.sent:
                self._doubt, self._may_repeat = failure.message, True
                return None
            return self._repeat(failure.message)
        status = response.status
        if status in (200, 201, 202):
            self.written(response.body)
            return None
        error = error_of(response)
        if status == 429:
            wait_seconds = self._retries.after_throttling(error.retry_after_seconds)
            return self._fail(error.message) if wait_seconds is None else wait_seconds
        if status == 503:
            # Whoever stands before the API server may say so of a request that it had passed on, so the last word is the object's.
            wait_seconds = self._retries.after_failure()
            if wait_seconds is None:
                self._doubt, self._may_repeat = error.message, False
            return wait_seconds
        self._counters.conflicts += status == 409
        if status == 409 or status >= 500 or status == 408:
            self._doubt, self._may_repeat = error.message, status != 409
            return None
        return self._fail(error.message)

    async def _read_back(self, doubt: str) -> float | None:
        """Look at the object. Until it is known what became of the write nothing is reported."""
        self._counters.read_back += 1
        self._was_in_doubt = True
        try:
            response = await self.transport.get(self.path)
        except TransportFailure:
            return self._next_read_seconds()
        if response.status == 200:
            self._reading.works()
            return self._compare(response.body, doubt)
        if response.status == 404:
            return self._fail(doubt)
        return self._cannot_read(error_of(response), response.status)

    def _cannot_read(self, error: ApiError, status: int) -> float:
        # Also a 403 says nothing of the object: a server that has just started may not know anybody's rights yet.
        if status not in (408, 429) and status < 500:
            self._reading.fails(self._name, error.message)
        return max(self._next_read_seconds(), error.retry_after_seconds or 0.0)

    def _next_read_seconds(self) -> float:
        if self._reads is None:  # hardly any write comes to this
            self._reads = Backoff(
                self._timing,
                initial_seconds=READ_BACK_SECONDS,
                maximum_seconds=LONGEST_READ_BACK_SECONDS,
                jitter=0.1,
            )
        return self._reads.next_seconds()

    def _compare(self, body: bytes, doubt: str) -> float | None:
        found = self.find(body)
        if found is Found.WRITTEN:
            self.written(body)
            return None
        if found is Found.UNWRITTEN and self._may_repeat:
            # Should the first request still be under way, it or this one finds the object written in this very way.
            self._doubt = None
            return self._repeat(doubt)
        return self._fail(doubt)

    def _repeat(self, message: str) -> float | None:
        wait_seconds = self._retries.after_failure()
        return self._fail(message) if wait_seconds is None else wait_seconds

    def _fail(self, message: str) -> float | None:
        self._counters.failed += 1
        self.failed(message)
        return None
