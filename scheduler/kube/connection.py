"""One HTTP/1.1 connection, with at most one request under way: messages out, complete answers in."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

import httptools

from scheduler.kube.tls import text_of
from scheduler.kube.transport import FailureKind, Response

# The form of nearly every answer: a success of known length, with nothing in its head that matters here. To recognise it takes
# a tenth of the instructions of a whole request less than to have it parsed.
_OTHER = rb"(?![\rCcTtRr](?i:ontent-Length:|onnection:|ransfer-Encoding:|etry-After:|\n)|\n)"
_PLAIN = re.compile(
    rb"HTTP/1\.1 (20[012])(?= )(?:[^\n]*\n" + _OTHER + rb")*[^\n]*\n"
    rb"Content-Length: (\d{1,9})\r(?:\n" + _OTHER + rb"[^\n]*)*\n\r\n"
).match
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_HEADERS_READ = (b"retry-after",)
_HEADERS_OF_LENGTH = (b"content-length", b"transfer-encoding")


class Unanswered(Exception):
    """The connection failed after the request was given to it."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class Connection(asyncio.Protocol):
    """One connection, with at most one request under way.

    ``deadline`` is the time of the event loop by which the request under way must have been answered.
    """

    def __init__(self, open_ones: set[Connection]) -> None:
        self.is_new = True
        self.idle_since = 0.0
        self.deadline = 0.0
        self._open_ones = open_ones
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[Response] | None = None
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._status = 0
        self._has_length = False
        self._has_begun = False  # the parser has part of an answer

    @property
    def is_open(self) -> bool:
        """Whether it can take a request."""
        return self._answer is None and self._transport is not None and not self._transport.is_closing()

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way."""
        return self._answer is not None

    @property
    def session(self) -> ssl.SSLSession | None:
        """A session for further connections to the same server; None when this one had such a session itself, or has none yet."""
        tls = None if self._transport is None else self._transport.get_extra_info("ssl_object")
        if tls is None or tls.session_reused:
            return None  # the copy that this takes costs a quarter of a handshake
        session: ssl.SSLSession | None = tls.session
        return session if session is not None and session.has_ticket else None

    def request(self, message: bytes, answer: asyncio.Future[Response], deadline: float) -> None:
        """Send a request; ``answer`` will be its answer, or Unanswered."""
        assert self._transport is not None
        self._answer, self.deadline = answer, deadline
        self._transport.write(message)

    def fail(self, kind: FailureKind, message: str) -> None:
        """There will be no answer."""
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(Unanswered(kind, message))
        self.abort()

    def abort(self) -> None:
        """Cut the connection."""
        if self._transport is not None:
            self._transport.abort()

    # ----------------------------------------------------------------------------------------------------- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are none by their class
        self._open_ones.add(self)

    def data_received(self, data: bytes) -> None:
        if self._answer is None:
            self.abort()  # nobody asked; whatever it is, the next request must not take it for its answer
            return
        if not self._has_begun:
            plain = _PLAIN(data)
            # Otherwise not all of it is there, or more than that.
            if plain is not None and len(data) == plain.end() + int(plain[2]):
                self._answered(Response(int(plain[1]), _NO_HEADERS, data[plain.end() :]))
                return
            self._has_begun = True
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.fail(FailureKind.LOST, f"the answer is not HTTP: {error}")

    def connection_lost(self, error: Exception | None) -> None:
        self._open_ones.discard(self)
        self._transport = None
        if self._status and not self._has_length:
            self._complete()  # an answer may also end with its connection
        self.fail(FailureKind.LOST, "connection closed before the answer" if error is None else text_of(error))

    # --------------------------------------------------------------------------------------------- httptools' callbacks

    def on_header(self, name: bytes, value: bytes) -> None:
        lower = name.lower()
        if lower in _HEADERS_READ:
            self._headers[lower.decode()] = value.decode("latin-1")
        elif lower in _HEADERS_OF_LENGTH:
            self._has_length = True

    def on_headers_complete(self) -> None:
        self._status = self._parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._status < 200:
            self._clear()  # an interim answer
            return
        if not self._parser.should_keep_alive() and self._transport is not None:
            self._transport.close()
        self._complete()

    def _complete(self) -> None:
        response = Response(self._status, self._headers, b"".join(self._body))
        self._clear()
        self._has_begun = False
        self._answered(response)

    def _answered(self, response: Response) -> None:
        answer, self._answer = self._answer, None
        if answer is None:
            self.abort()  # two answers to one request
        elif not answer.done():
            answer.set_result(response)

    def _clear(self) -> None:
        self._headers, self._body, self._status, self._has_length = {}, [], 0, False
