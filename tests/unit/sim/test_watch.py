"""Watches on virtual time: when bookmarks come, and when a watch ends."""

import asyncio
import json
from random import Random

import pytest

from scheduler.sim.resources import PODS
from scheduler.sim.store import Store
from scheduler.sim.views import WholeView
from scheduler.sim.watch import WatchHub, parse_watch

pytestmark = pytest.mark.looptime


class Recorder:
    """A stream that writes down what is sent, and when."""

    def __init__(self) -> None:
        self.lines: list[tuple[float, str]] = []
        self.ended: float | None = None
        self._loop = asyncio.get_running_loop()

    def send(self, line: bytes) -> None:
        self.lines.append((round(self._loop.time(), 3), json.loads(line)["type"]))

    def finish(self) -> None:
        self.ended = self._loop.time()

    def abort(self) -> None:
        raise AssertionError("nothing cuts this connection")


@pytest.fixture
def store() -> Store:
    return Store([PODS.shelf_name])


def write(store: Store, name: str) -> None:
    store.write(store.shelves[PODS.shelf_name], f"default/{name}", {"metadata": {"name": name, "namespace": "default"}})


def watch(store: Store, stream: Recorder, **query: str) -> WatchHub:
    hub = WatchHub(store, chance=Random(7))
    hub.open(PODS, parse_watch(PODS, "", query, store.number), WholeView(PODS), stream)
    return hub


async def test_bookmarks_come_every_minute_when_there_is_news(store: Store) -> None:
    write(store, "a")
    stream = Recorder()
    watch(store, stream, resourceVersion="1", allowWatchBookmarks="true", labelSelector="none")

    await asyncio.sleep(90)  # nothing new: no bookmark
    write(store, "b")
    await asyncio.sleep(60)

    assert stream.lines == [(120.0, "BOOKMARK")]


async def test_an_event_says_how_far_the_watch_has_come(store: Store) -> None:
    stream = Recorder()
    write(store, "a")
    watch(store, stream, resourceVersion="1", allowWatchBookmarks="true")

    write(store, "b")
    await asyncio.sleep(90)

    assert stream.lines == [(0.0, "ADDED")]


async def test_the_last_bookmark_comes_two_seconds_before_the_end(store: Store) -> None:
    write(store, "a")
    stream = Recorder()
    query = {"resourceVersion": "1", "allowWatchBookmarks": "true", "timeoutSeconds": "10", "labelSelector": "none"}
    watch(store, stream, **query)

    write(store, "b")
    await asyncio.sleep(20)

    assert stream.lines == [(8.0, "BOOKMARK")]
    assert stream.ended == 10.0


async def test_who_did_not_ask_for_bookmarks_gets_none(store: Store) -> None:
    stream = Recorder()
    write(store, "a")
    watch(store, stream, resourceVersion="1", labelSelector="none")

    write(store, "b")
    await asyncio.sleep(200)

    assert stream.lines == []


async def test_a_watch_that_sets_no_end_ends_after_half_an_hour_to_an_hour(store: Store) -> None:
    stream = Recorder()
    watch(store, stream)

    await asyncio.sleep(1799)
    early = stream.ended
    await asyncio.sleep(1802)

    assert early is None
    assert stream.ended is not None


async def test_a_watch_that_was_closed_is_told_nothing_more(store: Store) -> None:
    stream = Recorder()
    hub = WatchHub(store, chance=Random(7))
    query = {"allowWatchBookmarks": "true", "timeoutSeconds": "10"}
    close = hub.open(PODS, parse_watch(PODS, "", query, store.number), WholeView(PODS), stream)
    sent = len(stream.lines)

    close()
    close()
    write(store, "a")
    await asyncio.sleep(60)

    assert hub.watchers == ()
    assert (len(stream.lines), stream.ended) == (sent, None)
