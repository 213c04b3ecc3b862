"""A socket that is listened on, and the connections that come: so many at once, so many a second of each peer, no more."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

from aiohttp import web

from scheduler.serving.pace import Pace

AT_ONCE = 256
"""Connections, and as many again in the middle of their handshake. Then the oldest one goes: whoever holds many keeps nobody out."""
PER_SECOND, BURST = 50.0, 200
"""New connections of one peer."""
HANDSHAKE_SECONDS = 10.0
GOODBYE_SECONDS = 5.0
BACKLOG = 128
OUT_OF_FILES_SECONDS = 0.1


def listening_socket(address: str, port: int) -> socket.socket:
    """A socket that listens; 0.0.0.0 and :: are all addresses of both families, where there are both, as Go's programs have it.

    Raises:
        OSError: the address is not of this machine, or the port is taken.
    """
    if address in ("0.0.0.0", "::") and socket.has_dualstack_ipv6():
        found = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=BACKLOG)
    else:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        found = socket.create_server((address, port), family=family, backlog=BACKLOG)
    found.setblocking(False)
    return found


class Listener:
    """Gives connections to an aiohttp server.

    Args:
        context: TLS for a new connection; None for plain HTTP.
    """

    def __init__(
        self,
        listening: socket.socket,
        server: web.Server,
        *,
        context: Callable[[], ssl.SSLContext] | None = None,
        monotonic: Callable[[], float],
    ) -> None:
        self._socket = listening
        self._server = server
        self._context = context
        self._pace = Pace(PER_SECOND, BURST, monotonic)
        self._opening: dict[asyncio.Task[None], socket.socket] = {}
        self._begun: set[socket.socket] = set()
        self._transports: list[tuple[asyncio.Transport, socket.socket]] = []
        """Also those that are being closed, which takes time with TLS."""
        self.turned_away = 0

    @property
    def port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    async def run(self) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                try:
                    connection, peer = await loop.sock_accept(self._socket)
                except OSError as error:
                    # Who wanted in has gone already; or there are no more files, which may be better in a moment.
                    has_gone = error.errno in (errno.ECONNABORTED, errno.EPROTO)
                    await asyncio.sleep(0.0 if has_gone else OUT_OF_FILES_SECONDS)
                    continue
                if not self._pace.take(peer[0]):
                    self.turned_away += 1
                    connection.close()
                    continue
                self._make_room()
                task = loop.create_task(self._open(connection))
                self._opening[task] = connection
                task.add_done_callback(self._opened)
        finally:
            self._socket.close()
            for task in tuple(self._opening):
                task.cancel()

    def abort(self) -> None:
        """Cut what is still open; who was closed politely may take long to say goodbye."""
        for transport, connection in self._transports:
            if connection.fileno() < 0:
                continue
            # One with TLS that was closed twice has forgotten by what it could be cut, and fails at it in Python 3.11.2.
            with suppress(AttributeError):
                transport.abort()
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _make_room(self) -> None:
        if len(self._opening) >= AT_ONCE:
            next(iter(self._opening)).cancel()
        if len(self._transports) >= 2 * AT_ONCE:
            self._transports = [one for one in self._transports if one[1].fileno() >= 0]
        connections = self._server.connections
        for handler in connections[: max(0, len(connections) - AT_ONCE + 1)]:
            if handler.transport is not None:
                handler.transport.abort()

    async def _open(self, connection: socket.socket) -> None:
        self._begun.add(connection)
        loop = asyncio.get_running_loop()
        tls = None if self._context is None else self._context()
        # Whoever does not speak TLS, or goes in the middle of it, is none of our business.
        with suppress(OSError, ssl.SSLError):
            transport, _ = await loop.connect_accepted_socket(
                self._server,
                connection,
                ssl=tls,
                ssl_handshake_timeout=HANDSHAKE_SECONDS if tls else None,
                ssl_shutdown_timeout=GOODBYE_SECONDS if tls else None,
            )
            self._transports.append((transport, connection))

    def _opened(self, task: asyncio.Task[None]) -> None:
        connection = self._opening.pop(task)
        if connection in self._begun:
            self._begun.remove(connection)  # its transport closes it
        else:
            connection.close()
