"""A connection to a server that may send more than anybody wants to hold."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from scheduler.kube.connection import Connection
from scheduler.kube.transport import FailureKind, Response


class BoundedConnection(Connection):
    """A connection that is cut when an answer, its head included, becomes too large.

    Args:
        is_too_large: asked with the number of bytes so far.
    """

    def __init__(self, open_ones: set[Connection], is_too_large: Callable[[int], bool]) -> None:
        super().__init__(open_ones)
        self._is_too_large = is_too_large
        self._received = 0

    def request(self, message: bytes, answer: asyncio.Future[Response], deadline: float) -> None:
        self._received = 0
        super().request(message, answer, deadline)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        if self._is_too_large(self._received):
            self.fail(FailureKind.LOST, f"the answer is too large: more than {self._received - len(data)} bytes")
            return
        super().data_received(data)


def bounded(is_too_large: Callable[[int], bool]) -> Callable[[set[Connection]], Connection]:
    """What makes such connections."""
    return lambda open_ones: BoundedConnection(open_ones, is_too_large)
