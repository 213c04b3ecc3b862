"""Reads single pods that have left what is watched, to see how they ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import structlog

from scheduler.core.instruction import ReadPod
from scheduler.core.stimulus import PodRead, Stimulus
from scheduler.kube.jobs import Lane
from scheduler.kube.retry import Retries
from scheduler.kube.timing import Timing
from scheduler.kube.transport import Transport, TransportFailure, error_of

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class PodReaderCounters:
    """What happened so far; for metrics."""

    read: int = 0
    gone: int = 0
    failed: int = 0


class _Metadata(msgspec.Struct, frozen=True):
    uid: str = ""


class _Status(msgspec.Struct, frozen=True):
    phase: str = ""
    reason: str = ""
    message: str = ""


class _EndedPod(msgspec.Struct, frozen=True):
    """The little of a pod that tells how it ended."""

    metadata: _Metadata = _Metadata()
    status: _Status = _Status()


_DECODER = msgspec.json.Decoder(_EndedPod)


class PodReader:
    """Makes a job of each read; the job delivers PodRead, once."""

    def __init__(self, transport: Transport, deliver: Callable[[Stimulus], None], timing: Timing) -> None:
        self.transport = transport
        self.deliver = deliver
        self.timing = timing
        self.counters = PodReaderCounters()

    def job(self, instruction: ReadPod) -> ReadJob:
        return ReadJob(self, instruction)


class ReadJob:
    """One read, repeated a few times when the API server does not answer it."""

    lane = Lane.STATUS

    def __init__(self, reader: PodReader, instruction: ReadPod) -> None:
        self.key = instruction.pod.uid
        self.outcome = ""
        self._reader = reader
        self._pod = instruction.pod
        self._retries = Retries(reader.timing.chance)

    async def attempt(self) -> float | None:
        pod = self._pod
        try:
            response = await self._reader.transport.get(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}")
        except TransportFailure as failure:
            return self._repeat(failure.message)
        if response.status == 200:
            return self._found(response.body)
        if response.status == 404:
            return self._gone()
        error = error_of(response)
        if response.status == 429:
            wait_seconds = self._retries.after_throttling(error.retry_after_seconds)
            return self._failed(error.message) if wait_seconds is None else wait_seconds
        if response.status >= 500:
            return self._repeat(error.message)
        return self._failed(error.message)

    def _found(self, body: bytes) -> float | None:
        try:
            found = _DECODER.decode(body)
        except msgspec.DecodeError as error:
            return self._failed(str(error))
        if found.metadata.uid != self._pod.uid:
            return self._gone()
        self.outcome = "read"
        self._reader.counters.read += 1
        status = found.status
        return self._answer(status.phase, status.reason, status.message)

    def _gone(self) -> float | None:
        self.outcome = "pod_gone"
        self._reader.counters.gone += 1
        return self._answer()

    def _repeat(self, message: str) -> float | None:
        wait_seconds = self._retries.after_failure()
        return self._failed(message) if wait_seconds is None else wait_seconds

    def _failed(self, message: str) -> float | None:
        self.outcome = "failed"
        self._reader.counters.failed += 1
        log.warning("Cannot read how a pod ended", pod=f"{self._pod.namespace}/{self._pod.name}", error=message)
        return self._answer()

    def _answer(self, phase: str = "", reason: str = "", message: str = "") -> float | None:
        now = self._reader.timing.now()
        self._reader.deliver(PodRead(now=now, uid=self._pod.uid, phase=phase, reason=reason, message=message))
        return None
