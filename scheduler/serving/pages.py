"""What is served, as values and functions, and how each page becomes an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import msgspec
from aiohttp import web

from scheduler.serving.health import Check, HealthCounts, ping, report, report_one

T = TypeVar("T")

Document: TypeAlias = Callable[[], dict[str, Any] | Awaitable[dict[str, Any]]]
Exposition: TypeAlias = tuple[bytes, str]
Gather: TypeAlias = Callable[[], Callable[[], Exposition]]
"""Called on the loop that owns the numbers: takes them. What it returns writes them down, wherever that is called."""
Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]

OPEN_PATHS = frozenset({"/livez", "/readyz", "/healthz"})
"""Kubelets ask without a token (kube-scheduler 1.37: always allowed paths)."""
OWNER_SECONDS = 30.0
"""How long a page may wait for the loop that owns what it shows."""
DEBUG_SECONDS = 120.0


class PageError(Exception):
    """A page cannot be made now; the text says why."""


@dataclass(frozen=True, kw_only=True)
class Pages:
    """What is served.

    ``metrics`` are the texts of /metrics and of the pages below it, by path; ``configuration`` is the document of /configz; ``debug``
    those of /debug/NAME, by name; to make one can take time, and raise PageError. ``health`` is for /healthz, which is deprecated.
    Checks are called on the server's thread, all else on the loop of ``owner``, or where the server is when there is none.
    """

    health: Mapping[str, Check] = field(default_factory=lambda: {"ping": ping})
    live: Mapping[str, Check]
    ready: Mapping[str, Check]
    metrics: Mapping[str, Gather]
    configuration: Callable[[], dict[str, Any]]
    debug: Mapping[str, Document] = field(default_factory=dict)
    counts: HealthCounts = field(default_factory=HealthCounts)
    owner: asyncio.AbstractEventLoop | None = None

    def handlers(self) -> dict[str, Handler]:
        """By path, in the syntax of aiohttp."""
        found: dict[str, Handler] = {}
        for endpoint, checks in (("healthz", self.health), ("livez", self.live), ("readyz", self.ready)):
            found[f"/{endpoint}"] = self._health(endpoint, checks)
            found[f"/{endpoint}/{{check}}"] = _single_check(checks)
        found |= self.metrics_handlers()
        found["/configz"] = self._document(self._configz)
        found |= {f"/debug/{name}": self._document(document) for name, document in self.debug.items()}
        return found

    def metrics_handlers(self) -> dict[str, Handler]:
        """Those for metrics alone."""
        return {path: self._exposition(gather) for path, gather in self.metrics.items()}

    def _health(self, endpoint: str, checks: Mapping[str, Check]) -> Handler:
        async def handle(request: web.Request) -> web.Response:
            excluded = request.query.getall("exclude", [])
            is_verbose = "verbose" in request.query
            status, text = report(endpoint, checks, excluded=excluded, verbose=is_verbose, counts=self.counts)
            return web.Response(status=status, text=text)

        return handle

    def _exposition(self, gather: Gather) -> Handler:
        lock = asyncio.Lock()  # one at a time: to take the numbers keeps their owner from its work

        async def handle(_: web.Request) -> web.Response:
            async def gathered() -> Callable[[], Exposition]:
                return gather()

            async with lock:
                write = await self._there(gathered, OWNER_SECONDS)
                body, content_type = write()
            return web.Response(body=body, headers={"Content-Type": content_type})

        return handle

    async def _configz(self) -> dict[str, Any]:
        return {"componentconfig": self.configuration()}

    def _document(self, document: Document) -> Handler:
        async def handle(_: web.Request) -> web.Response:
            async def made() -> bytes:
                given = document()
                return msgspec.json.encode(given if isinstance(given, dict) else await given)

            try:
                body = await self._there(made, DEBUG_SECONDS)
            except PageError as error:
                return web.Response(status=503, text=f"{error}\n")
            return web.Response(body=body, content_type="application/json")

        return handle

    async def _there(self, make: Callable[[], Awaitable[T]], seconds: float) -> T:
        """What it makes on its owner's loop; 503 when that does not find the time."""

        async def run() -> T:
            return await make()

        try:
            async with asyncio.timeout(seconds):
                if self.owner is None:
                    return await run()
                return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run(), self.owner))
        except TimeoutError as error:
            raise web.HTTPServiceUnavailable(text=f"the scheduler was too busy for {seconds:g} s\n") from error


def _single_check(checks: Mapping[str, Check]) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        name = request.match_info["check"]
        if name not in checks:
            return web.Response(status=404, text=f"no check {name}; there are: {', '.join(checks)}\n")
        status, text = report_one(name, checks[name])
        return web.Response(status=status, text=text)

    return handle
