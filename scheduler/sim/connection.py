"""HTTP/1.1 over one connection: requests in, whole answers or streams out, one after the other."""

import asyncio
import functools
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from typing import Protocol, cast

import httptools

from scheduler.sim.errors import ApiError
from scheduler.sim.messages import Answer, Request, error_answer, split_target
from scheduler.sim.views import JSON

MAX_BODY_BYTES = 3 * 1024 * 1024
# A watcher that does not read is cut off when this much waits for it.
MAX_UNREAD_BYTES = 64 * 1024 * 1024

_COMMON = b"Cache-Control: no-cache, private\r\n"
_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\n" + _COMMON + b"Content-Type: " + JSON.encode() + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
)
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


@functools.lru_cache(maxsize=256)
def _head(status: int, content_type: str) -> bytes:
    """The start of an answer."""
    return _STATUS_LINES[status] + _COMMON + f"Content-Type: {content_type}\r\n".encode()


class Application(Protocol):
    """Who answers the requests."""

    def handle(self, request: Request, connection: "Connection") -> None:
        """Answer a request on its connection: now or later, with `respond`, `stream` or `cut`."""

    def opened(self, connection: "Connection") -> None:
        """A connection was made."""

    def closed(self, connection: "Connection") -> None:
        """A connection is gone."""


class Connection(asyncio.Protocol):
    """One client's connection. A request that comes while another is being answered waits."""

    _transport: asyncio.Transport

    def __init__(self, application: Application) -> None:
        self._application = application
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[tuple[Request, bool]] = deque()
        self._stream: ChunkedStream | None = None
        self._busy = False
        self._keep_alive = True
        self._target = b""
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._size = 0

    # ------------------------------------------------------------------------------------------------------- answering

    def respond(self, answer: Answer) -> None:
        """Send a whole answer."""
        head = _head(answer.status, answer.content_type)
        for name, value in answer.headers:
            head += f"{name}: {value}\r\n".encode()
        if not self._keep_alive:
            head += b"Connection: close\r\n"
        self._transport.write(b"%bContent-Length: %d\r\n\r\n%b" % (head, len(answer.body), answer.body))
        self._answered()

    def stream(self) -> "ChunkedStream":
        """Begin an answer of lines that come over time."""
        self._transport.write(_STREAM_HEAD)
        self._stream = ChunkedStream(self._transport, self._end_stream)
        return self._stream

    def cut(self) -> None:
        """End the connection without a further word."""
        self._transport.abort()

    @property
    def closing(self) -> bool:
        """Whether the connection is ending or gone."""
        return self._transport.is_closing()

    def _end_stream(self) -> None:
        self._stream = None
        self._answered()

    def _answered(self) -> None:
        self._busy = False
        if not self._keep_alive:
            self._transport.close()
        elif self._waiting:
            self._serve(*self._waiting.popleft())

    def _serve(self, request: Request, keep_alive: bool) -> None:
        self._busy, self._keep_alive = True, keep_alive
        self._application.handle(request, self)

    # ---------------------------------------------------------------------------------------- what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its class
        self._application.opened(self)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._transport.write(_STATUS_LINES[400] + b"Connection: close\r\nContent-Length: 0\r\n\r\n")
            self._transport.close()

    def pause_writing(self) -> None:
        if self._stream is not None:
            self._stream.pause()

    def resume_writing(self) -> None:
        if self._stream is not None:
            self._stream.resume()

    def connection_lost(self, _: Exception | None) -> None:
        if self._stream is not None:
            self._stream.lost()
            self._stream = None
        self._waiting.clear()
        self._application.closed(self)

    # -------------------------------------------------------------------------------------- what the parser calls

    def on_message_begin(self) -> None:
        self._target, self._headers, self._body, self._size = b"", {}, [], 0

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        if self._headers.get("expect", "").lower() == "100-continue":
            self._transport.write(_CONTINUE)

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size <= MAX_BODY_BYTES:
            self._body.append(body)

    def on_message_complete(self) -> None:
        path, query = split_target(self._target.decode("latin-1"))
        method = self._parser.get_method().decode("latin-1")
        request = Request(method, path, query, self._headers, b"".join(self._body))
        keep_alive = self._parser.should_keep_alive()
        if self._size > MAX_BODY_BYTES:
            self._keep_alive = False
            text = f"Request entity too large: limit is {MAX_BODY_BYTES}"
            self.respond(error_answer(ApiError(413, "RequestEntityTooLarge", text, details={})))
        elif self._busy:
            self._waiting.append((request, keep_alive))
        else:
            self._serve(request, keep_alive)


class ChunkedStream:
    """A chunked answer. Lines of one turn of the loop leave as one chunk; a client that does not read is cut off."""

    def __init__(self, transport: asyncio.Transport, ended: Callable[[], None]) -> None:
        self._transport = transport
        self._ended = ended
        self._when_closed: Callable[[], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._lines: list[bytes] = []
        self._unread = 0
        self._scheduled = False
        self._paused = False
        self._muted = False
        self._open = True

    def send(self, line: bytes) -> None:
        """Write a line; after the end it is ignored."""
        if not self._open:
            return
        self._lines.append(line)
        self._unread += len(line)
        if self._unread > MAX_UNREAD_BYTES:
            self.abort()
        elif not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._flush)

    def finish(self) -> None:
        """Write the end of the answer; the connection stays."""
        if self._open:
            self._paused = False
            self._write()
            self._transport.write(b"0\r\n\r\n")
            self.lost()
            self._ended()

    def abort(self) -> None:
        """Cut the connection."""
        self._transport.abort()

    def pause(self) -> None:
        """Keep what is to be written until `resume`: the client is slow."""
        self._paused = True

    def resume(self) -> None:
        """Write what was kept, and go on."""
        self._paused = False
        self._write()

    def mute(self, muted: bool) -> None:
        """Keep silent until told otherwise, as a connection does that died unnoticed."""
        self._muted = muted
        self._write()

    def lost(self) -> None:
        """The connection is gone, or the answer ended."""
        if self._open:
            self._open = False
            if self._when_closed is not None:
                self._when_closed()

    def when_closed(self, action: Callable[[], None]) -> None:
        """Have something done once the answer has ended or the connection is gone; at once when it has."""
        if self._open:
            self._when_closed = action
        else:
            action()

    def _flush(self) -> None:
        self._scheduled = False
        self._write()

    def _write(self) -> None:
        if self._lines and self._open and not (self._paused or self._muted):
            data = b"".join(self._lines)
            self._lines.clear()
            self._unread = 0
            self._transport.write(b"%x\r\n%b\r\n" % (len(data), data))
