"""Puts configurations in force that are found while the scheduler runs, one at a time; the newest one counts.

::

    found --read--> Invalid
        --compared with the one in force--> RestartRequired
        --what it takes to read the cluster is asked for--> MissingPermission, asked again
        --informers are started, and synced--> the core --pods wait for a profile that would go--> InUse, tried again
                                                  '--> Applied

Whatever comes of it, the last good one stays in force until another one is good.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import structlog

from scheduler.app.generations import hash_of
from scheduler.app.rights import rights_needed
from scheduler.config.configuration import Configuration, ConfigurationError
from scheduler.config.restart import restart_fields
from scheduler.core.generation import Reload
from scheduler.kube.access import AccessReviewError, Right, missing_rights
from scheduler.kube.transport import Transport, TransportFailure
from scheduler.telemetry.configuration_metrics import APPLIED, REJECTED

log = structlog.get_logger(__name__)

INVALID = "Invalid"
RESTART_REQUIRED = "RestartRequired"
IN_USE = "InUse"
MISSING_PERMISSION = "MissingPermission"
REASONS = (INVALID, RESTART_REQUIRED, IN_USE, MISSING_PERMISSION)
ACCEPTED = "Applied"

IN_USE_AGAIN_SECONDS = 2.0
PERMISSION_AGAIN_SECONDS = 10.0
UNANSWERED_AGAIN_SECONDS = 2.0


class Verdict(NamedTuple):
    """What became of a configuration: ACCEPTED or one of REASONS, with what is told to people."""

    reason: str
    message: str

    @property
    def is_accepted(self) -> bool:
        return self.reason == ACCEPTED


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A configuration that was found.

    Attributes:
        source: where, for the log.
        read: makes a configuration of it, given the one in force; called on a thread. Raises ConfigurationError.
        answer: told of each verdict that differs from the one before.
    """

    source: str
    read: Callable[[Configuration], Configuration]
    answer: Callable[[Verdict], None] = lambda _verdict: None


class Target(Protocol):
    """A running scheduler."""

    @property
    def configuration(self) -> Configuration:
        """The one in force."""
        ...

    @property
    def rights(self) -> tuple[Right, ...]:
        """Those that are known to be granted."""
        ...

    async def prepare(self, configuration: Configuration) -> None:
        """Begin to watch what it needs besides, and wait until all of that is known."""
        ...

    async def switch(self, configuration: Configuration) -> Reload:
        """Put it in force for the next decision, or say why not."""
        ...


class Reloading:
    """Decides on candidates. ``counts`` are by (APPLIED or REJECTED, reason)."""

    def __init__(self, target: Target, transport: Transport) -> None:
        self._target = target
        self._transport = transport
        self._newest: Candidate | None = None
        self._news = asyncio.Event()
        self.counts: Counter[tuple[str, str]] = Counter()
        self.latest = Verdict(ACCEPTED, "")
        """Of the last one that was decided on."""

    def offer(self, candidate: Candidate) -> None:
        """Decide on this one next; one that is being decided on, or tried again, is given up."""
        self._newest = candidate
        self._news.set()

    async def run(self) -> None:
        """Decide on what is offered, until cancelled."""
        deciding: asyncio.Task[None] | None = None
        try:
            while True:
                waiting = asyncio.create_task(self._news.wait())
                try:
                    await asyncio.wait(
                        [waiting, *([] if deciding is None else [deciding])], return_when=asyncio.FIRST_COMPLETED
                    )
                finally:
                    waiting.cancel()
                if deciding is not None and deciding.done():
                    deciding.result()
                    deciding = None
                if not self._news.is_set():
                    continue
                self._news.clear()
                if deciding is not None:
                    deciding.cancel()
                    await asyncio.wait([deciding])
                assert self._newest is not None
                deciding = asyncio.create_task(self._decide(self._newest))
        finally:
            if deciding is not None:
                deciding.cancel()

    async def _decide(self, candidate: Candidate) -> None:
        """Until there is nothing that could change by itself."""
        told: Verdict | None = None
        while True:
            try:
                verdict = await self._try(candidate)
            except (TransportFailure, AccessReviewError) as error:
                log.warning("cannot ask the API server for our rights; will retry", error=str(error))
                await asyncio.sleep(UNANSWERED_AGAIN_SECONDS)
                continue
            if verdict != told:
                self._tell(candidate, verdict, is_new=told is None or told.reason != verdict.reason)
                told = verdict
            if verdict.reason == IN_USE:
                await asyncio.sleep(IN_USE_AGAIN_SECONDS)
            elif verdict.reason == MISSING_PERMISSION:
                await asyncio.sleep(PERMISSION_AGAIN_SECONDS)
            else:
                return

    def _tell(self, candidate: Candidate, verdict: Verdict, *, is_new: bool) -> None:
        self.latest = verdict
        if is_new:
            self.counts[
                APPLIED if verdict.is_accepted else REJECTED, "" if verdict.is_accepted else verdict.reason
            ] += 1
        if verdict.is_accepted:
            log.info("a configuration is in force", source=candidate.source, detail=verdict.message)
        else:
            log.error(
                "a configuration was refused; the last good one stays in force",
                source=candidate.source,
                reason=verdict.reason,
                detail=verdict.message,
            )
        candidate.answer(verdict)

    async def _try(self, candidate: Candidate) -> Verdict:
        running = self._target.configuration
        try:
            wanted = await asyncio.to_thread(candidate.read, running)
            needed = rights_needed(wanted)
        except ConfigurationError as error:
            return Verdict(INVALID, "\n".join(error.errors))
        except ValueError as error:
            return Verdict(INVALID, str(error))
        for warning in wanted.warnings:
            log.warning("configuration", detail=warning)
        if hash_of(wanted) == hash_of(running):
            return Verdict(ACCEPTED, self._in_force(running))
        fields = restart_fields(running, wanted)
        if fields:
            named = ", ".join(fields)
            return Verdict(RESTART_REQUIRED, f"{named}: takes effect when a process starts; nothing of it is in force")
        known = self._target.rights
        asked = [one for one in needed if one not in known]
        missing = await missing_rights(self._transport, asked) if asked else []
        if missing:
            return Verdict(MISSING_PERMISSION, f"this identity may not: {'; '.join(missing)}")
        await self._target.prepare(wanted)
        reload = await self._target.switch(wanted)
        if reload.refused:
            return Verdict(IN_USE, reload.refused)
        return Verdict(ACCEPTED, self._in_force(wanted))

    def _in_force(self, configuration: Configuration) -> str:
        names = ", ".join(profile.scheduler_name for profile in configuration.profiles)
        return f"in force with profiles {names} (hash {hash_of(configuration)})"
