"""Leader election over one Lease, by its observer's own clock alone (kube-scheduler 1.37: leader election).

Who does not lead waits until the Lease has not changed for as long as it says, by the clock of who waits; times of other machines are not
believed. Who leads renews it each retryPeriod and has lost it, whatever it says, when renewDeadline went by since the last renewal
was sent. Unlike there, that counts from the renewal and not from one retryPeriod later, and a leader that sees another name in the
Lease stops at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import structlog

from scheduler.kube.fence import Fence
from scheduler.kube.lease import LeaseError, LeaseRecord, record_of
from scheduler.kube.timing import Timing

log = structlog.get_logger(__name__)

Write: TypeAlias = Callable[[LeaseRecord], Awaitable[None]]

JITTER_FACTOR = 1.2
WATCHDOG_SECONDS = 20.0
"""How much longer than its duration a Lease may go without renewal until the health check of a leader fails."""
RELEASE_ATTEMPTS = 5


class LeadershipLost(Exception):
    """This process led and does not any more, or cannot know that it does. It has to end."""


class Lock(Protocol):
    """What an election is held over: a LeaseLock, or a test's."""

    async def get(self) -> LeaseRecord | None: ...

    async def create(self, record: LeaseRecord) -> None: ...

    async def update(self, record: LeaseRecord) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The times of an election, in seconds."""

    lease_duration_seconds: float = 15.0
    renew_deadline_seconds: float = 10.0
    retry_period_seconds: float = 2.0


class Elector:
    """One candidate. First ``look``, then ``acquire``, then ``hold``, at the end ``release``.

    Attributes:
        is_leader: whether it holds the Lease as far as it knows; the fence is the stricter one.
        slow_paths: renewals for which the Lease had to be read, since writing what was last known of it had failed.
        was_free: whether the Lease was free when it was first looked at and stayed as it was until it was acquired. Then nobody has
            led, and so nobody has bound a pod, since that first look.
    """

    def __init__(self, lock: Lock, terms: Terms, *, identity: str, fence: Fence, timing: Timing) -> None:
        """Prepare; nothing is read yet. ``timing.monotonic`` is the clock of the fence."""
        self.identity = identity
        self.is_leader = False
        self.slow_paths = 0
        self.was_free = False
        self._lock = lock
        self._terms = terms
        self._fence = fence
        self._timing = timing
        # A request that hangs must leave time for another one.
        self._request_seconds = terms.renew_deadline_seconds / 2
        self._observed: LeaseRecord | None = None
        self._observed_at = 0.0
        self._renewed_at = 0.0
        self._reported_holder: str | None = None
        self._complaint: str | None = None

    def is_well(self) -> bool:
        """False for a leader that should have ended long ago."""
        tolerated = self._terms.lease_duration_seconds + WATCHDOG_SECONDS
        return not self.is_leader or self._timing.monotonic() - self._renewed_at <= tolerated

    async def look(self) -> None:
        """Read the Lease, before anything else is read: see ``was_free``. That it cannot be read is no failure yet."""
        await self._ask(self._first_look())

    async def acquire(self) -> None:
        """Wait until the Lease is ours."""
        log.info("attempting to acquire the leader Lease", lease=str(self._lock), identity=self.identity)
        while not await self._try():
            await self._timing.sleep(self._terms.retry_period_seconds * (1.0 + JITTER_FACTOR * self._timing.chance()))
        self.is_leader = True
        log.info("acquired the leader Lease", lease=str(self._lock), identity=self.identity)

    async def hold(self) -> None:
        """Renew the Lease for as long as it can be.

        Raises:
            LeadershipLost: it could not be renewed in time, or somebody else has it.
        """
        pause_seconds = self._terms.retry_period_seconds
        while True:
            await self._timing.sleep(max(0.0, min(pause_seconds, self._fence.remaining_seconds)))
            if self._fence.remaining_seconds <= 0.0:
                raise self._lost(f"it was not renewed within {self._terms.renew_deadline_seconds:g} s")
            began = self._timing.monotonic()
            pause_seconds = self._terms.retry_period_seconds
            if await self._try():
                continue
            if self._observed is not None and self._observed.holder != self.identity:
                raise self._lost(f"it is held by {self._observed.holder or 'nobody'}")
            # An attempt that hung has taken the time of the pause.
            pause_seconds -= self._timing.monotonic() - began

    async def release(self) -> bool:
        """Give the Lease up, so that another candidate need not wait for its end; whether it is given up or was not ours."""
        # Also when it does not lead as far as it knows: it may have been interrupted while it acquired the Lease.
        self._fence.close()
        self.is_leader = False
        for _ in range(RELEASE_ATTEMPTS):
            released = await self._ask(self._release())
            if released is not None:
                return released
        return False

    # ---------------------------------------------------------------------------------------------------------- attempts

    async def _try(self) -> bool:
        """Acquire or renew, once. The fence counts from before the request: whenever it was carried out, that was later."""
        now = self._timing.monotonic()
        if await self._ask(self._acquire_or_renew(now)) is not True:
            return False
        self._renewed_at = now
        self._fence.open_until(now + self._terms.renew_deadline_seconds)
        return True

    async def _ask(self, attempt: Awaitable[bool]) -> bool | None:
        """The answer of an attempt; None when it failed. A line in the log when that changes."""
        seconds = self._request_seconds
        if self.is_leader:
            seconds = min(seconds, self._fence.remaining_seconds)
        try:
            async with asyncio.timeout(seconds):
                answer = await attempt
        except TimeoutError:
            self._complain("no answer in time")
            return None
        except LeaseError as error:
            self._complain(error.message, code=error.code)
            return None
        if self._complaint is not None:
            log.info("the leader Lease can be read and written again", lease=str(self._lock))
            self._complaint = None
        return answer

    async def _first_look(self) -> bool:
        record = await self._lock.get()
        self._observe(record or LeaseRecord())
        self.was_free = record is None or not record.holder
        return True

    async def _acquire_or_renew(self, now: float) -> bool:
        record = record_of(self.identity, self._terms.lease_duration_seconds, self._timing.now())
        known = self._observed
        if self.is_leader and known is not None:
            try:
                await self._write(self._lock.update, _renewed(record, known))
            except LeaseError as error:
                log.debug("the Lease was not as expected; reading it", lease=str(self._lock), error=error.message)
            else:
                return True
        found = await self._lock.get()
        if found is None:
            await self._write(self._lock.create, record)
            return True
        self._observe(found)
        if found.holder == self.identity:
            self.slow_paths += 1
            await self._write(self._lock.update, _renewed(record, found))
            return True
        if self.is_leader or (found.holder and self._observed_at + found.duration_seconds > now):
            return False
        await self._write(self._lock.update, record._replace(transitions=found.transitions + 1))
        return True

    async def _write(self, write: Write, record: LeaseRecord) -> None:
        await write(record)
        self._observed, self._observed_at = record, self._timing.monotonic()
        self._report(record.holder)

    def _observe(self, found: LeaseRecord) -> None:
        """Take note of what the Lease says; the time counts from when it first said so."""
        if found == self._observed:
            return
        self.was_free = False
        self._observed, self._observed_at = found, self._timing.monotonic()
        self._report(found.holder)

    async def _release(self) -> bool:
        found = await self._lock.get()
        if found is None or found.holder != self.identity:
            return True
        record = record_of("", 1.0, self._timing.now())
        await self._lock.update(record._replace(transitions=found.transitions))
        log.info("released the leader Lease", lease=str(self._lock))
        return True

    # -------------------------------------------------------------------------------------------------------------- log

    def _report(self, holder: str) -> None:
        if holder != self._reported_holder:
            log.info("leader", lease=str(self._lock), holder=holder)
        self._reported_holder = holder

    def _complain(self, message: str, *, code: int = 0) -> None:
        if message != self._complaint and code != 409:
            log.warning("cannot read or write the leader Lease; will retry", lease=str(self._lock), error=message)
        self._complaint = message

    def _lost(self, why: str) -> LeadershipLost:
        self.is_leader = False
        self._fence.close()
        return LeadershipLost(f"the Lease {self._lock} is lost: {why}")


def _renewed(record: LeaseRecord, before: LeaseRecord) -> LeaseRecord:
    """A record of the same term as the one before."""
    return record._replace(acquire_time=before.acquire_time, transitions=before.transitions)
