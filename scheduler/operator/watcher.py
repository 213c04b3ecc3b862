"""kopf, on a thread and an event loop of its own, which tells of changes of SchedulerConfigurations and does nothing else.

It watches: it keeps no progress in objects, posts no Events, adds no finalizers and scans for nothing. On its exit it cancels every task
of its loop, so the loop is its own. Whatever ends it ends the process, which must not go on with a configuration that nobody
can change.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import kopf
import structlog

from scheduler.operator.resource import GROUP, PLURAL, VERSION

log = structlog.get_logger(__name__)

STOP_SECONDS = 5.0
AGENT = "reprise"

OnChange: TypeAlias = Callable[[str, Mapping[str, Any]], None]
"""Told of the kind of change (``ADDED``, ``MODIFIED``, ``DELETED``, or "" for what was there) and of the whole object."""


@dataclass(frozen=True, kw_only=True)
class Login:
    """How to reach the API server, and as whom; PEM text, "" for what there is not."""

    server: str
    ca_pem: str = ""
    is_verified: bool = True
    scheme: str = ""
    token: str = ""
    identity_pem: str = ""
    proxy: str = ""


class OperatorFailed(Exception):
    """kopf ended although nobody wanted it to."""


class ResourceWatcher:
    """One run of kopf. To be used on one event loop, where ``on_change`` is called too.

    Args:
        login: called on kopf's thread, when it begins and when its credentials are not accepted any more.
    """

    def __init__(self, login: Callable[[], Login], on_change: OnChange) -> None:
        self._login = login
        self._on_change = on_change
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    async def run(self) -> None:
        """Watch until cancelled.

        Raises:
            OperatorFailed: kopf did not go on.
        """
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[str] = loop.create_future()

        def tell(kind: str, found: Mapping[str, Any]) -> None:
            loop.call_soon_threadsafe(self._on_change, kind, found)

        def end(error: str) -> None:
            if not ended.done():
                ended.set_result(error)

        def work() -> None:
            error = "it ended by itself"
            try:
                asyncio.run(_operate(self._login, tell, self._stop))
            except BaseException as failure:  # noqa: BLE001 - whatever it is, the process has to know
                error = f"{type(failure).__name__}: {failure}"
            if not loop.is_closed():
                loop.call_soon_threadsafe(end, error)

        self._thread = threading.Thread(target=work, name="operator", daemon=True)
        self._thread.start()
        try:
            error = await asyncio.shield(ended)
        finally:
            self._stop.set()
        raise OperatorFailed(f"the watch of {PLURAL}.{GROUP} ended: {error}")

    async def stop(self) -> None:
        """Wait for the thread to end."""
        self._stop.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, STOP_SECONDS)


class _Forward(logging.Handler):
    """Has what kopf complains of come in the form of all other lines."""

    def emit(self, record: logging.LogRecord) -> None:
        log.log(record.levelno, "kopf", detail=record.getMessage())


def _speak_in_our_form() -> None:
    logger = logging.getLogger("kopf")
    logger.handlers, logger.propagate = [_Forward()], False
    logger.setLevel(logging.WARNING)


async def _operate(login: Callable[[], Login], tell: OnChange, stop: threading.Event) -> None:
    _speak_in_our_form()
    registry = kopf.OperatorRegistry()
    settings = kopf.OperatorSettings()
    settings.scanning.disabled = True
    settings.posting.enabled = False

    @kopf.on.login(registry=registry)
    def log_in(**_: Any) -> kopf.ConnectionInfo:
        return _connection(login())

    @kopf.on.event(GROUP, VERSION, PLURAL, registry=registry)
    def changed(event: Mapping[str, Any], **_: Any) -> None:
        tell(event["type"] or "", dict(event["object"]))

    # Left to itself kopf takes the name of the system's user, which a container's need not have.
    identity: Any = AGENT
    await kopf.operator(
        registry=registry, settings=settings, identity=identity, standalone=True, clusterwide=True, stop_flag=stop
    )


def _connection(login: Login) -> kopf.ConnectionInfo:
    pem = login.identity_pem or None
    return kopf.ConnectionInfo(
        server=login.server,
        ca_data=login.ca_pem or None,
        insecure=not login.is_verified,
        scheme=login.scheme or None,
        token=login.token or None,
        certificate_data=pem,
        private_key_data=pem,
        proxy_url=login.proxy or None,
    )
