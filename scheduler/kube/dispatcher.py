"""Carries out the core's instructions: bounded in number, in order for each pod, binds before the rest but not alone.

Instructions go in through ``submit``, in the event loop, and never block. PodBound, BindFailed, ObjectPatched, ObjectPatchFailed,
PodRead and EventsFound come back through ``deliver``. What a bind waits for goes in the lane of binds.
kube-scheduler 1.37: binding cycle, API dispatcher.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from scheduler.core.instruction import (
    BindPod,
    FindEvents,
    Instruction,
    PatchObject,
    PatchPodStatus,
    PreemptPod,
    ReadPod,
    RecordEvent,
)
from scheduler.core.stimulus import Stimulus
from scheduler.kube.binder import Binder
from scheduler.kube.event_finder import EventFinder
from scheduler.kube.events import MAX_QUEUED, EventJob, EventRecorder
from scheduler.kube.jobs import Job, Lane, LaneQueues
from scheduler.kube.patcher import Patcher
from scheduler.kube.pod_reader import PodReader
from scheduler.kube.preemptor import Preemptor
from scheduler.kube.status import StatusJob, StatusWriter
from scheduler.kube.timing import Timing, TokenBucket
from scheduler.kube.transport import Transport

ObserveJob: TypeAlias = Callable[[str, str, float], None]

MAINTENANCE_SECONDS = 60.0
DRAIN_PATIENCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How much the dispatcher does at once.

    ``in_flight`` is the number of requests under way. Of Events, ``queued_events`` may wait, and more are dropped;
    ``events_per_second`` are sent on average and ``event_burst`` at once.
    """

    in_flight: int = 64
    queued_events: int = MAX_QUEUED
    events_per_second: float = 1000.0
    event_burst: int = 1000


class Unfinished(NamedTuple):
    """What ``drain`` had to leave undone."""

    binds: int
    status_patches: int
    events: int


class Dispatcher:
    """Sends what is submitted. ``run`` must be running for failures of this code itself to come to light."""

    def __init__(
        self,
        transport: Transport,
        deliver: Callable[[Stimulus], None],
        *,
        hostname: str,
        timing: Timing | None = None,
        limits: Limits | None = None,
        observe: ObserveJob | None = None,
        may_bind: Callable[[str], bool] = lambda _uid: True,
    ) -> None:
        """Set up; nothing is sent yet.

        Args:
            transport: where requests go.
            deliver: called with the answer to each BindPod, PatchObject, PreemptPod and ReadPod, once.
            hostname: of this process, for ``reportingInstance`` of Events.
            timing: time and chance.
            limits: how much to do at once.
            observe: called when a job ends, with its lane (``bind``, ``status``, ``event``), its outcome and the seconds since
                it was submitted. Outcomes: bound, written, failed, withdrawn; written, pod_gone, failed; written, rejected,
                gave_up.
            may_bind: see Binder.
        """
        self._timing = timing or Timing()
        limits = limits or Limits()
        self.binder = Binder(transport, deliver, self._timing, may_bind)
        self.patcher = Patcher(transport, deliver, self._timing)
        self.preemptor = Preemptor(transport, deliver, self._timing)
        self.pod_reader = PodReader(transport, deliver, self._timing)
        self.event_finder = EventFinder(transport, deliver, self._timing)
        self.status = StatusWriter(transport, self._timing)
        self.events = EventRecorder(
            transport, self._timing, self._submit, hostname=hostname, max_queued=limits.queued_events
        )
        self._queues = LaneQueues(limits.in_flight)
        self._max_in_flight = limits.in_flight
        self._enough_binds = limits.in_flight + max(1, limits.in_flight // 4)
        self._in_flight = 0
        self._unfinished = [0] * len(Lane)
        self._bucket = TokenBucket(self._timing, per_second=limits.events_per_second, burst=limits.event_burst)
        self._observe = observe
        # By key: the job that may run, then those behind it. Mostly there is one, for which a deque would be large.
        self._chains: dict[str, list[Job]] = {}
        self._since: dict[Job, float] = {}
        self._delayed: dict[Job, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._event_timer: asyncio.TimerHandle | None = None
        self._failure: BaseException | None = None
        self._failed = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_draining = False

    # --------------------------------------------------------------------------------------------------------------- use

    def submit(self, instruction: Instruction) -> None:
        """Take an instruction; it is carried out as soon as its turn comes."""
        match instruction:
            case BindPod():
                self._submit(self.binder.job(instruction))
            case PatchObject():
                self._submit(self.patcher.job(instruction))
            case PreemptPod():
                self._submit(self.preemptor.job(instruction))
            case PatchPodStatus():
                chain = self._chains.get(instruction.pod.uid)
                if chain and isinstance(chain[-1], StatusJob) and chain[-1].merge(instruction):
                    return
                self._submit(self.status.job(instruction))
            case ReadPod():
                self._submit(self.pod_reader.job(instruction))
            case FindEvents():
                self._submit(self.event_finder.job(instruction))
            case RecordEvent():
                self.events.record(instruction)

    @property
    def in_flight(self) -> int:
        """Requests under way."""
        return self._in_flight

    @property
    def unfinished(self) -> Unfinished:
        """Jobs that wait or are under way, by lane."""
        return Unfinished(*self._unfinished)

    def has_room(self) -> bool:
        """Whether another bind would soon be under way.

        Enough may wait to keep the slots filled; a decision made before it can be carried out is a decision on old news.
        """
        return self._unfinished[Lane.BIND] < self._enough_binds

    async def run(self) -> None:
        """Keep Event series up to date until cancelled.

        Raises:
            Exception: what this code, or ``deliver``, raised while a job ran: a bug, not an answer of the API server.
        """
        while True:
            try:
                async with asyncio.timeout(MAINTENANCE_SECONDS):
                    await self._failed.wait()
            except TimeoutError:
                self.events.maintain()
            if self._failure is not None:
                raise self._failure

    async def drain(self, seconds: float) -> Unfinished:
        """Finish what was submitted, Event counts included, within so many seconds; then cancel and report what is left.

        An Event that fails meanwhile is given up unless its next attempt comes soon.
        """
        self._is_draining = True
        for job in [job for job in self._delayed if job.lane is Lane.EVENT]:
            self._delayed.pop(job).cancel()
            self._wait(job, DRAIN_PATIENCE_SECONDS)
        self.events.flush()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._since:
                    await self._idle.wait()
                    await asyncio.sleep(0)  # the answer of the last bind leads to an Event
        unfinished = self.unfinished
        await self.close()
        return unfinished

    async def close(self) -> None:
        """Cancel what is under way. Whether a cancelled bind was carried out is for the next start to find out."""
        self._max_in_flight = 0
        for timer in self._delayed.values():
            timer.cancel()
        if self._event_timer is not None:
            self._event_timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -------------------------------------------------------------------------------------------------------------- jobs

    def _submit(self, job: Job) -> None:
        self._since[job] = self._timing.monotonic()
        self._unfinished[job.lane] += 1
        self._idle.clear()
        chain = self._chains.get(job.key)
        if chain is None:
            self._chains[job.key] = [job]
            self._queues.add(job)
            self._start_jobs()
        else:
            chain.append(job)

    def _start_jobs(self) -> None:
        """Fill the free slots."""
        while (job := self._next_job()) is not None:
            task = asyncio.get_running_loop().create_task(self._run_jobs(job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _next_job(self) -> Job | None:
        """The job that is to start now, if there is one and a slot for it; it has the slot then."""
        if self._in_flight >= self._max_in_flight:
            return None
        job = self._queues.choose(may_send_event=self._may_send_event)
        if job is None:
            self._wait_for_bucket()
            return None
        if job.lane is Lane.EVENT:
            self._bucket.take()
        self._in_flight += 1
        return job

    def _may_send_event(self) -> bool:
        return self._bucket.wait_seconds() <= 0.0

    def _wait_for_bucket(self) -> None:
        """Nothing but the rate limit holds an Event back: look again when it allows one."""
        if self._event_timer is None and self._queues.has_event():
            loop = asyncio.get_running_loop()
            self._event_timer = loop.call_later(self._bucket.wait_seconds(), self._bucket_filled)

    def _bucket_filled(self) -> None:
        self._event_timer = None
        self._start_jobs()

    async def _run_jobs(self, job: Job | None) -> None:
        """Carry out a job, then whatever comes next, for as long as there is anything: a task costs more than a turn of this loop."""
        while job is not None:
            wait_seconds: float | None = None
            try:
                wait_seconds = await job.attempt()
            except Exception as error:  # noqa: BLE001 - whatever it is, `run` raises it
                self._failure = self._failure or error
                self._failed.set()
            finally:
                self._in_flight -= 1
                self._queues.in_flight[job.lane] -= 1
            if wait_seconds is None:
                self._end(job)
            else:
                self._wait(job, wait_seconds)
            job = self._next_job()
            if job is not None:
                # What has ended may let more than one start: its lane was full, and its chain goes on in another.
                self._start_jobs()

    def _wait(self, job: Job, seconds: float) -> None:
        if self._is_draining and isinstance(job, EventJob) and seconds >= DRAIN_PATIENCE_SECONDS:
            job.give_up()
            self._end(job)
            return
        self._delayed[job] = asyncio.get_running_loop().call_later(seconds, self._try_again, job)

    def _try_again(self, job: Job) -> None:
        del self._delayed[job]
        self._queues.add_first(job)
        self._start_jobs()

    def _end(self, job: Job) -> None:
        since = self._since.pop(job)
        self._unfinished[job.lane] -= 1
        chain = self._chains[job.key]
        if len(chain) > 1:
            del chain[0]
            self._queues.add(chain[0])
        else:
            del self._chains[job.key]
        if self._observe is not None:
            self._observe(job.lane.name.lower(), job.outcome, self._timing.monotonic() - since)
        if not self._since:
            self._idle.set()
