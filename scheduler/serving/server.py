"""The HTTP server, on a thread and an event loop of its own, so that neither pages nor whoever asks for them in great number hold up a decision.

Up to three ports: HTTPS that asks who wants to know, HTTP for /metrics alone, and HTTP for everything on loopback.
"""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec
import structlog
from aiohttp import web

from scheduler.serving.certificates import Certificate, CertificateError
from scheduler.serving.gate import Gate, Refusal
from scheduler.serving.listener import Listener, listening_socket
from scheduler.serving.pace import Pace
from scheduler.serving.pages import OPEN_PATHS, Handler, Pages

log = structlog.get_logger(__name__)

T = TypeVar("T")

LOOK_SECONDS = 10.0
"""How often the certificate's files are looked at."""
STOP_SECONDS = 5.0
END_SECONDS = 20.0
"""How long the end of the process may wait for the end of the server."""
KEEP_ALIVE_SECONDS = 75.0
REQUESTS_PER_SECOND, REQUESTS_AT_ONCE = 100.0, 300
"""Of one peer, where others than this machine can be peers."""
TURNS = 5
"""Of the loop, until connections that are being closed are closed."""
LOOPBACK_NAMES = ("localhost",)


class ServingError(Exception):
    """The server cannot listen; the text says where and why."""


class Address(NamedTuple):
    """Where to listen; ``setting`` is the port's name in the configuration."""

    host: str
    port: int
    setting: str


class Secure(NamedTuple):
    """The HTTPS port."""

    address: Address
    certificate: Certificate
    gate: Gate


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach it."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address in LOOPBACK_NAMES


class Server:
    """Serves the pages from ``start`` to ``stop``; both are for another loop than its own.

    Args:
        secure: HTTPS, if at all.
        plain_metrics: where /metrics alone is, to everybody.
        insecure: where everything is, to everybody who can reach loopback.
        loop_factory: makes the event loop of its thread.

    Attributes:
        ports: those that were taken, by the setting, which matters for port 0.
    """

    def __init__(
        self,
        pages: Pages,
        *,
        secure: Secure | None = None,
        plain_metrics: Address | None = None,
        insecure: Address | None = None,
        loop_factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
    ) -> None:
        self.ports: dict[str, int] = {}
        self._pages = pages
        self._secure = secure
        self._plain_metrics = plain_metrics
        self._insecure = insecure
        self._loop_factory = loop_factory
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._runners: list[web.AppRunner] = []
        self._listeners: list[Listener] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._is_failing = False

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Its own loop, from ``start`` on."""
        assert self._loop is not None, "start it first"
        return self._loop

    async def start(self) -> None:
        """Listen.

        Raises:
            ServingError: an address is not that of this machine, or its port is taken; or everybody could reach what is for loopback.
        """
        if self._insecure is not None and not is_loopback(self._insecure.host):
            raise ServingError(f"serving.insecureBindAddress: {self._insecure.host} is not a loopback address")
        self._loop = self._loop_factory()
        self._thread = threading.Thread(target=self._loop.run_forever, name="serving", daemon=True)
        self._thread.start()
        try:
            await self._there(self._start())
        except BaseException:
            await self.stop()
            raise

    async def stop(self, *, before_end: Callable[[], Awaitable[None]] | None = None) -> None:
        """Close the listening sockets and every connection, those that are still being answered after a while. ``before_end`` runs
        on the server's loop when all is closed.
        """
        if self._loop is None or self._thread is None:
            return
        try:
            async with asyncio.timeout(END_SECONDS):
                await self._there(self._stop(before_end))
        except TimeoutError:
            log.warning("the server of pages did not stop in time; it ends with the process")
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)
        self._loop.close()
        self._loop = self._thread = None

    # -------------------------------------------------------------------------------------------------- on its own thread

    async def _there(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self.loop))

    async def _start(self) -> None:
        handlers, ration = (
            self._pages.handlers(),
            _rationed(Pace(REQUESTS_PER_SECOND, REQUESTS_AT_ONCE, time.monotonic)),
        )
        if self._secure is not None:
            address, certificate, gate = self._secure
            await self._listen(address, handlers, ration, _guard(gate), context=lambda: certificate.context)
            self._tasks.append(self.loop.create_task(self._look_at(certificate)))
        if self._plain_metrics is not None:
            metrics = {path: made for path, made in self._pages.metrics_handlers().items() if path == "/metrics"}
            await self._listen(self._plain_metrics, metrics, ration, _plain)
        if self._insecure is not None:
            await self._listen(self._insecure, handlers, _only_for_loopback)

    async def _listen(
        self,
        address: Address,
        handlers: Mapping[str, Handler],
        *middlewares: Any,
        context: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        app = web.Application(middlewares=middlewares)
        for path, handler in handlers.items():
            app.router.add_get(path, handler)
        runner = web.AppRunner(
            app, access_log=None, keepalive_timeout=KEEP_ALIVE_SECONDS, shutdown_timeout=STOP_SECONDS
        )
        await runner.setup()
        self._runners.append(runner)
        assert runner.server is not None
        try:
            listening = listening_socket(address.host, address.port)
        except OSError as error:
            raise ServingError(
                f"cannot listen on {address.host}:{address.port}: {error.strerror}; set {address.setting} to a free one"
            ) from error
        listener = Listener(listening, runner.server, context=context, monotonic=time.monotonic)
        self._listeners.append(listener)
        self.ports[address.setting] = listener.port
        self._tasks.append(self.loop.create_task(listener.run()))

    async def _look_at(self, certificate: Certificate) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                if certificate.look():
                    log.info("serving with a new certificate")
                self._is_failing = False
            except CertificateError as error:
                # While somebody renews them the files may not belong together for a moment.
                if not self._is_failing:
                    log.warning("the new certificate cannot be used; the old one is kept", error=str(error))
                self._is_failing = True

    async def _stop(self, before_end: Callable[[], Awaitable[None]] | None) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for runner in self._runners:
            await runner.cleanup()
        for listener in self._listeners:
            listener.abort()
        if before_end is not None:
            await before_end()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for _ in range(TURNS):
            await asyncio.sleep(0)
        await self.loop.shutdown_asyncgens()


# ------------------------------------------------------------------------------------------------------------- middlewares


def _rationed(pace: Pace) -> Any:
    @web.middleware
    async def ration(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not pace.take(request.remote or ""):
            return _with_headers(_refused(Refusal(429, "TooManyRequests", "too many requests")))
        return await handler(request)

    return ration


def _guard(gate: Gate) -> Any:
    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path not in OPEN_PATHS:
            try:
                await gate.admit(
                    request.headers.get("Authorization", ""),
                    method=request.method,
                    path=request.path,
                    peer=request.remote or "",
                )
            except Refusal as refusal:
                return _with_headers(_refused(refusal))
        return await _answer(request, handler)

    return guard


@web.middleware
async def _plain(request: web.Request, handler: Handler) -> web.StreamResponse:
    return await _answer(request, handler)


@web.middleware
async def _only_for_loopback(request: web.Request, handler: Handler) -> web.StreamResponse:
    """A browser on this machine may have been led here under another name, by a page that wants to read what is here."""
    host = request.host.rpartition(":")[0] if request.host.rpartition(":")[2].isdecimal() else request.host
    if not is_loopback(host.strip("[]")):
        return _with_headers(web.Response(status=403, text=f"{host} is no name of loopback\n"))
    return await _answer(request, handler)


async def _answer(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return _with_headers(await handler(request))
    except web.HTTPException as refused:
        # aiohttp's own 404 and 405.
        return _with_headers(
            web.Response(status=refused.status, text=f"{refused.text or refused.reason}".rstrip() + "\n")
        )


def _with_headers(response: web.StreamResponse) -> web.StreamResponse:
    response.headers["Cache-Control"] = "no-cache, private"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _refused(refusal: Refusal) -> web.Response:
    """kube-scheduler 1.37: a Status, but for what cannot be found out."""
    if refusal.status == 500:
        return web.Response(status=500, text=f"{refusal.message}\n")
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": refusal.message,
        "reason": refusal.reason,
        "code": refusal.status,
    }
    if refusal.status == 403:
        status["details"] = {}
    headers = {"Content-Type": "application/json"}
    if refusal.status == 429:
        headers["Retry-After"] = "1"
    response = web.Response(status=refusal.status, body=msgspec.json.encode(status) + b"\n", headers=headers)
    if refusal.status in (401, 429):
        response.force_close()  # new connections are rationed, so that who is let in nowhere does not take much time
    return response
