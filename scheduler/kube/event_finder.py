"""Looks whether there is any Event about a pod."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

import msgspec
import structlog

from scheduler.core.instruction import FindEvents
from scheduler.core.stimulus import EventsFound, Stimulus
from scheduler.kube.jobs import Lane
from scheduler.kube.retry import Retries
from scheduler.kube.timing import Timing
from scheduler.kube.transport import Transport, TransportFailure, error_of

log = structlog.get_logger(__name__)


class _List(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw] | None = None


_DECODER = msgspec.json.Decoder(_List)


class EventFinder:
    """Makes a job of each look; the job delivers EventsFound, once. Who may not look says so once in the log."""

    def __init__(self, transport: Transport, deliver: Callable[[Stimulus], None], timing: Timing) -> None:
        self.transport = transport
        self.deliver = deliver
        self.timing = timing
        self.last_error = ""

    def job(self, instruction: FindEvents) -> FindJob:
        return FindJob(self, instruction)


class FindJob:
    """One look, repeated a few times when the API server does not answer it."""

    lane = Lane.STATUS

    def __init__(self, finder: EventFinder, instruction: FindEvents) -> None:
        self.key = instruction.pod.uid
        self.outcome = ""
        self._finder = finder
        self._pod = instruction.pod
        self._retries = Retries(finder.timing.chance)

    async def attempt(self) -> float | None:
        pod = self._pod
        # The core API and events.k8s.io show the same Events; this selector the core API has.
        query = urlencode({"fieldSelector": f"involvedObject.uid={pod.uid}", "limit": "1"})
        try:
            response = await self._finder.transport.get(f"/api/v1/namespaces/{pod.namespace}/events?{query}")
        except TransportFailure as failure:
            return self._repeat(failure.message)
        if response.status == 200:
            try:
                items = _DECODER.decode(response.body).items
            except msgspec.DecodeError as error:
                return self._failed(str(error))
            self.outcome = "read"
            self._finder.last_error = ""
            return self._answer(has_events=bool(items))
        refused = error_of(response)
        if response.status == 429:
            wait_seconds = self._retries.after_throttling(refused.retry_after_seconds)
            return self._failed(refused.message) if wait_seconds is None else wait_seconds
        return self._repeat(refused.message) if response.status >= 500 else self._failed(refused.message)

    def _repeat(self, message: str) -> float | None:
        wait_seconds = self._retries.after_failure()
        return self._failed(message) if wait_seconds is None else wait_seconds

    def _failed(self, message: str) -> float | None:
        """Who does not know of any Event warns of nothing."""
        self.outcome = "failed"
        if self._finder.last_error != message:
            self._finder.last_error = message
            log.warning("Cannot look for Events, so nobody is warned of a mistyped schedulerName", error=message)
        return self._answer(has_events=True)

    def _answer(self, *, has_events: bool) -> float | None:
        now = self._finder.timing.now()
        self._finder.deliver(EventsFound(now=now, uid=self._pod.uid, has_events=has_events))
        return None
