"""Watches: what of every change a client is told, from where, and until when."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from scheduler.sim import errors
from scheduler.sim.lists import Query, parse_number, parse_version, selector_of
from scheduler.sim.objects import Object
from scheduler.sim.resources import Resource
from scheduler.sim.selectors import Selector
from scheduler.sim.store import Change, Shelf, Store, Version
from scheduler.sim.views import View, bookmark, encode, watch_line

# A watch that sets no end is ended after one to two times this.
MIN_TIMEOUT_SECONDS = 1800.0
BOOKMARK_SECONDS = 60.0
# The last bookmark comes this long before the end.
LAST_BOOKMARK_SECONDS = 2.0


class Stream(Protocol):
    """The answer to a watch: it is written as it comes."""

    def send(self, line: bytes) -> None:
        """Write a line; lines of one turn of the loop may leave together."""

    def finish(self) -> None:
        """End the answer in good order."""

    def abort(self) -> None:
        """Cut the connection."""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What a watch asks for. `since` is the version to start behind; None, when the state itself is sent first."""

    selector: Selector
    namespace: str
    initial: bool
    since: int | None
    bookmarks: bool
    timeout_seconds: float | None


def parse_watch(resource: Resource, namespace: str, query: Query, current: int) -> WatchOptions:
    """Read the parameters of a watch; `current` is the version of the state.

    Raises:
        ApiError: they make no sense, or ask for a state that is not reached yet.
    """
    match, send_initial = query.get("resourceVersionMatch", ""), query.get("sendInitialEvents", "")
    if send_initial and match != "NotOlderThan":
        text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        raise errors.invalid_options(errors.forbidden_value("resourceVersionMatch", text))
    if match and not send_initial:
        text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        raise errors.invalid_options(errors.forbidden_value("resourceVersionMatch", text))
    asked = query.get("resourceVersion", "")
    number = parse_version(asked or "0")
    if number is None:
        text = f'strconv.ParseUint: parsing "{asked}": invalid syntax'
        raise errors.plain_error(f'resourceVersion: Invalid value: "{asked}": {text}')
    initial = _truth(send_initial) if send_initial else number == 0
    if send_initial and number > current:
        raise errors.version_too_large(number, current)
    timeout = parse_number(query, "timeoutSeconds")
    return WatchOptions(
        selector=selector_of(resource, query),
        namespace=namespace if resource.namespaced else "",
        initial=initial,
        since=None if initial else number or current,
        bookmarks=_truth(query.get("allowWatchBookmarks", "")),
        timeout_seconds=timeout or None,
    )


def _truth(text: str) -> bool:
    return text not in ("", "0", "false", "False")


class Watcher:
    """One watch that is open: it turns the changes of a shelf into lines of a stream."""

    def __init__(self, resource: Resource, options: WatchOptions, view: View, stream: Stream) -> None:
        self.resource = resource
        self.stream = stream
        self.sent = options.since or 0
        self._prefix = f"{options.namespace}/" if options.namespace else ""
        self._selector = options.selector
        self._view = view

    def show_state(self, shelf: Shelf) -> None:
        """Send what there is, as if it were just added."""
        for key in sorted(shelf.versions):
            version = shelf.versions[key]
            if key.startswith(self._prefix) and self._selector.matches(version.object):
                self.stream.send(watch_line("ADDED", self._view.one(version)))

    def notify(self, change: Change) -> None:
        """Send a change, as this watch sees it: what leaves its selector is deleted, what enters is added."""
        if change.number <= self.sent or not change.current.key.startswith(self._prefix):
            return
        kind, version = change.type, change.current
        if not self._selector.everything:
            previous = change.previous
            before = previous is not None and self._selector.matches(previous.object)
            after = kind != "DELETED" and self._selector.matches(version.object)
            if not before and not after:
                return
            if previous is not None and before and not after:
                kind = "DELETED"
                if change.type != "DELETED":
                    version = _as_of(previous, change.number)
            elif not before:
                kind = "ADDED"
        self.sent = change.number
        self.stream.send(watch_line(kind, self._view.one(version)))

    def bookmark(self, number: int, *, initial_events_end: bool = False) -> None:
        """Send how far the watch has come, when that is news."""
        if number > self.sent or initial_events_end:
            self.sent = number
            self.stream.send(bookmark(self.resource, number, initial_events_end=initial_events_end))

    def fail(self, status: Object) -> None:
        """Send an error and end."""
        self.stream.send(watch_line("ERROR", encode(status)))
        self.stream.finish()


def _as_of(version: Version, number: int) -> Version:
    metadata = {**version.object["metadata"], "resourceVersion": str(number)}
    return Version(version.key, number, {**version.object, "metadata": metadata})


class WatchHub:
    """All open watches."""

    def __init__(self, store: Store, *, chance: random.Random, bookmark_seconds: float = BOOKMARK_SECONDS) -> None:
        """`chance` spreads the ends of watches that set none."""
        self._store = store
        self._chance = chance
        self._bookmark_seconds = bookmark_seconds
        self._open: dict[Watcher, Callable[[], None]] = {}

    @property
    def watchers(self) -> tuple[Watcher, ...]:
        """The open watches, oldest first."""
        return tuple(self._open)

    def open(self, resource: Resource, options: WatchOptions, view: View, stream: Stream) -> Callable[[], None]:
        """Start a watch on a stream; the result is to be called when the stream has ended."""
        shelf = self._store.shelves[resource.shelf_name]
        watcher = Watcher(resource, options, view, stream)
        if options.initial:
            watcher.show_state(shelf)
            watcher.sent = self._store.number
            if options.bookmarks:
                watcher.bookmark(self._store.number, initial_events_end=True)
        else:
            try:
                missed = shelf.since(options.since or 0)
            except errors.ApiError as error:
                watcher.fail(error.status if resource.cached else _gone().status)
                return lambda: None
            for change in missed:
                watcher.notify(change)
        return self._keep(shelf, watcher, options)

    def _keep(self, shelf: Shelf, watcher: Watcher, options: WatchOptions) -> Callable[[], None]:
        loop = asyncio.get_running_loop()
        seconds = options.timeout_seconds or self._chance.uniform(MIN_TIMEOUT_SECONDS, 2 * MIN_TIMEOUT_SECONDS)
        end = loop.time() + seconds
        timers = [loop.call_at(end, watcher.stream.finish)]
        if options.bookmarks:
            timers.append(self._next_bookmark(loop, timers, watcher, end))
        unlisten = shelf.listen(watcher.notify)

        def close() -> None:
            if self._open.pop(watcher, None) is not None:
                unlisten()
                for timer in timers:
                    timer.cancel()

        self._open[watcher] = close
        return close

    def _next_bookmark(
        self, loop: asyncio.AbstractEventLoop, timers: list[asyncio.TimerHandle], watcher: Watcher, end: float
    ) -> asyncio.TimerHandle:
        def tick() -> None:
            watcher.bookmark(self._store.number)
            timers[-1] = self._next_bookmark(loop, timers, watcher, end)

        now, last = loop.time(), end - LAST_BOOKMARK_SECONDS
        due = now + self._bookmark_seconds
        return loop.call_at(min(due, last) if now < last else due, tick)


def _gone() -> errors.ApiError:
    return errors.expired("The resourceVersion for the provided watch is too old.")
