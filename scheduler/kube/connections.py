"""HTTP/1.1 connections for small requests in great number: binds, status patches, Events.

The HTTP client beside it, which does all the rest, takes nearly twice the CPU for them, and so does etcd, which commits together
what comes together, and on one HTTP/2 connection little does (docs/dependencies.md has the figures). A proxy is that client's business.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Callable
from urllib.parse import quote, urlsplit

from scheduler.kube.connection import Connection, Unanswered
from scheduler.kube.credentials import Endpoint
from scheduler.kube.fence import Fence
from scheduler.kube.tls import text_of, tls_context
from scheduler.kube.transport import FailureKind, Response, TransportFailure

CONNECT_SECONDS = 10.0
# An API server closes a connection that was idle for 90 s. One that rested this long is not used again, for a request that meets
# the end of its connection may or may not have been carried out.
IDLE_SECONDS = 30.0
_SAFE = "/?&=%:,;@!$()*+~"
_HARMLESS = re.compile(rf"[\w.\-{re.escape(_SAFE)}]*", re.ASCII).fullmatch


class Connections:
    """Connections to one API server; as many as there are requests under way, which the dispatcher bounds."""

    def __init__(
        self,
        endpoint: Endpoint,
        user_agent: str,
        *,
        connection: Callable[[set[Connection]], Connection] = Connection,
    ) -> None:
        """Prepare; nothing is opened yet.

        Args:
            connection: makes one, given all that are open.

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
        self._new_connection = connection
        self._authorization: str | None = None
        self._common = self._fixed
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._is_retired = False
        self._timer: asyncio.TimerHandle | None = None

    async def send(
        self,
        method: str,
        path: str,
        body: bytes,
        content_type: str,
        authorization: str | None,
        seconds: float,
        fence: Fence | None = None,
    ) -> Response:
        """One request and its answer, which must come within so many seconds. A fence is asked when there is a connection.

        Raises:
            TransportFailure: there was no answer.
            FenceClosed: the fence did not let the request pass; nothing was sent.
        """
        if authorization != self._authorization:
            self._authorization, self._common = authorization, self._headers(authorization)
        loop = asyncio.get_running_loop()
        connection = self._take(loop.time()) or await self._connect(method, path)
        answer: asyncio.Future[Response] = loop.create_future()
        deadline = loop.time() + seconds
        self._expire_at(deadline)
        try:
            if fence is not None:
                fence.check()  # nothing waits between this and the bytes; to connect may have taken long
            connection.request(self._message(method, path, body, content_type), answer, deadline)
            return await answer
        except Unanswered as failure:
            raise self._failure(method, path, failure.kind, failure.message, sent=True) from failure
        finally:
            self._give_back(connection, loop.time())

    def retire(self) -> None:
        """Close each connection as soon as it has answered: others have taken its place."""
        self._is_retired = True
        for connection in self._idle:
            connection.abort()
        self._idle.clear()

    def close(self) -> None:
        """Close all connections; requests under way fail."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for connection in tuple(self._open):
            connection.abort()
        self._idle.clear()

    # ------------------------------------------------------------------------------------------------------- connections

    def _take(self, now: float) -> Connection | None:
        """The connection that was used last, if it is good; the oldest ones so fall out of use first."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and now - connection.idle_since < IDLE_SECONDS:
                return connection
            connection.abort()
        return None

    def _give_back(self, connection: Connection, now: float) -> None:
        if connection.is_new:
            connection.is_new = False
            if self._tls is not None:
                self._tls.session = connection.session or self._tls.session
        if connection.is_open and not self._is_retired:
            connection.idle_since = now
            self._idle.append(connection)
        else:
            connection.abort()

    async def _connect(self, method: str, path: str) -> Connection:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: self._new_connection(self._open),
                    self._host,
                    self._port,
                    ssl=self._tls,
                    server_hostname=self._server_name,
                )
        except TimeoutError as error:
            raise self._failure(method, path, FailureKind.UNREACHABLE, "connecting timed out", sent=False) from error
        except ConnectionRefusedError as error:
            raise self._failure(method, path, FailureKind.REFUSED, text_of(error), sent=False) from error
        except ssl.SSLError as error:
            raise self._failure(method, path, FailureKind.TLS, text_of(error), sent=False) from error
        except OSError as error:
            raise self._failure(method, path, FailureKind.UNREACHABLE, text_of(error), sent=False) from error
        return connection

    # ---------------------------------------------------------------------------------------------------------- deadlines

    def _expire_at(self, deadline: float) -> None:
        """See to it that deadlines are looked at by then: one timer for all requests, of which hardly any is not answered in time."""
        timer = self._timer
        if timer is not None:
            if timer.when() <= deadline:
                return
            timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(deadline, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for connection in [one for one in self._open if one.is_busy and one.deadline <= now]:
            connection.fail(FailureKind.TIMEOUT, "timed out")
        if deadlines := [one.deadline for one in self._open if one.is_busy]:
            self._expire_at(min(deadlines))

    # ----------------------------------------------------------------------------------------------------------- messages

    def _headers(self, authorization: str | None) -> str:
        if authorization is None:
            return self._fixed
        # Whatever a token's file holds, it is one header.
        return f"{self._fixed}Authorization: {''.join(filter(str.isprintable, authorization))}\r\n"

    def _message(self, method: str, path: str, body: bytes, content_type: str) -> bytes:
        if body:
            rest = f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
        else:
            rest = "\r\n" if method in ("DELETE", "GET") else "Content-Length: 0\r\n\r\n"
        return f"{method} {self._base}{_quoted(path)} HTTP/1.1\r\n{self._common}{rest}".encode() + body

    def _failure(self, method: str, path: str, kind: FailureKind, message: str, *, sent: bool) -> TransportFailure:
        return TransportFailure(kind, f'{method.capitalize()} "{self._url}{path}": {message}', sent=sent)


def _quoted(path: str) -> str:
    """The path, with nothing in it that could be more than a path."""
    return path if _HARMLESS(path) else quote(path, safe=_SAFE)
