"""HTTP/1.1 connections for small requests in great number: binds, status patches, Events.

The HTTP client beside it, which does all the rest, takes nearly twice the CPU for them, and so does etcd, which commits together
what comes together, and on one HTTP/2 connection little does (docs/dependencies.md has the figures). A proxy is that client's business.
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import tempfile
from typing import cast
from urllib.parse import quote, urlsplit

import httptools

from scheduler.kube.credentials import CredentialsError, Endpoint
from scheduler.kube.transport import FailureKind, Response, TransportFailure

CONNECT_SECONDS = 10.0
# An API server closes a connection that was idle for 90 s. One that rested this long is not used again, for a request that meets
# the end of its connection may or may not have been carried out.
IDLE_SECONDS = 30.0
_SAFE = "/?&=%:,;@!$()*+~"
_HARMLESS = re.compile(rf"[\w.\-{re.escape(_SAFE)}]*", re.ASCII).fullmatch
_HEADERS_READ = (b"retry-after",)
_HEADERS_OF_LENGTH = (b"content-length", b"transfer-encoding")


class Connections:
    """Connections to one API server; as many as there are requests under way, which the dispatcher bounds."""

    def __init__(self, endpoint: Endpoint, user_agent: str) -> None:
        """Prepare; nothing is opened yet.

        Raises:
            CredentialsError: a certificate or key cannot be used.
        """
        address = urlsplit(endpoint.url)
        self._url = endpoint.url
        self._base = address.path.rstrip("/")
        self._host = address.hostname or ""
        self._tls = tls_context(endpoint) if address.scheme == "https" else None
        self._port = address.port or (443 if self._tls else 80)
        self._server_name = (endpoint.server_name or self._host) if self._tls else None
        host = address.netloc.rpartition("@")[2]
        self._fixed = f"Host: {host}\r\nUser-Agent: {user_agent}\r\nAccept: application/json\r\n"
        self._authorization: str | None = None
        self._common = self._fixed.encode()
        self._idle: list[_Connection] = []
        self._open: set[_Connection] = set()
        self._is_retired = False

    async def send(
        self, method: str, path: str, body: bytes, content_type: str, authorization: str | None, seconds: float
    ) -> Response:
        """One request and its answer, which must come within so many seconds.

        Raises:
            TransportFailure: there was no answer.
        """
        if authorization != self._authorization:
            self._authorization, self._common = authorization, self._headers(authorization)
        connection = self._take() or await self._connect(method, path)
        loop = asyncio.get_running_loop()
        timer = loop.call_later(seconds, connection.fail, FailureKind.TIMEOUT, "timed out")
        try:
            return await connection.request(self._message(method, path, body, content_type))
        except _Unanswered as failure:
            raise self._failure(method, path, failure.kind, failure.message, sent=True) from failure
        finally:
            timer.cancel()
            self._give_back(connection)

    def retire(self) -> None:
        """Close each connection as soon as it has answered: others have taken its place."""
        self._is_retired = True
        for connection in self._idle:
            connection.abort()
        self._idle.clear()

    def close(self) -> None:
        """Close all connections; requests under way fail."""
        for connection in tuple(self._open):
            connection.abort()
        self._idle.clear()

    # ------------------------------------------------------------------------------------------------------- connections

    def _take(self) -> _Connection | None:
        """The connection that was used last, if it is good; the oldest ones so fall out of use first."""
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and now - connection.idle_since < IDLE_SECONDS:
                return connection
            connection.abort()
        return None

    def _give_back(self, connection: _Connection) -> None:
        if connection.is_open and not self._is_retired:
            connection.idle_since = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.abort()

    async def _connect(self, method: str, path: str) -> _Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, connection = await loop.create_connection(
                    lambda: _Connection(self._open),
                    self._host,
                    self._port,
                    ssl=self._tls,
                    server_hostname=self._server_name,
                )
        except TimeoutError as error:
            raise self._failure(method, path, FailureKind.UNREACHABLE, "connecting timed out", sent=False) from error
        except ConnectionRefusedError as error:
            raise self._failure(method, path, FailureKind.REFUSED, _text_of(error), sent=False) from error
        except ssl.SSLError as error:
            raise self._failure(method, path, FailureKind.TLS, _text_of(error), sent=False) from error
        except OSError as error:
            raise self._failure(method, path, FailureKind.UNREACHABLE, _text_of(error), sent=False) from error
        return connection

    # ----------------------------------------------------------------------------------------------------------- messages

    def _headers(self, authorization: str | None) -> bytes:
        if authorization is None:
            return self._fixed.encode()
        # Whatever a token's file holds, it is one header.
        return f"{self._fixed}Authorization: {''.join(filter(str.isprintable, authorization))}\r\n".encode()

    def _message(self, method: str, path: str, body: bytes, content_type: str) -> bytes:
        target = f"{method} {self._base}{_quoted(path)} HTTP/1.1\r\n".encode()
        if not body:
            return b"".join((target, self._common, b"\r\n" if method == "DELETE" else b"Content-Length: 0\r\n\r\n"))
        length = f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        return b"".join((target, self._common, length, body))

    def _failure(self, method: str, path: str, kind: FailureKind, message: str, *, sent: bool) -> TransportFailure:
        return TransportFailure(kind, f'{method.capitalize()} "{self._url}{path}": {message}', sent=sent)


def _quoted(path: str) -> str:
    """The path, with nothing in it that could be more than a path."""
    return path if _HARMLESS(path) else quote(path, safe=_SAFE)


class _Unanswered(Exception):
    """The connection failed after the request was given to it."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class _Connection(asyncio.Protocol):
    """One connection, with at most one request under way."""

    def __init__(self, open_ones: set[_Connection]) -> None:
        self.idle_since = 0.0
        self._open_ones = open_ones
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[Response] | None = None
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._status = 0
        self._has_length = False

    @property
    def is_open(self) -> bool:
        """Whether it can take a request."""
        return self._answer is None and self._transport is not None and not self._transport.is_closing()

    def request(self, message: bytes) -> asyncio.Future[Response]:
        """Send a request; the answer comes, or _Unanswered is raised."""
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(message)
        return self._answer

    def fail(self, kind: FailureKind, message: str) -> None:
        """There will be no answer."""
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(_Unanswered(kind, message))
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
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.fail(FailureKind.LOST, f"the answer is not HTTP: {error}")

    def connection_lost(self, error: Exception | None) -> None:
        self._open_ones.discard(self)
        self._transport = None
        if self._status and not self._has_length:
            self._complete()  # an answer may also end with its connection
        self.fail(FailureKind.LOST, "connection closed before the answer" if error is None else _text_of(error))

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
        answer, self._answer = self._answer, None
        if answer is None:
            self.abort()  # two answers to one request
        elif not answer.done():
            answer.set_result(response)

    def _clear(self) -> None:
        self._headers, self._body, self._status, self._has_length = {}, [], 0, False


def tls_context(endpoint: Endpoint) -> ssl.SSLContext:
    """Trust the cluster's own authority alone when there is one, as every Kubernetes client does.

    Raises:
        CredentialsError: a certificate or key cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["http/1.1"])
    context.hostname_checks_common_name = False
    # An authority that is itself issued by another one is as good as a root: it is the one that was named.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if not endpoint.is_verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    try:
        if endpoint.ca_pem:
            context.load_verify_locations(cadata=endpoint.ca_pem.decode("ascii", "ignore"))
        else:
            context.load_default_certs()
        if endpoint.identity_pem:
            # There is no other way in than a file.
            with tempfile.NamedTemporaryFile() as file:
                file.write(endpoint.identity_pem)
                file.flush()
                context.load_cert_chain(file.name)
    except (ssl.SSLError, OSError) as error:
        raise CredentialsError(f"{endpoint.url}: {_text_of(error)}") from error
    return context


def _text_of(error: Exception) -> str:
    """What went wrong, in one form whatever the event loop."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"invalid peer certificate: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return error.reason or str(error)
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return f"{os.strerror(error.errno)} (os error {error.errno})"
    return str(error) or type(error).__name__
