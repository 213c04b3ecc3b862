"""The server and its nodes in a process of their own, so that they do not take their time from whoever uses them."""

import asyncio
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import msgspec

from scheduler.sim.kubeconfig import write_kubeconfig
from scheduler.sim.objects import Object
from scheduler.sim.registry import Counters

# Objects sent in one line, and how long a line may be.
BATCH = 500
MAX_LINE_BYTES = 64 * 1024 * 1024


class ServerProcessError(Exception):
    """The process ended, or refused an object."""


@dataclass(frozen=True, slots=True)
class ServerState:
    """What the server counted: writes, pods there are, pods that were started, watches that are open."""

    counters: Counters
    pods: int
    running: int
    watches: int


class ServerProcess:
    """A process of `python -m scheduler.sim`. It ends with `stop`, and with the process that started it."""

    def __init__(
        self,
        *,
        nodes: int = 0,
        port: int = 0,
        start_delay_seconds: float = 0.5,
        stop_delay_seconds: float = 0.1,
        seed: int | None = None,
    ) -> None:
        """Prepare a process; the arguments are those of the command."""
        self.url = ""
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._arguments = [
            f"--nodes={nodes}",
            f"--port={port}",
            f"--start-delay-seconds={start_delay_seconds}",
            f"--stop-delay-seconds={stop_delay_seconds}",
            *([] if seed is None else [f"--seed={seed}"]),
        ]

    async def start(self) -> str:
        """Start it, and return its URL once it listens.

        Raises:
            ServerProcessError: it ended before it listened.
        """
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "scheduler.sim",
            *self._arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=MAX_LINE_BYTES,
        )
        self.url = (await self._hear())["url"]
        return self.url

    async def create(self, objects: Iterable[Object]) -> None:
        """Create objects without the way over HTTP.

        Raises:
            ServerProcessError: one is refused, as the message says; those before it are there. Or the process ended.
        """
        left = iter(objects)
        while batch := list(islice(left, BATCH)):
            await self._ask({"create": batch})

    async def state(self) -> ServerState:
        """What the server counts now.

        Raises:
            ServerProcessError: the process ended.
        """
        return msgspec.convert(await self._ask({"state": True}), ServerState)

    def kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig file for the server, which must have been started."""
        assert self.url, "the server was never started"
        return write_kubeconfig(path, self.url)

    async def stop(self) -> None:
        """End it and wait until it is gone; harmless when it is not running."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            await process.wait()

    async def _ask(self, command: Object) -> Object:
        async with self._turn:
            process = self._running()
            assert process.stdin is not None
            process.stdin.write(msgspec.json.encode(command) + b"\n")
            try:
                await process.stdin.drain()
            except ConnectionError as error:
                raise ServerProcessError("the API server process ended") from error
            answer = await self._hear()
        if "error" in answer:
            raise ServerProcessError(answer["error"])
        return answer

    async def _hear(self) -> Object:
        process = self._running()
        assert process.stdout is not None
        line = await process.stdout.readline()
        if not line:
            raise ServerProcessError(f"the API server process ended with code {await process.wait()}")
        answer: Object = msgspec.json.decode(line)
        return answer

    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise ServerProcessError("the API server process was not started, or was stopped")
        return self._process
