"""A TCP proxy that a test cuts, freezes or makes mute: what networks do to connections, at the moment a test wants it."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

CHUNK_BYTES = 1 << 16


@dataclass(eq=False)
class _Link:
    """One connection through the proxy. What a frozen direction is given vanishes, and no end of it is ever told."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    freezes_requests: bool = False
    freezes_answers: bool = False


class TcpProxy:
    """Passes connections on to a port of loopback; use it in an `async with`."""

    def __init__(self, port: int) -> None:
        self.port = 0
        self.accepts = True
        self.lost_answer_bytes = 0
        self._target = port
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.accepts = False
        self.cut()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def freeze(self) -> int:
        """Let nothing more through the connections there are, in neither direction, and do not end them; how many there are."""
        for link in self._links:
            link.freezes_requests = link.freezes_answers = True
        return len(self._links)

    def mute(self) -> None:
        """Let requests through the connections there are, and no answers."""
        for link in self._links:
            link.freezes_answers = True

    def cut(self) -> None:
        """Reset the connections there are."""
        for link in self._links:
            for writer in (link.client, link.server):
                writer.transport.abort()

    # ------------------------------------------------------------------------------------------------------------- pumps

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            if not self.accepts:
                raise ConnectionRefusedError
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        link = _Link(writer, to_server)
        self._links.add(link)
        try:
            # Cancelled at the end, which the streams of the standard library would report.
            with suppress(asyncio.CancelledError):
                await self._pass_on(link, reader, from_server)
        finally:
            self._links.discard(link)
            for end in (writer, to_server):
                end.transport.abort()

    async def _pass_on(self, link: _Link, client: asyncio.StreamReader, server: asyncio.StreamReader) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pump(client, link, link.server, is_answer=False))
            group.create_task(self._pump(server, link, link.client, is_answer=True))

    async def _pump(
        self, reader: asyncio.StreamReader, link: _Link, writer: asyncio.StreamWriter, *, is_answer: bool
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK_BYTES):
                if link.freezes_answers if is_answer else link.freezes_requests:
                    self.lost_answer_bytes += len(data) * is_answer
                    continue
                writer.write(data)
                await writer.drain()
        if not (link.freezes_answers if is_answer else link.freezes_requests):
            writer.transport.abort()
