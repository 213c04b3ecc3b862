"""Records Events about pods (``events.k8s.io/v1``): bounded, deduplicated, and never in the way of a bind.

Equal Events become one with a series, as kube-scheduler's do: the second occurrence is a patch of the first, later ones are counted and
written now and then. Unlike there, the queue and the memory of past Events have a bound, and what is dropped is counted.
kube-scheduler 1.37: event plumbing; KEP-383.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import structlog

from scheduler.api.micro_time import micro_time
from scheduler.core.instruction import RecordEvent
from scheduler.kube.jobs import Job, Lane
from scheduler.kube.retry import THROTTLED_SECONDS
from scheduler.kube.timing import Timing
from scheduler.kube.transport import STRATEGIC_MERGE_PATCH, ApiError, Response, Transport, TransportFailure, error_of

log = structlog.get_logger(__name__)

# One waiting Event takes about a kilobyte. kube-scheduler's queue of 1000 would lose half of the Events of a burst of 3,000 binds here,
# because binds go first.
MAX_QUEUED = 10_000
MAX_SERIES = 4096
ATTEMPTS = 12
RETRY_SECONDS = 10.0
RETRY_JITTER = 0.25
REFRESH_SECONDS = 30 * 60.0
FINISH_SECONDS = 6 * 60.0
_ENCODER = msgspec.json.Encoder()
_LONGEST_NAME = 253
_LONGEST_INSTANCE = 128  # the API server refuses longer ones


@dataclass(slots=True)
class EventCounters:
    """What happened so far; for metrics."""

    recorded: int = 0  # asked for by the core
    written: int = 0  # requests that created or updated an Event
    repeated: int = 0  # occurrences that became part of a series instead of an Event
    dropped: int = 0  # because the queue was full
    rejected: int = 0  # by the API server, for good
    gave_up: int = 0  # after all attempts, or at shutdown


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    name: str
    namespace: str


class _Regarding(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    namespace: str
    name: str
    uid: str
    resource_version: str
    api_version: str = "v1"
    kind: str = "Pod"


class _Event(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``events.k8s.io/v1`` Event."""

    metadata: _Metadata
    event_time: str
    reporting_controller: str
    reporting_instance: str
    action: str
    reason: str
    regarding: _Regarding
    note: str
    type: str
    series: dict[str, Any] | msgspec.UnsetType
    api_version: str = "events.k8s.io/v1"
    kind: str = "Event"


class _Identity(NamedTuple):
    """What makes two Events the same: all but the note and the time."""

    type: str
    reason: str
    action: str
    controller: str
    namespace: str
    name: str
    uid: str
    resource_version: str


class _Series:
    """One Event and how often it occurred."""

    __slots__ = ("count", "instruction", "is_created", "is_queued", "last_seen", "name", "written_at", "written_count")

    def __init__(self, instruction: RecordEvent, name: str) -> None:
        self.instruction = instruction
        self.name = name
        self.count = 1
        self.last_seen = instruction.now
        self.is_created = False
        self.is_queued = False
        self.written_count = 0
        self.written_at = instruction.now


class EventRecorder:
    """Turns RecordEvent instructions into jobs for ``submit``."""

    def __init__(
        self,
        transport: Transport,
        timing: Timing,
        submit: Callable[[Job], None],
        *,
        hostname: str,
        max_queued: int = MAX_QUEUED,
        max_series: int = MAX_SERIES,
    ) -> None:
        self.transport = transport
        self.timing = timing
        self.counters = EventCounters()
        self.queued = 0
        self._submit = submit
        self._hostname = hostname
        self._max_queued = max_queued
        self._max_series = max_series
        self._series: OrderedDict[_Identity, _Series] = OrderedDict()  # the longest unseen first
        self._last_nanoseconds = 0
        self._is_dropping = False
        self._is_failing = False

    def record(self, instruction: RecordEvent) -> None:
        """Queue an Event, or count it into the series of an equal one; drops it when the queue is full."""
        self.counters.recorded += 1
        pod = instruction.pod
        identity = _Identity(
            instruction.type,
            instruction.reason,
            instruction.action,
            instruction.controller,
            pod.namespace,
            pod.name,
            pod.uid,
            pod.resource_version,
        )
        series = self._series.get(identity)
        if series is not None:
            self.counters.repeated += 1
            series.count += 1
            series.last_seen = instruction.now
            self._series.move_to_end(identity)
            if series.count == 2 and series.is_created:
                self._queue(series)
            return
        series = _Series(instruction, self._name(instruction))
        if not self._queue(series):
            self.counters.dropped += 1
            return
        self._series[identity] = series
        if len(self._series) > self._max_series:
            _, oldest = self._series.popitem(last=False)
            self._write_rest(oldest)

    def maintain(self) -> None:
        """Write series that have grown since half an hour, and forget Events unseen for six minutes; call it each minute or so."""
        now = self.timing.now()
        while self._series:
            identity, series = next(iter(self._series.items()))
            if now - series.last_seen < FINISH_SECONDS:
                break
            del self._series[identity]
            self._write_rest(series)
        for series in self._series.values():
            if now - series.written_at >= REFRESH_SECONDS:
                self._write_rest(series)

    def flush(self) -> None:
        """Queue all counts that have not been written: the process is about to end."""
        for series in self._series.values():
            self._write_rest(series)

    def _write_rest(self, series: _Series) -> None:
        if series.is_created and series.count > series.written_count:
            self._queue(series)

    def _queue(self, series: _Series) -> bool:
        if series.is_queued:
            return True
        if self.queued >= self._max_queued:
            if not self._is_dropping:
                log.warning("The Event queue is full; Events are dropped", queued=self.queued)
            self._is_dropping = True
            return False
        if self._is_dropping and self.queued <= self._max_queued // 2:
            # Not as soon as one has left: a queue that is full is full and not full many times a second.
            log.info("The Event queue has room again", dropped=self.counters.dropped)
            self._is_dropping = False
        self.queued += 1
        series.is_queued = True
        self._submit(EventJob(self, series))
        return True

    def _name(self, instruction: RecordEvent) -> str:
        """``POD.HEX`` with the time in hexadecimal, as all Kubernetes components name Events; never the same twice."""
        self._last_nanoseconds = max(self._last_nanoseconds + 1, int(instruction.now * 1e9))
        suffix = f".{self._last_nanoseconds:x}"
        return instruction.pod.name[: _LONGEST_NAME - len(suffix)].rstrip(".-") + suffix

    # ------------------------------------------------------------------------------------------------- called by the jobs

    def body_of(self, series: _Series) -> bytes:
        """The whole Event."""
        instruction = series.instruction
        pod = instruction.pod
        event = _Event(
            metadata=_Metadata(name=series.name, namespace=pod.namespace),
            event_time=micro_time(instruction.now),
            reporting_controller=instruction.controller,
            reporting_instance=f"{instruction.controller}-{self._hostname}"[:_LONGEST_INSTANCE],
            action=instruction.action,
            reason=instruction.reason,
            regarding=_Regarding(
                namespace=pod.namespace,
                name=pod.name,
                uid=pod.uid,
                resource_version=pod.resource_version,
            ),
            note=instruction.note,
            type=instruction.type,
            series=_series_of(series) if series.count > 1 else msgspec.UNSET,
        )
        return _ENCODER.encode(event)

    def finished(self, series: _Series, *, written_count: int) -> None:
        """An Event's job has ended; the second occurrence, if it came meanwhile, is worth a patch of its own."""
        self.queued -= 1
        series.is_queued = False
        if not written_count:
            return
        self.counters.written += 1
        series.written_count = written_count
        series.written_at = self.timing.now()
        if self._is_failing:
            log.info("Events can be written again", rejected=self.counters.rejected, gave_up=self.counters.gave_up)
        self._is_failing = False
        if written_count == 1 and series.count > 1:
            self._queue(series)

    def complain(self, series: _Series, message: str) -> None:
        if not self._is_failing:
            pod = series.instruction.pod
            log.warning(
                "Cannot write Event", pod=f"{pod.namespace}/{pod.name}", reason=series.instruction.reason, error=message
            )
        self._is_failing = True


class EventJob:
    """Writes one Event as it is by then."""

    lane = Lane.EVENT

    def __init__(self, recorder: EventRecorder, series: _Series) -> None:
        self.key = series.name
        self.outcome = ""
        self._recorder = recorder
        self._series = series
        self._attempts = 0

    async def attempt(self) -> float | None:
        series, transport = self._series, self._recorder.transport
        count = series.count
        path = f"/apis/events.k8s.io/v1/namespaces/{series.instruction.pod.namespace}/events"
        self._attempts += 1
        try:
            if series.is_created:
                body = msgspec.json.encode({"series": _series_of(series)})
                response = await transport.patch(f"{path}/{series.name}", body, STRATEGIC_MERGE_PATCH)
                if response.status == 404:  # it was old enough for the server to remove it
                    response = await transport.post(path, self._recorder.body_of(series))
            else:
                response = await transport.post(path, self._recorder.body_of(series))
        except TransportFailure as failure:
            return self._repeat(failure.message, RETRY_SECONDS)
        return self._judge(response, count)

    def give_up(self) -> None:
        """The process ends before the Event could be written."""
        self._recorder.counters.gave_up += 1
        self._end("gave_up")

    def _judge(self, response: Response, count: int) -> float | None:
        series = self._series
        if response.status in (200, 201):
            series.is_created = True
            self._end("written", written_count=count)
            return None
        error = error_of(response)
        if response.status == 409 and not series.is_created:
            # Its name is ours alone: an attempt whose answer was lost has created it.
            series.is_created = True
            if count > 1:
                return 0.0
            self._end("written", written_count=count)
            return None
        if response.status == 429:
            return self._repeat(error.message, error.retry_after_seconds or THROTTLED_SECONDS)
        if response.status >= 500 or response.status in (408, 409):
            return self._repeat(error.message, RETRY_SECONDS)
        self._recorder.counters.rejected += 1
        if not _is_terminating(error):
            self._recorder.complain(series, error.message)
        self._end("rejected")
        return None

    def _repeat(self, message: str, seconds: float) -> float | None:
        if self._attempts >= ATTEMPTS:
            self._recorder.complain(self._series, message)
            self.give_up()
            return None
        return seconds * (1.0 + RETRY_JITTER * self._recorder.timing.chance())

    def _end(self, outcome: str, *, written_count: int = 0) -> None:
        self.outcome = outcome
        self._recorder.finished(self._series, written_count=written_count)


def _is_terminating(error: ApiError) -> bool:
    """Events cannot be created in a namespace that is being deleted, which is nobody's fault."""
    return error.code == 403 and "NamespaceTerminating" in error.causes


def _series_of(series: _Series) -> dict[str, Any]:
    return {"count": series.count, "lastObservedTime": micro_time(series.last_seen)}
