"""What the edge needs of an HTTP client: a Protocol, so that a test's fake is trivial, and the errors it reports.

An answer of the API server is a value, whatever its code. Only what is not an answer is an exception: TransportFailure.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from enum import Enum
from http import HTTPStatus
from typing import NamedTuple, Protocol

import msgspec

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
_SHOWN_BYTES = 256


class Response(NamedTuple):
    """A complete answer; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class WatchStream(Protocol):
    """An open watch."""

    async def lines(self) -> list[bytes] | None:
        """The next whole lines, at least one, as soon as they are there; None when the server ended the stream.

        Raises:
            TransportFailure: the connection broke.
        """


class Transport(Protocol):
    """Requests to one API server. A path starts with a slash and carries its query, encoded.

    Every method raises TransportFailure when there is no answer; ``watch`` raises ApiError when the answer is not a stream.
    """

    async def get(self, path: str) -> Response: ...

    async def post(self, path: str, body: bytes) -> Response: ...

    async def put(self, path: str, body: bytes) -> Response: ...

    async def patch(self, path: str, body: bytes, content_type: str) -> Response: ...

    async def delete(self, path: str, body: bytes = b"") -> Response: ...

    def watch(self, path: str) -> AbstractAsyncContextManager[WatchStream]: ...


class FailureKind(Enum):
    """Why there is no answer."""

    REFUSED = "connection refused"
    UNREACHABLE = "unreachable"  # no route, no such host, no connection in time
    TLS = "TLS handshake failed"
    TIMEOUT = "timed out"
    LOST = "connection lost"


class TransportFailure(Exception):
    """No answer. ``sent`` says whether the server may have got the request, and so may have carried it out."""

    def __init__(self, kind: FailureKind, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.sent = sent


class ApiError(Exception):
    """An answer of the API server that is not a success; the text is the server's own message."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        retry_after_seconds: float | None = None,
        causes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.retry_after_seconds = retry_after_seconds
        self.causes = causes

    @property
    def is_expired(self) -> bool:
        """Whether a resourceVersion is of no use any more: it is too old, or newer than a server restored from a backup."""
        return self.code == 410 or "ResourceVersionTooLarge" in self.causes


class _StatusCause(msgspec.Struct):
    reason: str = ""


class _StatusDetails(msgspec.Struct, rename="camel"):
    retry_after_seconds: int = 0
    causes: list[_StatusCause] | None = None


class Status(msgspec.Struct, rename="camel"):
    """``meta/v1`` Status: how the API server says what went wrong."""

    kind: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: _StatusDetails | None = None

    def to_error(self, code: int = 0, retry_after_seconds: float | None = None) -> ApiError:
        """The error; what is given is used where the Status itself says nothing."""
        details = self.details or _StatusDetails()
        if retry_after_seconds is None and details.retry_after_seconds > 0:
            retry_after_seconds = float(details.retry_after_seconds)
        return ApiError(
            self.code or code,
            self.reason,
            self.message or self.reason,
            retry_after_seconds=retry_after_seconds,
            causes=tuple(cause.reason for cause in details.causes or ()),
        )


_STATUS = msgspec.json.Decoder(Status)


def error_of(response: Response) -> ApiError:
    """The error that an unsuccessful answer tells, also when its body is not a Status (a proxy's page, plain text)."""
    retry_after = _retry_after_seconds(response.headers.get("retry-after"))
    try:
        status = _STATUS.decode(response.body)
    except msgspec.DecodeError:
        pass
    else:
        if status.kind == "Status" and (status.message or status.reason):
            return status.to_error(response.status, retry_after)
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = "unknown status"
    text = response.body[:_SHOWN_BYTES].decode("utf-8", "replace").strip()
    message = f"the API server answered {response.status} {phrase}" + (f": {text}" if text else "")
    return ApiError(response.status, phrase.replace(" ", ""), message, retry_after_seconds=retry_after)


def _retry_after_seconds(header: str | None) -> float | None:
    """The header's seconds; its other form, a date, is not used by API servers and is taken as absent."""
    if header is None or not header.strip().isdecimal():
        return None
    return float(header.strip())
