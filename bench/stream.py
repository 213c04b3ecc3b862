"""One watch of the API server, followed by a thread of its own over connections of its own, at as little cost as can be."""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self
from urllib.parse import urlencode, urlsplit

from tests.support.control_plane import ControlPlane
from tests.support.resources import Resource

Take = Callable[[list[bytes], float], str]


class StreamError(Exception):
    """A watch cannot go on, so what it would have told is not known."""


class Stream:
    """Hands the lines of a watch to ``take``, with the monotonic clock at which they had arrived; use it in a `with`.

    ``take`` returns the resourceVersion of the last line. A busy server ends watches that it cannot serve fast enough, as it
    does to every informer; the watch then goes on from there. ``failure`` says why it could not.
    """

    def __init__(self, control_plane: ControlPlane, resource: Resource, fields: str, take: Take) -> None:
        """Begin with what happens from now on, for the objects that the field selector chooses."""
        self.failure: Exception | None = None
        page = control_plane.client().call("GET", resource.path(), query={"limit": 1})
        self._version: str = page["metadata"]["resourceVersion"]
        self._path = resource.path()
        self._fields = fields
        self._address = urlsplit(control_plane.url)
        self._tls = ssl.create_default_context(cafile=control_plane.ca_file)
        self._headers = {"Authorization": f"Bearer {control_plane.token('admin')}", "Accept": "application/json"}
        self._take = take
        self._state = threading.Lock()
        self._closing = False
        self._plug: socket.socket | None = None
        self._opened = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"watch {resource.plural}", daemon=True)
        self._thread.start()
        self._opened.wait()

    def close(self) -> None:
        """End the watch and its thread."""
        with self._state:
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
            while not self._closing:
                with self._open() as response:
                    self._opened.set()
                    self._follow(response)
        except Exception as error:  # noqa: BLE001 - whoever waits for this thread has to know
            if not self._closing:
                self.failure = error
        finally:
            self._opened.set()

    def _follow(self, response: http.client.HTTPResponse) -> None:
        rest = b""
        while data := response.read1(1 << 16):
            at = time.monotonic()
            *lines, rest = (rest + data).split(b"\n")
            if lines:
                self._version = self._take(lines, at)

    @contextmanager
    def _open(self) -> Iterator[http.client.HTTPResponse]:
        query = {"watch": 1, "resourceVersion": self._version, "fieldSelector": self._fields}
        host, port = self._address.hostname or "", self._address.port
        connection = http.client.HTTPSConnection(host, port, context=self._tls)
        try:
            connection.request("GET", f"{self._path}?{urlencode(query)}", headers=self._headers)
            # A second handle on the socket: closing the TLS object under a reader would make it read plain bytes.
            plug = socket.socket(fileno=os.dup(connection.sock.fileno()))
            with self._state:
                self._plug = plug
                if self._closing:
                    plug.shutdown(socket.SHUT_RDWR)
            response = connection.getresponse()
            if response.status != http.HTTPStatus.OK:
                text = response.read().decode(errors="replace")
                raise StreamError(f"watch of {self._path}: {response.status} {text}")
            yield response
        finally:
            with self._state:
                if self._plug is not None:
                    self._plug.close()
                    self._plug = None
            connection.close()
