"""The HTTP client of the edge: raw JSON in and out, to one API server.

Writes go over connections of our own (``connections``), all else, and everything where a proxy stands between, through pyreqwest.
Choices that were measured: HTTP/2 where the server offers it (requests and watches share a connection); no compression, because
a compressed stream ends in a decoding error; a streamed answer is handed over as it comes, not in blocks of 64 KiB.
The Authorization header is marked sensitive and appears in no log and no error.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from time import perf_counter
from typing import Any, Self, TypeAlias, TypeVar
from urllib.parse import urlsplit

import structlog
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import BuilderError, DetailedPyreqwestError, RequestTimeoutError
from pyreqwest.proxy import ProxyBuilder
from pyreqwest.request import RequestBuilder, StreamRequest
from pyreqwest.response import ResponseBodyReader

from scheduler.kube.connections import Connections
from scheduler.kube.credentials import Credentials, CredentialsError, Endpoint
from scheduler.kube.fence import Fence
from scheduler.kube.request_counts import RequestCounts
from scheduler.kube.transport import FailureKind, Response, Transport, TransportFailure, WatchStream, error_of

log = structlog.get_logger(__name__)

T = TypeVar("T")
ObserveRequest: TypeAlias = Callable[[str, int, float], None]

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0  # as long as the server itself lets a request take
WRITE_SECONDS = 30.0
# A connection whose peer is gone is noticed by these pings, well before a request on it times out.
PING_INTERVAL_SECONDS = 30.0
PING_TIMEOUT_SECONDS = 15.0
# HTTP/2 lets this much of one answer, and of all answers, be under way; the default of 64 KiB slows down large lists.
STREAM_WINDOW_BYTES = 4 << 20
CONNECTION_WINDOW_BYTES = 16 << 20
READS_PER_TURN = 16
# Variables of the environment are set while a client is built, and there may be a client for each thread.
_ENVIRONMENT = threading.Lock()


class ApiClient:
    """The Transport to a real API server. Close it, or use it in an ``async with``."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        version: str,
        observe: ObserveRequest | None = None,
        reads_small: bool = False,
    ) -> None:
        """Build the client; nothing is sent yet.

        Args:
            credentials: where to connect and as whom; looked at before each request.
            version: the product's version, for the user agent ``reprise/VERSION``.
            observe: called after each request with its method, status (0: no answer) and seconds; a watch counts until its headers.
            reads_small: what is read is small and goes over connections as writes do, of which one that hangs is given up at once
                with its request.

        Raises:
            CredentialsError: a certificate or key cannot be used.
        """
        self._credentials = credentials
        self._user_agent = f"reprise/{version}"
        self._observe = observe
        self._reads_small = reads_small
        self._endpoint = credentials.endpoint
        self.counts = RequestCounts(urlsplit(self._endpoint.url).netloc.rpartition("@")[2])
        self._client = self._build(self._endpoint)
        self._connections = self._build_connections(self._endpoint)
        if not self._endpoint.is_verified:
            log.warning(
                "The API server's certificate is not verified", url=self._endpoint.url, source=credentials.source
            )

    @property
    def url(self) -> str:
        return self._endpoint.url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections; requests under way fail."""
        if self._connections is not None:
            self._connections.close()
        await _cancellable(self._client.close())

    def get(self, path: str) -> Coroutine[Any, Any, Response]:
        return self._send("GET", path, READ_SECONDS)

    # Not coroutines themselves: each one on the way of an answer takes time, and there are many answers.

    def post(self, path: str, body: bytes) -> Coroutine[Any, Any, Response]:
        return self._send("POST", path, WRITE_SECONDS, body)

    def patch(self, path: str, body: bytes, content_type: str) -> Coroutine[Any, Any, Response]:
        return self._send("PATCH", path, WRITE_SECONDS, body, content_type)

    def put(self, path: str, body: bytes) -> Coroutine[Any, Any, Response]:
        return self._send("PUT", path, WRITE_SECONDS, body)

    def delete(self, path: str, body: bytes = b"") -> Coroutine[Any, Any, Response]:
        return self._send("DELETE", path, WRITE_SECONDS, body)

    def fenced(self, fence: Fence) -> Transport:
        """This client for one who may write only while the fence is open: each write raises FenceClosed otherwise."""
        return _FencedClient(self, fence)

    @asynccontextmanager
    async def watch(self, path: str) -> AsyncIterator[WatchStream]:
        """Open a watch. Silence is not looked for here: whoever reads knows how long is too long."""
        request = self._request("GET", path).streamed_read_buffer_limit(0).build_streamed()
        try:
            reader = await self._open(request, path)
            yield _Lines(reader, f"{self.url}{path}")
        finally:
            # It only ends the stream, which may be broken already (the one) or was never opened (the other).
            with suppress(DetailedPyreqwestError, RuntimeError):
                await request.__aexit__(None, None, None)

    async def _open(self, request: StreamRequest, path: str) -> ResponseBodyReader:
        """The body of a watch, when the server grants it."""
        began = perf_counter()
        try:
            response = await _cancellable(request.__aenter__())
            self._watch_seen(response.status, began)
            if response.status == 200:
                return response.body_reader
            body = await _cancellable(response.bytes())
        except DetailedPyreqwestError as error:
            self._watch_seen(0, began)
            failure = _failure_of("GET", f"{self.url}{path}", error)
            if failure.kind is FailureKind.TLS:
                await self._reload()
            raise failure from error
        if response.status == 401:
            await self._reload()
        raise error_of(Response(response.status, _headers(response), body.to_bytes()))

    # ---------------------------------------------------------------------------------------------------------- requests

    async def _send(
        self,
        method: str,
        path: str,
        seconds: float,
        body: bytes = b"",
        content_type: str = "application/json",
        fence: Fence | None = None,
    ) -> Response:
        """One request, and once more with new credentials when the server did not accept or could not prove an identity."""
        is_last = False
        while True:
            began = perf_counter()
            try:
                if (method == "GET" and not self._reads_small) or self._connections is None:
                    if fence is not None:
                        fence.check()
                    response = await self._ask(method, path, seconds, body, content_type)
                else:
                    authorization = self._credentials.authorization()
                    response = await self._connections.send(
                        method, path, body, content_type, authorization, seconds, fence
                    )
            except TransportFailure as failure:
                self._seen(method, 0, began, len(body), 0)
                if is_last or failure.kind is not FailureKind.TLS or not await self._reload():
                    raise
                self.counts.retries[method, 0] += 1
            else:
                self._seen(method, response.status, began, len(body), len(response.body))
                if is_last or response.status != 401 or not await self._reload():
                    return response
                self.counts.retries[method, response.status] += 1
            is_last = True

    async def _ask(self, method: str, path: str, seconds: float, body: bytes, content_type: str) -> Response:
        """One request through pyreqwest."""
        request = self._request(method, path).timeout(timedelta(seconds=seconds))
        if body:
            request = request.header("content-type", content_type).body_bytes(body)
        try:
            response = await _cancellable(request.build().send())
            content = await _cancellable(response.bytes())
        except DetailedPyreqwestError as error:
            raise _failure_of(method, f"{self.url}{path}", error) from error
        return Response(response.status, _headers(response), content.to_bytes())

    def _request(self, method: str, path: str) -> RequestBuilder:
        request = self._client.request(method, self._base + path)
        authorization = self._credentials.authorization()
        if authorization is not None:
            request = request.header("authorization", authorization, is_sensitive=True)
        return request

    async def _reload(self) -> bool:
        """Take new credentials into use; whether there were any."""
        before = self._endpoint
        if not await self._credentials.reload() and self._credentials.endpoint == before:
            return False
        if self._credentials.endpoint != self._endpoint:
            endpoint = self._credentials.endpoint
            client, connections = self._build(endpoint), self._build_connections(endpoint)
            # The old ones are let go, not closed: requests of others are still under way on them.
            if self._connections is not None:
                self._connections.retire()
            self._endpoint, self._client, self._connections = endpoint, client, connections
        log.info("Credentials were loaded anew", source=self._credentials.source)
        return True

    def _seen(self, method: str, status: int, began: float, sent: int, received: int) -> None:
        seconds = perf_counter() - began
        self.counts.seen(method, status, seconds, sent, received)
        if self._observe is not None:
            self._observe(method, status, seconds)

    def _watch_seen(self, status: int, began: float) -> None:
        """As in client-go a watch is counted as a request, and neither its time nor its size is measured: it has no end."""
        self.counts.requests["GET", status] += 1
        if self._observe is not None:
            self._observe("GET", status, perf_counter() - began)

    # ------------------------------------------------------------------------------------------------------------- build

    def _build(self, endpoint: Endpoint) -> Client:
        try:
            with _only_authority(endpoint.ca_file):
                builder, self._base = self._configure(endpoint)
                return builder.build()
        except (BuilderError, ValueError, OSError) as error:
            raise CredentialsError(f"{self._credentials.source}: {endpoint.url}: {_innermost(error)}") from error

    def _build_connections(self, endpoint: Endpoint) -> Connections | None:
        return None if endpoint.proxy else Connections(endpoint, self._user_agent)

    def _configure(self, endpoint: Endpoint) -> tuple[ClientBuilder, str]:
        builder = (
            ClientBuilder()
            .user_agent(self._user_agent)
            .default_headers({"accept": "application/json"})
            .follow_redirects(False)
            .gzip(False)
            .brotli(False)
            .zstd(False)
            .deflate(False)
            .connect_timeout(timedelta(seconds=CONNECT_SECONDS))
            .http2(True)
            .http2_initial_stream_window_size(STREAM_WINDOW_BYTES)
            .http2_initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .http2_keep_alive_interval(timedelta(seconds=PING_INTERVAL_SECONDS))
            .http2_keep_alive_timeout(timedelta(seconds=PING_TIMEOUT_SECONDS))
            .http2_keep_alive_while_idle(True)
            .no_proxy()
        )
        if endpoint.proxy:
            proxy = ProxyBuilder.all(endpoint.proxy)
            builder = builder.proxy(proxy.no_proxy(endpoint.no_proxy) if endpoint.no_proxy else proxy)
        if endpoint.ca_pem:
            builder = builder.add_root_certificate_pem(endpoint.ca_pem)
        if endpoint.identity_pem:
            builder = builder.identity_pem(endpoint.identity_pem)
        if not endpoint.is_verified:
            builder = builder.danger_accept_invalid_certs(True)
        base = endpoint.url
        if endpoint.server_name:
            builder, base = _expect_name(builder, endpoint)
        return builder, base


class _FencedClient:
    """The client behind a fence; reads and watches pass it."""

    def __init__(self, client: ApiClient, fence: Fence) -> None:
        self._client = client
        self._fence = fence
        self.get = client.get
        self.watch = client.watch

    def post(self, path: str, body: bytes) -> Coroutine[Any, Any, Response]:
        return self._client._send("POST", path, WRITE_SECONDS, body, fence=self._fence)  # noqa: SLF001 - its other half

    def patch(self, path: str, body: bytes, content_type: str) -> Coroutine[Any, Any, Response]:
        return self._client._send("PATCH", path, WRITE_SECONDS, body, content_type, self._fence)  # noqa: SLF001

    def put(self, path: str, body: bytes) -> Coroutine[Any, Any, Response]:
        return self._client._send("PUT", path, WRITE_SECONDS, body, fence=self._fence)  # noqa: SLF001

    def delete(self, path: str, body: bytes = b"") -> Coroutine[Any, Any, Response]:
        return self._client._send("DELETE", path, WRITE_SECONDS, body, fence=self._fence)  # noqa: SLF001


class _Lines:
    """Cuts a stream into lines.

    A read of what has arrived already does not go through the event loop, so in a large list the others get a turn now and then.
    """

    def __init__(self, reader: ResponseBodyReader, url: str) -> None:
        self._reader = reader
        self._url = url
        self._rest: list[bytes] = []
        self._reads = 0

    async def lines(self) -> list[bytes] | None:
        while True:
            self._reads += 1
            if self._reads % READS_PER_TURN == 0:
                await asyncio.sleep(0)
            try:
                chunk = await _cancellable(self._reader.read_chunk())
            except DetailedPyreqwestError as error:
                raise _failure_of("GET", self._url, error) from error
            if chunk is None:
                return None
            data = chunk.to_bytes()
            if b"\n" not in data:
                self._rest.append(data)
                continue
            if self._rest:
                data = b"".join((*self._rest, data))
            lines = data.split(b"\n")
            last = lines.pop()
            self._rest = [last] if last else []
            return lines


async def _cancellable(awaitable: Awaitable[T]) -> T:
    """Await something of pyreqwest's, whose coroutines drop a cancellation that comes when their result is there already.

    Dropped, it would be lost for good: time-outs would not fire and tasks would not end.
    """
    task = asyncio.current_task()
    assert task is not None, "not in a task"
    before = task.cancelling()
    try:
        return await awaitable
    finally:
        if task.cancelling() > before:
            raise asyncio.CancelledError


def _headers(response: Any) -> dict[str, str]:
    """The few that anybody here reads; a copy of all would cost more than the rest of an answer."""
    retry_after = response.get_header("retry-after")
    return {} if retry_after is None else {"retry-after": retry_after}


def _expect_name(builder: ClientBuilder, endpoint: Endpoint) -> tuple[ClientBuilder, str]:
    """Connect to the URL's host and expect ``tls-server-name`` in its certificate: the name is made to resolve to the host."""
    parts = urlsplit(endpoint.url)
    host, port = parts.hostname or "", parts.port or 443
    try:
        address = str(ipaddress.ip_address(host))
    except ValueError:
        address = str(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0])
    return builder.resolve(endpoint.server_name, address, port), f"https://{endpoint.server_name}:{port}{parts.path}"


@contextmanager
def _only_authority(ca_file: str) -> Iterator[None]:
    """Trust the cluster's own authority alone, as every Kubernetes client does.

    pyreqwest adds it to the system's authorities, which it reads, while a client is being built, from the file that these variables name.
    """
    if not ca_file:
        yield
        return
    with _ENVIRONMENT:
        yield from _trusting(ca_file)


def _trusting(ca_file: str) -> Iterator[None]:
    before = {name: os.environ.pop(name, None) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")}
    os.environ["SSL_CERT_FILE"] = str(Path(ca_file).absolute())
    try:
        yield
    finally:
        del os.environ["SSL_CERT_FILE"]
        os.environ.update({name: value for name, value in before.items() if value is not None})


# ---------------------------------------------------------------------------------------------------------------- failures


def _causes(error: BaseException) -> list[str]:
    details = error.details if isinstance(error, DetailedPyreqwestError) else None
    return [cause["message"] for cause in (details or {"causes": None})["causes"] or []]


def _innermost(error: BaseException) -> str:
    causes = _causes(error)
    return causes[-1] if causes else str(error)


def _failure_of(method: str, url: str, error: DetailedPyreqwestError) -> TransportFailure:
    """What a failed request means.

    pyreqwest calls everything before the answer's headers a connect error; its causes tell whether the request was sent.
    """
    causes = _causes(error)
    text = " ".join(causes).lower()
    was_connecting = any("(Connect)" in cause for cause in causes)
    if isinstance(error, RequestTimeoutError) or "timed out" in text:
        kind = FailureKind.UNREACHABLE if was_connecting else FailureKind.TIMEOUT
    elif not was_connecting:
        kind = FailureKind.LOST
    elif "connection refused" in text:
        kind = FailureKind.REFUSED
    elif any(word in text for word in ("certificate", "tls", "handshake", "corrupt message", "alert")):
        kind = FailureKind.TLS
    else:
        kind = FailureKind.UNREACHABLE
    innermost = causes[-1] if causes else str(error)
    return TransportFailure(kind, f'{method.capitalize()} "{url}": {innermost}', sent=not was_connecting)
