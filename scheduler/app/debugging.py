"""Compares what the scheduler knows with what there is, when it is told to: SIGUSR2, or the page /debug/compare.

kube-scheduler 1.37: cache debugger.
"""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import msgspec
import structlog

from scheduler.app.runtime import Runtime
from scheduler.core.comparison import Comparison, Listed, compare, queue_summary
from scheduler.kube.comparing import compare_until_settled
from scheduler.kube.transport import ApiError, Transport, TransportFailure
from scheduler.serving.pages import PageError

log = structlog.get_logger(__name__)


class CacheDebugger:
    """One comparison at a time: who asks meanwhile waits."""

    def __init__(self, runtime: Runtime, transport: Transport) -> None:
        self._runtime = runtime
        self._transport = transport
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def listen_for_signal(self) -> None:
        """From now on SIGUSR2 writes a comparison and the waiting pods to the log."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, self._signalled)

    async def stop(self) -> None:
        """Give up what is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def compare(self) -> Comparison:
        """List nodes and pods and compare.

        Raises:
            PageError: they cannot be listed, or the first lists have not arrived.
        """
        if not self._runtime.synced.is_set():
            raise PageError("the first lists have not arrived, so there is nothing to compare yet")
        async with self._lock:
            try:
                return await compare_until_settled(self._transport, self._compare_now, asyncio.sleep)
            except (ApiError, TransportFailure, msgspec.DecodeError) as error:
                raise PageError(f"nodes and pods cannot be listed: {error}") from error

    async def document(self) -> dict[str, Any]:
        """A comparison, for the page."""
        found: dict[str, Any] = msgspec.to_builtins(await self.compare())
        return found

    def _compare_now(self, listed: Listed) -> Comparison:
        unreadable = {
            reflector.resource.kind.__name__: reflector.undecodable() for reflector in self._runtime.reflectors
        }
        return compare(self._runtime.state, listed, unreadable)

    def _signalled(self) -> None:
        task = asyncio.create_task(self._log_comparison())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _log_comparison(self) -> None:
        try:
            found = await self.compare()
        except PageError as error:
            log.error("cache cannot be compared", error=str(error))
            return
        for name, texts in found.differences().items():
            log.warning("cache mismatch", what=name, objects=texts)
        log.info("dump of scheduling queue", **queue_summary(self._runtime.state))
        log.info("cache compared", same=found.is_same, nodes=found.nodes, pods=found.pods, left_out=found.left_out)
