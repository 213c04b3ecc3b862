"""Runtime: a scheduler connected to an API server, from start to stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from msgspec import structs

from scheduler.app.generations import change_to, generation_of
from scheduler.app.leadership import Leadership
from scheduler.app.loop import Loop
from scheduler.app.rights import resources_watched, rights_needed
from scheduler.config.configuration import Configuration
from scheduler.core.bind_check import is_touched
from scheduler.core.cycle import CycleResult
from scheduler.core.extenders import ExtenderFault
from scheduler.core.generation import Reload
from scheduler.core.instruction import AskExtender, Instruction, ReadPod
from scheduler.core.kubelet_rejections import KubeletRejection
from scheduler.core.measurements import CHECKED
from scheduler.core.scheduler import Scheduler
from scheduler.core.state import BadObject, Complaint, State
from scheduler.core.stimulus import BindDue, PodRead
from scheduler.core.story import Header, RecordingScheduler
from scheduler.kube.access import AccessReviewError, missing_rights
from scheduler.kube.dispatcher import Dispatcher, Unfinished
from scheduler.kube.extender import ExtenderCaller
from scheduler.kube.reflector import Reflector
from scheduler.kube.resources import AnyResource
from scheduler.kube.timing import Backoff, Timing
from scheduler.kube.transport import Transport, TransportFailure

log = structlog.get_logger(__name__)

BINDS_IN_FLIGHT = 256
"""Decisions run at most this far ahead of the API server's answers."""

DRAIN_SECONDS = 10.0
RIGHTS_RETRY_SECONDS = 10.0
RIGHTS_AGAIN_SECONDS = 60.0
"""How often our rights are looked at when all were there."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a finished run left undone."""

    unfinished: Unfinished


class Runtime:
    """Reflectors, loop and dispatcher around one scheduler.

    Args:
        seed: decides ties between equally good nodes.
        writer: where the decisions go, if not through ``transport``.
        leadership: decides when decisions begin; without one they begin when everything is known.
        write_story: receives each line of the story, when it is to be recorded.
        on_cycle: told of every cycle, after it was logged.
    """

    def __init__(  # noqa: PLR0913 - what differs between a process and its tests
        self,
        configuration: Configuration,
        transport: Transport,
        *,
        hostname: str,
        seed: int,
        writer: Transport | None = None,
        leadership: Leadership | None = None,
        write_story: Callable[[bytes], object] | None = None,
        on_cycle: Callable[[CycleResult, float], None] | None = None,
    ) -> None:
        profiles = {one.scheduler_name: one for one in configuration.profiles}
        core = Scheduler(
            profiles,
            seed=seed,
            backoff=configuration.backoff,
            batching=configuration.batching,
            extenders=configuration.kube.extenders,
            typo_warnings=configuration.reprise.typo_warnings.enabled,
        )
        self.state: State = core.state
        self.state.measurements.stopwatch = time.perf_counter
        self.configuration = configuration
        """The one in force."""
        self._brain: Scheduler | RecordingScheduler = core
        if write_story is not None:
            header = Header(
                seed=seed,
                configuration=configuration.as_kube_document(),
                batching=configuration.batching,
                typo_warnings=configuration.reprise.typo_warnings.enabled,
            )
            self._brain = RecordingScheduler(core, header, write_story)
        # Bound once: an unbound logger is put together again for each line, which costs more than all else of it.
        self._log = log.bind()
        self._transport = transport
        self.rights = rights_needed(configuration, None if leadership is None else leadership.candidacy)
        self._leadership = leadership
        self._knows_when_leading = leadership is not None and configuration.kube.delay_cache_until_active
        self._on_cycle = on_cycle
        self._timing = Timing()
        self.dispatcher = Dispatcher(writer or transport, self._deliver, hostname=hostname, may_bind=self._may_bind)
        self._extenders: ExtenderCaller | None = None
        self._submit: Callable[[Instruction], None] = self.dispatcher.submit
        if configuration.kube.extenders:
            self._extenders = ExtenderCaller(
                configuration.kube.extenders,
                frozenset(profiles),
                self._deliver,
                transport,
                may_bind=self._may_bind,
                fence=None if leadership is None else leadership.fence,
            )
            self._submit = self._submit_or_ask
        self.loop = Loop(
            self._brain,
            dispatch=self._submit if leadership is None else self._dispatch_as_leader,
            has_room=self._has_room,
            wall=time.time,
            clock=time.perf_counter,
            on_cycle=self._cycle_done,
            on_complaint=_log_complaint,
        )
        self.reflectors: list[Reflector[Any]] = [
            Reflector(self._heard_by_extenders(transport, resource), resource, self._deliver)
            for resource in resources_watched(configuration)
        ]
        self._watches: tuple[asyncio.Task[None], ...] = ()
        self.companions: list[Callable[[], Coroutine[Any, Any, None]]] = []
        """Run beside the loop from start to stop; one that fails ends the process."""
        self.before_scheduling: Callable[[], Awaitable[None]] | None = None
        """What is waited for when everything is known, before the first decision."""
        self._group: asyncio.TaskGroup | None = None
        self._ending: asyncio.Task[None] | None = None
        self.synced = asyncio.Event()
        self.is_stopping = False
        self.missing: tuple[str, ...] = ()
        """Rights that we need and do not have, as far as is known."""

    @property
    def is_leader(self) -> bool:
        """Whether this process may write."""
        return self._leadership is None or self._leadership.is_leader

    def _deliver(self, stimulus: Any) -> None:
        if self._extenders is not None:
            self._extenders.heard(stimulus)
        self.loop.deliver(stimulus)

    def _heard_by_extenders(self, transport: Transport, resource: AnyResource) -> Transport:
        return transport if self._extenders is None else self._extenders.listening(transport, resource)

    def _submit_or_ask(self, instruction: Instruction) -> None:
        assert self._extenders is not None
        if isinstance(instruction, AskExtender):
            self._extenders.submit(instruction)
        else:
            self.dispatcher.submit(instruction)

    def _dispatch_as_leader(self, instruction: Instruction) -> None:
        """Who stands by writes nothing: what there is to write is the leader's to find out."""
        assert self._leadership is not None
        if self._leadership.is_leader:
            self._submit(instruction)
        elif isinstance(instruction, ReadPod):
            # It is waited for; that it is nothing new to us is an answer, too.
            self._deliver(PodRead(now=time.time(), uid=instruction.pod.uid))

    def _may_bind(self, uid: str) -> bool:
        """Whether a bind that is about to be sent is still to be sent; nearly always nothing was touched and that is all."""
        if not is_touched(self.state, uid):
            return True
        self.loop.handle_now(BindDue(now=time.time(), uid=uid))
        return uid in self.state.bindings

    def _has_room(self) -> bool:
        # Who waits on Permit or PreBind may do so for minutes.
        return len(self.state.bindings) - len(self.state.binding_cycles.before_bind) < BINDS_IN_FLIGHT

    def _cycle_done(self, result: CycleResult, seconds: float) -> None:
        self.state.measurements.cycle_took(result.outcome, result.profile, seconds)
        if result.batch:
            self.state.measurements.decision_took(
                result.profile, CHECKED if result.is_checked else result.batch, seconds
            )
        self._log.info(
            "scheduling cycle",
            pod=result.pod,
            uid=result.uid,
            profile=result.profile,
            attempt=result.attempt,
            outcome=result.outcome,
            node=result.node_name,
            feasible=result.feasible,
            plugins=result.plugins,
            batch=result.batch,
            reason=result.message,
            microseconds=round(seconds * 1e6),
        )
        if result.mismatch is not None:
            log.error(
                "a reused decision was not that of a full evaluation; batching of this profile stays off until the configuration changes or a restart",
                profile=result.profile,
                **result.mismatch._asdict(),
            )
        if self._on_cycle is not None:
            self._on_cycle(result, seconds)

    async def run(self, stop: asyncio.Event) -> Outcome:
        """Connect, schedule until ``stop`` is set, then finish what is under way.

        Raises:
            ExceptionGroup: a part of this process failed. It must end: what is in memory may be wrong.
        """
        stopping = asyncio.create_task(stop.wait())
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                tasks = [
                    group.create_task(self.loop.run()),
                    group.create_task(self.dispatcher.run()),
                    *(() if self._extenders is None else (group.create_task(self._extenders.run()),)),
                    *(group.create_task(companion()) for companion in self.companions),
                    group.create_task(self._start(group)),
                ]
                await stopping
                outcome = await self._stop()
                for task in (*tasks, *self._watches):
                    task.cancel()
        finally:
            stopping.cancel()
            if self._extenders is not None:
                await self._extenders.close()
            await self.dispatcher.close()
        return outcome

    async def _start(self, group: asyncio.TaskGroup) -> None:
        _log_what_is_not_batched(self.state.batching.off)
        await self._wait_for_rights()
        if self._leadership is not None:
            await self._leadership.start()
        if self._knows_when_leading:
            await self._lead(group)
            await self._know(group)
        else:
            await self._know(group)
            if not await self._lead(group):
                await self._know(group)
        if self.before_scheduling is not None:
            await self.before_scheduling()
        self.loop.start_scheduling()
        await self._look_after_rights()

    async def _know(self, group: asyncio.TaskGroup) -> None:
        """List everything and watch it from then on; what is watched already is listed anew."""
        for task in self._watches:
            task.cancel()
        if self._watches:
            await asyncio.wait(self._watches)
        for reflector in self.reflectors:
            reflector.restart()
        self._watches = tuple(group.create_task(reflector.run()) for reflector in self.reflectors)
        for reflector in self.reflectors:
            await reflector.synced.wait()
        self.synced.set()
        log.info("caches are synced", **{reflector.resource.name: len(reflector) for reflector in self.reflectors})

    async def prepare(self, configuration: Configuration) -> None:
        """Watch what another configuration needs besides, and wait until all that it needs is known.

        What it does not need any more is watched on, for the next one. A process that knows nothing yet has nothing to wait for.
        """
        needed = resources_watched(configuration)
        known = [reflector.resource for reflector in self.reflectors]
        added = [
            Reflector(self._heard_by_extenders(self._transport, resource), resource, self._deliver)
            for resource in needed
            if resource not in known
        ]
        self.reflectors[-1:-1] = added  # pods stay the last
        if not self._watches:
            return
        assert self._group is not None
        self._watches += tuple(self._group.create_task(reflector.run()) for reflector in added)
        for reflector in self.reflectors:
            if reflector.resource in needed:
                await reflector.synced.wait()

    async def switch(self, configuration: Configuration) -> Reload:
        """Put a configuration in force, for the next decision and with all that was heard until now; or say why not."""
        number = self.state.generation + 1
        await self.loop.drained()
        self._brain.offer(generation_of(configuration, number))
        self.loop.handle_now(change_to(configuration, number, time.time()))
        if not self.state.reload.refused:
            self.configuration = configuration
            self.rights = tuple(dict.fromkeys((*rights_needed(configuration), *self.rights)))
            _log_what_is_not_batched(self.state.batching.off)
        return self.state.reload

    async def _lead(self, group: asyncio.TaskGroup) -> bool:
        """Wait until this process may decide; False when what it knows may be older than the last decision of another one.

        A watch may be late, or cut without anybody having noticed, and the last leader has bound pods until the end.
        """
        if self._leadership is None:
            return True
        is_up_to_date = await self._leadership.acquire()
        self._ending = group.create_task(self._leadership.lost())
        return is_up_to_date

    async def _wait_for_rights(self) -> None:
        """Ask what we may do until it is everything: without it pods would be seen and not bound."""
        backoff = Backoff(self._timing, initial_seconds=0.5, maximum_seconds=10.0)
        reported: object = None  # what was last logged: one line for each change
        while True:
            try:
                missing = await missing_rights(self._transport, self.rights)
            except (TransportFailure, AccessReviewError) as error:
                # The words of one failure to connect may differ from try to try.
                state = error.kind if isinstance(error, TransportFailure) else str(error)
                if reported != state:
                    reported = state
                    log.warning("cannot ask the API server for our rights; will retry", error=str(error))
                await asyncio.sleep(backoff.next_seconds())
                continue
            self.missing = tuple(missing)
            if not missing:
                if reported is not None:
                    log.info("the API server answers and grants what is needed")
                return
            if reported != missing:
                reported = missing
                log.error("rights are missing; grant them to this identity, then scheduling starts", missing=missing)
            await asyncio.sleep(RIGHTS_RETRY_SECONDS)

    async def _look_after_rights(self) -> None:
        """Say what is taken from us later, too. What can be done without it goes on."""
        while True:
            await asyncio.sleep(RIGHTS_AGAIN_SECONDS)
            try:
                missing = tuple(await missing_rights(self._transport, self.rights))
            except (TransportFailure, AccessReviewError):
                continue  # there are others who tell that
            if missing != self.missing:
                self.missing = missing
                if missing:
                    log.error("rights are missing; grant them to this identity again", missing=list(missing))
                else:
                    log.info("the API server grants again what is needed")

    async def _stop(self) -> Outcome:
        self.is_stopping = True
        self.loop.stop_scheduling()
        if self._extenders is not None:
            await self._extenders.drain(DRAIN_SECONDS)
        unfinished = await self.dispatcher.drain(DRAIN_SECONDS)
        if self._leadership is not None:
            if self._ending is not None:
                self._ending.cancel()
            await self._leadership.release()
        log.info("stopped", unfinished_binds=unfinished.binds, unfinished_events=unfinished.events)
        return Outcome(unfinished=unfinished)


def _log_what_is_not_batched(off: Mapping[str, str]) -> None:
    """Who wonders why decisions take long finds the reason at the top of the log."""
    for profile, reason in off.items():
        if reason:
            log.warning("decisions of a profile are not reused", profile=profile, reason=reason)


def _log_complaint(about: Complaint) -> None:
    if isinstance(about, BadObject):
        log.warning("object cannot be understood and is left out", kind=about.kind, object=about.key, error=about.error)
    elif isinstance(about, ExtenderFault):
        log.warning(
            "an extender does not answer and pods are decided on without it; said once until it answers again",
            extender=about.url,
            verb=about.verb,
            pod=about.pod,
            error=about.error,
        )
    elif isinstance(about, KubeletRejection):
        log.warning("a kubelet rejected a pod that was bound to it", **structs.asdict(about))
    else:
        log.error(
            "a plugin failed; each plugin and extension point is reported once, scheduler_plugin_failures_total counts",
            plugin=about.plugin,
            stage=about.stage,
            pod=about.pod,
            error=about.error,
        )
