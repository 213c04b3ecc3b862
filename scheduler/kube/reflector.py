"""Keeps the core up to date with one resource: list, watch, resume, relist, for as long as the process lives.

The reflector owns no objects. It turns what the API server says into stimuli, in order, and calls ``deliver`` with each.
It never gives up: an unreachable server, missing rights and throttling are waited out, with one log line when the state
changes. kube-scheduler 1.37: informers; KEP-3157 (watch-list), KEP-956 (bookmarks).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import structlog

from scheduler.api.objects import ObjectMeta, key_of
from scheduler.core.stimulus import Stimulus
from scheduler.kube.decoding import Line, MalformedStream, ObjectDecoder, Unreadable
from scheduler.kube.link import ABSENT, Link
from scheduler.kube.resources import HasMetadata, WatchedResource
from scheduler.kube.store import Store
from scheduler.kube.timing import Backoff, Timing
from scheduler.kube.transport import ApiError, Status, Transport, TransportFailure, WatchStream, error_of

log = structlog.get_logger(__name__)

ObjectT = TypeVar("ObjectT", bound=HasMetadata)

PAGE_SIZE = 500
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
# How long a watch may last; each takes a random time in this range, so that reconnects spread (kube-scheduler 1.37: informers).
WATCH_SECONDS = (300, 600)
# A silent connection may be dead, whatever TCP says. It may also be well: a server sends a bookmark each minute only if its
# version of the resource has moved. So the watch is resumed on another stream, which is cheap, and nothing is made of it.
SILENCE_SECONDS = 90.0
# A server that does not know sendInitialEvents ignores it and never says that the initial events are over.
INITIAL_SECONDS = 120.0
# A watch that ends sooner and brought nothing is a failure, not a normal end, or it would be opened in a hot loop.
SHORT_WATCH_SECONDS = 1.0
# A list that expires sooner is not followed by another at once.
SHORT_LIFE_SECONDS = 10.0
ABSENT_SECONDS = 300.0
LONGEST_RETRY_AFTER_SECONDS = 120.0


@dataclass(slots=True)
class ReflectorCounters:
    """What happened so far; for metrics."""

    lists: int = 0  # complete ones, by watch-list or by pages
    relists: int = 0  # of these, all after the first
    watches: int = 0
    failures: int = 0
    silences: int = 0  # watches given up because nothing was heard
    throttled: int = 0
    expired: int = 0
    events: int = 0
    bookmarks: int = 0
    undecodable: int = 0


class _Broken(Exception):
    """The watch is of no use any more although no error was reported."""


class Reflector(Generic[ObjectT]):
    """Lists and watches one resource and delivers its changes.

    ``synced`` is set when the first complete list has been delivered.
    """

    def __init__(
        self,
        transport: Transport,
        resource: WatchedResource[ObjectT],
        deliver: Callable[[Stimulus], None],
        *,
        timing: Timing | None = None,
        silence_seconds: float = SILENCE_SECONDS,
        initial_seconds: float = INITIAL_SECONDS,
    ) -> None:
        self.resource = resource
        self.synced = asyncio.Event()
        self.counters = ReflectorCounters()
        self.resource_version: str | None = None
        self._transport = transport
        self._deliver = deliver
        self._timing = timing or Timing()
        self._silence_seconds = silence_seconds
        self._initial_seconds = initial_seconds
        self._decoder = ObjectDecoder(resource.kind)
        self._store = Store()
        self._watch_list = True
        self._heard_at: float | None = None
        self._listed_at = float("-inf")
        self._link = Link(resource.full_name, self._timing)
        self._backoff = Backoff(self._timing, initial_seconds=0.1, maximum_seconds=30.0, reset_after_seconds=120.0)

    def __len__(self) -> int:
        """How many objects are known."""
        return len(self._store)

    def undecodable(self) -> list[str]:
        """Keys of objects that exist and cannot be decoded."""
        return self._store.undecodable_keys()

    @property
    def state(self) -> str:
        """``starting``, ``watching``, or why it does neither: see ``Link``."""
        return self._link.state

    def silence_seconds(self) -> float:
        """How long ago the server last said anything: an object, a bookmark, or an answer when it was asked after silence.

        0 while nobody has begun to listen, and for a resource that the server does not serve.
        """
        if self._heard_at is None or self._link.state == ABSENT:
            return 0.0
        return self._timing.monotonic() - self._heard_at

    def restart(self) -> None:
        """Let the next ``run`` begin with a complete list, however much is known; not while it runs."""
        self.resource_version = None
        self.synced.clear()

    async def run(self) -> None:
        """List and watch until cancelled.

        Raises:
            Exception: whatever ``deliver`` raises; the API server's doings never end it.
        """
        if self._heard_at is None:
            self._heard_at = self._timing.monotonic()
        while True:
            try:
                if self.resource_version is None and not self._watch_list:
                    await self._list_pages()
                await self._follow()
            except (ApiError, TransportFailure, MalformedStream, _Broken) as error:
                await self._wait_after(error)

    # ------------------------------------------------------------------------------------------------------- list, watch

    async def _follow(self) -> None:
        """Watch until the stream ends, beginning with the state of all objects when none is known."""
        began = self._timing.monotonic()
        heard = self._heard()
        lists = self.counters.lists
        is_initial = self.resource_version is None
        if is_initial:
            self._store.begin_relist()
        self.counters.watches += 1
        try:
            async with asyncio.timeout(self._silence_seconds) as silence:
                async with self._transport.watch(self._watch_path()) as stream:
                    with self._holding():
                        await self._read(stream, silence, is_initial=is_initial, until=began + self._initial_seconds)
        except TimeoutError:
            self.counters.silences += 1
            if self.resource_version is not None:
                await self._probe(self.resource_version)
                return
        if is_initial and self.counters.lists == lists:
            self._watch_list = False
            raise _Broken("the server did not send all initial events; listing in pages instead")
        if heard == self._heard() and self._timing.monotonic() - began < SHORT_WATCH_SECONDS:
            raise _Broken("the server ended the watch at once")

    async def _probe(self, resource_version: str) -> None:
        """After silence: see that the server answers and knows our version.

        One that was restored from a backup is behind it, and says nothing of what happens until it has caught up.
        """
        response = await self._transport.get(self.resource.query(limit="1"))
        if response.status != 200:
            raise error_of(response)
        newest = self._decoder.page(response.body).resource_version
        if newest.isdecimal() and resource_version.isdecimal() and int(newest) < int(resource_version):
            raise ApiError(410, "Expired", f"the server is at version {newest}, behind {resource_version}")
        self._heard_at = self._timing.monotonic()

    @contextmanager
    def _holding(self) -> Iterator[None]:
        """A stream that has held for a moment is well, though it may have nothing to say."""
        timer = asyncio.get_running_loop().call_later(SHORT_WATCH_SECONDS, self._link.works)
        try:
            yield
        finally:
            timer.cancel()

    def _heard(self) -> int:
        return self.counters.events + self.counters.bookmarks

    async def _read(self, stream: WatchStream, silence: asyncio.Timeout, *, is_initial: bool, until: float) -> None:
        """Deliver what the stream says until it ends, or until the initial events take too long."""
        loop = asyncio.get_running_loop()
        extend_at = 0.0
        while lines := await stream.lines():
            if (loop_now := loop.time()) >= extend_at:
                # Not for each line: it takes as long as half of decoding it. So silence may be noticed a hundredth too early.
                silence.reschedule(loop_now + self._silence_seconds)
                extend_at = loop_now + self._silence_seconds / 100
            self._heard_at = heard_at = self._timing.monotonic()
            now = self._timing.now()
            for raw in lines:
                if self._take(self._decoder.line(raw), now, is_initial=is_initial):
                    is_initial = False
                    self._listed()
            self._link.works()
            if is_initial and heard_at > until:
                return

    def _watch_path(self) -> str:
        shortest, longest = WATCH_SECONDS
        parameters = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(round(shortest + self._timing.chance() * (longest - shortest))),
        }
        if self.resource_version is None:
            # Without a resourceVersion the list is the newest, so a restored or lagging server cannot take us back in time.
            parameters |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        else:
            parameters["resourceVersion"] = self.resource_version
        return self.resource.query(**parameters)

    async def _list_pages(self) -> None:
        parameters = {"limit": str(PAGE_SIZE)}
        self._store.begin_relist()
        while True:
            response = await self._transport.get(self.resource.query(**parameters))
            if response.status == 410 and "continue" in parameters:
                # The list took longer than the server keeps old versions: ask for all of it in one answer.
                parameters = {}
                self._store.begin_relist()
                continue
            if response.status != 200:
                raise error_of(response)
            page = self._decoder.page(response.body)
            self._heard_at = self._timing.monotonic()
            now = self._timing.now()
            for known in page.objects:
                self._apply(known, now)
            for unreadable in page.unreadable:
                self._skip(unreadable, now)
            if not page.token:
                self.resource_version = page.resource_version
                self._link.works()
                self._listed()
                return
            parameters["continue"] = page.token

    def _listed(self) -> None:
        """All objects have been delivered; now those of which the list said nothing are known to be gone."""
        now = self._timing.now()
        for namespace, name, uid in self._store.end_relist():
            self._deliver(self.resource.deleted(now, namespace, name, uid))
        self.counters.lists += 1
        self.counters.relists += self.counters.lists > 1
        self._listed_at = self._timing.monotonic()
        log.info(
            "Listed",
            resource=self.resource.full_name,
            objects=len(self._store),
            resource_version=self.resource_version,
            again=self.counters.lists > 1,
        )
        self.synced.set()

    # ------------------------------------------------------------------------------------------------------------ events

    def _take(self, line: Line[ObjectT] | Line[Unreadable] | Line[Status], now: float, *, is_initial: bool) -> bool:
        """Deliver one watch event; True for the one that ends the initial events."""
        kind, subject = line.type, line.object
        if isinstance(subject, Status):
            raise subject.to_error()
        metadata = subject.metadata
        if kind == "BOOKMARK":
            self.counters.bookmarks += 1
            ends = is_initial and (metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true"
            if ends or not is_initial:
                self.resource_version = metadata.resource_version
            return ends
        self.counters.events += 1
        if kind == "DELETED":
            self._remove(metadata, now)
        elif isinstance(subject, Unreadable):
            self._skip(subject, now)
        else:
            self._apply(subject, now)
        # Initial events come in no order of versions: none of theirs is a point to resume from.
        if not is_initial and metadata.resource_version:
            self.resource_version = metadata.resource_version
        return False

    def _apply(self, known: ObjectT, now: float) -> None:
        metadata = known.metadata
        replaced = self._store.applied(metadata.namespace, metadata.name, metadata.uid, metadata.resource_version)
        if replaced is None:
            return
        if replaced:
            self._deliver(self.resource.deleted(now, metadata.namespace, metadata.name, replaced))
        self._deliver(self.resource.applied(now, known))

    def _remove(self, metadata: ObjectMeta, now: float) -> None:
        if self._store.deleted(metadata.namespace, metadata.name, metadata.uid):
            self._deliver(self.resource.deleted(now, metadata.namespace, metadata.name, metadata.uid))

    def _skip(self, unreadable: Unreadable, now: float) -> None:
        """Leave out an object that cannot be read. What the core knows of it stays as it was: it still exists."""
        metadata = unreadable.metadata
        self.counters.undecodable += 1
        is_news, replaced = self._store.undecodable(metadata.namespace, metadata.name, metadata.uid)
        if replaced:
            self._deliver(self.resource.deleted(now, metadata.namespace, metadata.name, replaced))
        if is_news:
            log.error(
                "Object cannot be decoded; it is left out until it changes",
                resource=self.resource.full_name,
                object=key_of(metadata) or "(no readable name)",
                uid=metadata.uid,
                error=unreadable.error,
            )

    # ---------------------------------------------------------------------------------------------------------- failures

    async def _relist(self) -> None:
        self.counters.expired += 1
        self.resource_version = None
        log.info("The watch has expired; listing anew", resource=self.resource.full_name)
        if self._timing.monotonic() - self._listed_at < SHORT_LIFE_SECONDS:
            await self._timing.sleep(self._backoff.next_seconds())

    async def _wait_after(self, error: Exception) -> None:
        """Say what is wrong, when that is news, and wait before the next try."""
        if isinstance(error, ApiError):
            if error.is_expired:
                await self._relist()
                return
            if self.resource_version is None and self._watch_list and error.code in (400, 422):
                # Servers without the WatchList feature refuse sendInitialEvents.
                self._watch_list = False
                return
            if error.code == 404 and self.resource.optional:
                await self._do_without()
                return
        if isinstance(error, ApiError) and error.code == 429:
            self.counters.throttled += 1
        else:
            self.counters.failures += 1
        self._link.fails(error)
        await self._timing.sleep(self._delay_seconds(error))

    def _delay_seconds(self, error: Exception) -> float:
        if isinstance(error, ApiError) and error.code == 429 and error.retry_after_seconds is not None:
            return min(error.retry_after_seconds, LONGEST_RETRY_AFTER_SECONDS)
        return self._backoff.next_seconds()

    async def _do_without(self) -> None:
        """The server does not serve the resource, so there is no such object; it may be upgraded one day."""
        self.resource_version = None
        self._link.is_absent()
        self._store.begin_relist()
        now = self._timing.now()
        for namespace, name, uid in self._store.end_relist():
            self._deliver(self.resource.deleted(now, namespace, name, uid))
        self.synced.set()
        await self._timing.sleep(ABSENT_SECONDS * (1.0 + self._timing.chance()))
        self._heard_at = self._timing.monotonic()
