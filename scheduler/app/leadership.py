"""Leadership: the elector on a thread and an event loop of its own, so that no decision can keep a renewal waiting.

When leadership is lost the process ends, also when its main loop cannot be reached: then this thread ends it.
"""

from __future__ import annotations

import asyncio
import os
import threading
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog

from scheduler.kube.access import Right
from scheduler.kube.client import ApiClient
from scheduler.kube.elector import Elector, Terms
from scheduler.kube.fence import Fence, steady_seconds
from scheduler.kube.lease import LeaseLock
from scheduler.kube.lease_events import record_event
from scheduler.kube.timing import Timing

log = structlog.get_logger(__name__)

T = TypeVar("T")

END_SECONDS = 3.0
"""How long the process may take to end in order once it has lost the Lease."""
RELEASE_SECONDS = 5.0
TELL_SECONDS = 1.0
"""How long the end waits for the Event about it."""
EXIT_FAILURE = 1


@dataclass(frozen=True, kw_only=True)
class Candidacy:
    """What this process is a candidate for, and under which name; ``reporter`` is the controller that Events name."""

    namespace: str
    name: str
    terms: Terms
    hostname: str
    reporter: str

    @property
    def rights(self) -> tuple[Right, ...]:
        """What it takes; to create the Lease is needed only where there is none yet."""
        return tuple(
            Right(verb, "leases", "coordination.k8s.io", namespace=self.namespace, name=self.name)
            for verb in ("get", "update")
        )


class Leadership:
    """One candidacy, from ``start`` to ``close``. Every method is for the main loop.

    Args:
        client: the client of the thread, which nobody else uses.
        end: ends the process at once.

    Attributes:
        fence: open while this process may write.
        identity: the name under which it is a candidate.
    """

    def __init__(
        self,
        candidacy: Candidacy,
        client: ApiClient,
        *,
        end: Callable[[int], object] = os._exit,
    ) -> None:
        self.candidacy = candidacy
        self.identity = f"{candidacy.hostname}_{uuid.uuid4()}"
        self.fence = Fence(steady_seconds)
        self._client = client
        self._lock = LeaseLock(client, namespace=candidacy.namespace, name=candidacy.name)
        self._elector = Elector(
            self._lock,
            candidacy.terms,
            identity=self.identity,
            fence=self.fence,
            timing=Timing(monotonic=steady_seconds),
        )
        self._end = end
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="leadership", daemon=True)
        self._acquiring: asyncio.Task[None] | None = None
        self._holding: asyncio.Task[None] | None = None
        self._telling: asyncio.Task[None] | None = None

    @property
    def is_leader(self) -> bool:
        return self._elector.is_leader

    @property
    def slow_paths(self) -> int:
        """See Elector."""
        return self._elector.slow_paths

    def is_well(self) -> bool:
        """See Elector."""
        return self._elector.is_well()

    async def start(self) -> None:
        """Start the thread and take a first look at the Lease, before the caches are filled."""
        self._thread.start()
        await self._there(self._elector.look())

    async def acquire(self) -> bool:
        """Wait until this process leads. False when others may have led since ``start``: what was read before may be too old."""
        await self._there(self._acquire())
        return self._elector.was_free

    async def lost(self) -> None:
        """Wait for the end of it.

        Raises:
            LeadershipLost: this process does not lead any more, and must end.
        """
        await self._there(self._hold())

    async def release(self) -> None:
        """Stop leading: nothing is written from now on, and another candidate may begin at once."""
        self.fence.close()
        if self._thread.is_alive():
            await self._there(self._release())

    def close(self) -> None:
        """End the thread."""
        self.fence.close()
        if not self._thread.is_alive():
            self._loop.close()
            return
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(RELEASE_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # -------------------------------------------------------------------------------------------------- on its own thread

    async def _there(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self._loop))

    async def _acquire(self) -> None:
        self._acquiring = self._loop.create_task(self._elector.acquire())
        await self._acquiring
        # From here on, so that no turn of the main loop lies between the first renewal and the next.
        self._holding = self._loop.create_task(self._elector.hold())
        self._holding.add_done_callback(self._held)
        self._telling = self._loop.create_task(self._tell("became leader"))

    def _held(self, holding: asyncio.Task[None]) -> None:
        if holding.cancelled():
            return
        self.fence.close()
        log.error("leadership is lost; the process ends", lease=str(self._lock), reason=str(holding.exception()))
        self._loop.call_later(END_SECONDS, self._end, EXIT_FAILURE)
        self._telling = self._loop.create_task(self._tell("stopped leading"))

    async def _hold(self) -> None:
        assert self._holding is not None, "acquire it first"
        await asyncio.shield(self._holding)

    async def _release(self) -> None:
        was_leader = self._elector.is_leader
        await self._stop()
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                if not await self._elector.release():
                    log.warning(
                        "the Lease was not released; another candidate waits for its end", lease=str(self._lock)
                    )
                if was_leader:
                    await self._tell("stopped leading")
        except TimeoutError:
            log.warning("the Lease was not released in time", lease=str(self._lock))

    async def _stop(self) -> None:
        """Neither acquire nor renew any more."""
        for task in (self._acquiring, self._holding):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])

    async def _tell(self, what: str) -> None:
        await record_event(
            self._client,
            self._lock,
            note=f"{self.identity} {what}",
            reporter=self.candidacy.reporter,
            hostname=self.candidacy.hostname,
        )

    async def _close(self) -> None:
        await self._stop()
        if self._telling is not None:
            await asyncio.wait([self._telling], timeout=TELL_SECONDS)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._client.close()
