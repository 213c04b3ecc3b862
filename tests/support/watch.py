"""What a watch has delivered: every event in its order with the time it came, and the objects as they are now."""

import http.client
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import msgspec

from tests.support.resources import Object

OpenStream = Callable[[str], tuple[http.client.HTTPConnection, http.client.HTTPResponse]]


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One event: ADDED, MODIFIED or DELETED, the object it carried, and the monotonic clock when it was read."""

    type: str
    object: Object
    at: float


class WatchError(Exception):
    """The watch ended by itself, or what was waited for did not happen in time."""


class Watch:
    """A list and the events since, kept by a thread.

    `objects` maps UID to object as of the last event, `events` holds all events (not the list's objects). Read them
    inside `wait_until`, or after it: while its condition runs nothing changes.
    """

    def __init__(self, what: str, items: list[Object], version: str, open_stream: OpenStream) -> None:
        self.objects: dict[str, Object] = {item["metadata"]["uid"]: item for item in items}
        self.events: list[WatchEvent] = []
        self._what = what
        self._version = version
        self._open_stream = open_stream
        self._changed = threading.Condition()
        self._failure: str | None = None
        self._closing = False
        self._plug: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name=f"watch {what}", daemon=True)
        self._thread.start()

    def wait_until(self, condition: Callable[["Watch"], bool], *, seconds: float = 30.0, what: str = "") -> float:
        """Wait until the condition holds; it is asked again after events. Returns the seconds that took.

        Raises:
            WatchError: time ran out, or the watch ended.
        """
        began = time.monotonic()
        with self._changed:
            while not condition(self):
                left = began + seconds - time.monotonic()
                if self._failure is not None:
                    raise WatchError(f"watch of {self._what}: {self._failure}")
                if left <= 0:
                    seen = f"{len(self.objects)} {self._what}, {len(self.events)} events"
                    raise WatchError(f"not seen in {seconds:g} s: {what or condition.__name__} ({seen})")
                self._changed.wait(left)
        return time.monotonic() - began

    def find(self, name: str, namespace: str | None = None) -> Object | None:
        """The object of this name, as of the last event."""
        with self._changed:
            for item in self.objects.values():
                metadata = item["metadata"]
                if metadata["name"] == name and metadata.get("namespace") == namespace:
                    return item
        return None

    def close(self) -> None:
        """End the watch and its thread."""
        with self._changed:
            self._closing = True
            if self._plug is not None:
                self._plug.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        try:
            while self._failure is None and not self._closing:
                connection, response = self._open_stream(self._version)
                try:
                    self._follow(connection, response)
                finally:
                    connection.close()
        except (OSError, http.client.HTTPException) as error:
            self._fail(repr(error))

    def _follow(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        """Read one stream to its end; the server ends each after a while, and the next starts where it stopped."""
        if response.status != http.HTTPStatus.OK:
            self._fail(f"{response.status} {response.read().decode(errors='replace')}")
            return
        # A second handle on the socket: closing the TLS object under a reader would make it read plain bytes.
        plug = socket.socket(fileno=os.dup(connection.sock.fileno()))
        try:
            with self._changed:
                if self._closing:
                    return
                self._plug = plug
            rest = b""
            while data := response.read1(1 << 16):
                *lines, rest = (rest + data).split(b"\n")
                if lines:
                    self._take([msgspec.json.decode(line) for line in lines])
        finally:
            with self._changed:
                self._plug = None
                plug.close()

    def _take(self, events: list[Object]) -> None:
        at = time.monotonic()
        with self._changed:
            for event in events:
                kind, item = event["type"], event["object"]
                if kind == "ERROR":
                    self._failure = item.get("message", "error event")
                    break
                uid = item["metadata"]["uid"]
                if kind == "DELETED":
                    self.objects.pop(uid, None)
                else:
                    self.objects[uid] = item
                self._version = item["metadata"]["resourceVersion"]
                self.events.append(WatchEvent(kind, item, at))
            self._changed.notify_all()

    def _fail(self, reason: str) -> None:
        with self._changed:
            self._failure = None if self._closing else reason
            self._changed.notify_all()
