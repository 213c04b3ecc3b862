"""The HTTP server. For now it is plain HTTP and listens on loopback only; anything else is refused."""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec
from aiohttp import web

from scheduler.serving.health import Check, ping, report

Document: TypeAlias = Callable[[], dict[str, Any] | Awaitable[dict[str, Any]]]


class PageError(Exception):
    """A page cannot be made now; the text says why."""


class ServingError(Exception):
    """The server cannot listen; the text says where and why."""


@dataclass(frozen=True, kw_only=True)
class Pages:
    """What is served.

    ``metrics`` gives the exposition text and its content type; ``configuration`` the document of /configz; ``debug`` those of
    /debug/NAME, by name; to make one can take time, and raise PageError. ``health`` is for /healthz, which is deprecated.
    """

    health: Mapping[str, Check] = field(default_factory=lambda: {"ping": ping})
    live: Mapping[str, Check]
    ready: Mapping[str, Check]
    metrics: Callable[[], tuple[bytes, str]]
    configuration: Callable[[], dict[str, Any]]
    debug: Mapping[str, Document] = field(default_factory=dict)


def require_loopback(address: str) -> None:
    """Raises: ServingError, for an address that other machines could reach."""
    try:
        loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        loopback = address == "localhost"
    if not loopback:
        raise ServingError(f"bind address {address}: only loopback is served for now; use 127.0.0.1 or ::1")


class Server:
    """Serves the pages from ``start`` to ``stop``."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._runner: web.AppRunner | None = None

    async def start(self, address: str, port: int) -> int:
        """Listen; the port that was taken, which matters for port 0.

        Raises:
            ServingError: the address is not loopback, or the port is taken.
        """
        require_loopback(address)
        app = web.Application()
        app.router.add_get("/healthz", self._health("healthz", self._pages.health))
        app.router.add_get("/healthz/{check}", self._health("healthz", self._pages.health))
        app.router.add_get("/livez", self._health("livez", self._pages.live))
        app.router.add_get("/livez/{check}", self._health("livez", self._pages.live))
        app.router.add_get("/readyz", self._health("readyz", self._pages.ready))
        app.router.add_get("/readyz/{check}", self._health("readyz", self._pages.ready))
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/configz", self._configz)
        for name, document in self._pages.debug.items():
            app.router.add_get(f"/debug/{name}", self._debug(document))
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, address, port)
        try:
            await site.start()
        except OSError as error:
            await runner.cleanup()
            raise ServingError(
                f"cannot listen on {address}:{port}: {error.strerror}; set serving.port to a free one"
            ) from error
        self._runner = runner
        taken: int = runner.addresses[0][1]
        return taken

    async def stop(self) -> None:
        """Close the listening socket and every connection."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _health(self, endpoint: str, checks: Mapping[str, Check]) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.Response:
            chosen = checks
            name = request.match_info.get("check")
            if name is not None:
                if name not in checks:
                    return web.Response(status=404, text=f"no check {name}; there are: {', '.join(checks)}\n")
                chosen = {name: checks[name]}
            status, text = report(
                endpoint, chosen, excluded=request.query.getall("exclude", []), verbose="verbose" in request.query
            )
            return web.Response(status=status, text=text, headers={"X-Content-Type-Options": "nosniff"})

        return handle

    async def _metrics(self, _: web.Request) -> web.Response:
        body, content_type = self._pages.metrics()
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def _configz(self, _: web.Request) -> web.Response:
        body = msgspec.json.encode({"componentconfig": self._pages.configuration()})
        return web.Response(body=body, content_type="application/json")

    def _debug(self, document: Document) -> Callable[[web.Request], Any]:
        async def handle(_: web.Request) -> web.Response:
            try:
                made = document()
                found = made if isinstance(made, dict) else await made
            except PageError as error:
                return web.Response(status=503, text=f"{error}\n")
            return web.Response(body=msgspec.json.encode(found), content_type="application/json")

        return handle
