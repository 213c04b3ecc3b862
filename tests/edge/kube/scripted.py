"""A transport whose answers a test writes down beforehand, and virtual time for what is tested on it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from scheduler.kube.timing import Timing
from scheduler.kube.transport import ApiError, FailureKind, Response, TransportFailure

EPOCH = 1_767_225_600.0  # 2026-01-01T00:00:00Z


def virtual_timing(chance: float = 0.0) -> Timing:
    """Time of the test's event loop, which jumps; chance that always draws the same."""
    loop = asyncio.get_running_loop()
    return Timing(now=lambda: EPOCH + loop.time(), monotonic=loop.time, sleep=asyncio.sleep, chance=lambda: chance)


@dataclass
class Request:
    """What was asked, and when."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    at: float


@dataclass
class ScriptedStream:
    """An open watch that a test speaks into."""

    queue: asyncio.Queue[list[bytes] | Exception | None] = field(default_factory=asyncio.Queue)
    is_closed: bool = False

    def say(self, *events: Any) -> None:
        self.queue.put_nowait([event if isinstance(event, bytes) else msgspec.json.encode(event) for event in events])

    def end(self) -> None:
        self.queue.put_nowait(None)

    def break_off(self) -> None:
        self.queue.put_nowait(TransportFailure(FailureKind.LOST, "connection reset by peer", sent=True))

    def closed(self) -> bool:
        return self.is_closed

    async def lines(self) -> list[bytes] | None:
        item = await self.queue.get()
        if isinstance(item, Exception):
            raise item
        return item


Answer = Response | TransportFailure | Callable[[Request], "Response | TransportFailure"]
WatchAnswer = ScriptedStream | ApiError | TransportFailure


class ScriptedTransport:
    """Answers requests in the order of the script; what is not in the script gets ``otherwise``.

    A request takes ``latency_seconds``. Watches have a script of their own; when it is empty they are opened and silent.
    """

    def __init__(self, *answers: Answer, otherwise: Answer | None = None, latency_seconds: float = 0.0) -> None:
        self.requests: list[Request] = []
        self.watches: list[Request] = []
        self.answers = list(answers)
        self.otherwise = otherwise
        self.watch_answers: list[WatchAnswer] = []
        self.latency_seconds = latency_seconds
        self.most_in_flight = 0
        self._in_flight = 0

    async def get(self, path: str) -> Response:
        return await self._answer("GET", path, b"")

    async def post(self, path: str, body: bytes) -> Response:
        return await self._answer("POST", path, body)

    async def put(self, path: str, body: bytes) -> Response:
        return await self._answer("PUT", path, body)

    async def patch(self, path: str, body: bytes, content_type: str) -> Response:
        kind = "strategic-merge-patch" if path.endswith("/status") else "merge-patch"
        assert path.startswith("/apis/events.k8s.io/") or content_type == f"application/{kind}+json"
        return await self._answer("PATCH", path, body)

    async def delete(self, path: str, body: bytes = b"") -> Response:
        return await self._answer("DELETE", path, body)

    @asynccontextmanager
    async def watch(self, path: str) -> AsyncIterator[ScriptedStream]:
        self.watches.append(self._request("GET", path, b""))
        answer = self.watch_answers.pop(0) if self.watch_answers else ScriptedStream()
        if isinstance(answer, Exception):
            raise answer
        try:
            yield answer
        finally:
            answer.is_closed = True

    async def _answer(self, method: str, path: str, body: bytes) -> Response:
        request = self._request(method, path, body)
        self.requests.append(request)
        self._in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            if self.latency_seconds:
                await asyncio.sleep(self.latency_seconds)
        finally:
            self._in_flight -= 1
        answer = self.answers.pop(0) if self.answers else self.otherwise
        assert answer is not None, f"{method} {path} is not in the script"
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, TransportFailure):
            raise answer
        return answer

    def _request(self, method: str, path: str, body: bytes) -> Request:
        parts = urlsplit(path)
        query = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        decoded = msgspec.json.decode(body) if body else None
        return Request(method, parts.path, query, decoded, asyncio.get_running_loop().time())


# ------------------------------------------------------------------------------------------------------------------ answers


def ok(body: Any = None, status: int = 200) -> Response:
    return Response(status, {}, msgspec.json.encode(body if body is not None else {}))


def created() -> Response:
    return ok({"kind": "Status", "status": "Success"}, 201)


def refusal(
    code: int, message: str = "no", *, reason: str = "", retry_after: str | None = None, causes: tuple[str, ...] = ()
) -> Response:
    headers = {} if retry_after is None else {"retry-after": retry_after}
    details = {"causes": [{"reason": cause} for cause in causes]}
    status = {
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }
    return Response(code, headers, msgspec.json.encode(status))


REFUSED = TransportFailure(FailureKind.REFUSED, 'Post "http://server/": Connection refused (os error 111)', sent=False)
TIMED_OUT = TransportFailure(FailureKind.TIMEOUT, 'Post "http://server/": operation timed out', sent=True)
LOST = TransportFailure(FailureKind.LOST, 'Post "http://server/": connection reset', sent=True)


# ------------------------------------------------------------------------------------------------------------------ objects


def pod(name: str, uid: str | None = None, version: int = 1, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": metadata, "spec": {"containers": [], **fields}}


def node(name: str, uid: str | None = None, version: int = 1) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": uid or f"uid-{name}", "resourceVersion": str(version)}}


def added(subject: dict[str, Any]) -> dict[str, Any]:
    return {"type": "ADDED", "object": subject}


def modified(subject: dict[str, Any]) -> dict[str, Any]:
    return {"type": "MODIFIED", "object": subject}


def deleted(subject: dict[str, Any]) -> dict[str, Any]:
    return {"type": "DELETED", "object": subject}


def bookmark(version: int, *, ends_initial_events: bool = False) -> dict[str, Any]:
    """As a real server sends it for pods: an object of the kind that is empty and not valid."""
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if ends_initial_events:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return {"type": "BOOKMARK", "object": {"metadata": metadata, "spec": {"containers": None}, "status": {}}}


def error_event(code: int, message: str = "no", **fields: Any) -> dict[str, Any]:
    status = {"kind": "Status", "metadata": {}, "status": "Failure", "code": code, "message": message, **fields}
    return {"type": "ERROR", "object": status}


def page(*items: dict[str, Any], version: int = 1, token: str = "") -> Response:
    metadata = {"resourceVersion": str(version)} | ({"continue": token} if token else {})
    return ok({"metadata": metadata, "items": list(items)})
