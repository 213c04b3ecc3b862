"""Pods and nodes as the API server sent them, for extenders, which are told of them whole.

The rest of the scheduler reads little of an object. So the streams of the reflectors are listened to, and only when a
configuration has extenders that need it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import msgspec

from scheduler.kube.transport import Response, Transport, WatchStream

_DROPPED = ("managedFields",)


class _Identity(msgspec.Struct, frozen=True):
    name: str = ""
    uid: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""
    scheduler_name: str = ""


class _Peek(msgspec.Struct):
    metadata: _Identity = _Identity()
    spec: _Spec = _Spec()


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Page(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


_LINE = msgspec.json.Decoder(_Line)
_PAGE = msgspec.json.Decoder(_Page)
_PEEK = msgspec.json.Decoder(_Peek)
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


class KeptObjects:
    """Objects of one kind by a key, each as JSON without what no reader needs.

    Args:
        key_of: what an object is asked for by.
        is_kept: whether anybody may ask for the object.
    """

    def __init__(self, key_of: Callable[[_Peek], str], is_kept: Callable[[_Peek], bool]) -> None:
        self._key_of = key_of
        self._is_kept = is_kept
        self._known: dict[str, tuple[str, bytes]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: str) -> bytes | None:
        return None if (known := self._known.get(key)) is None else known[1]

    def forget(self, key: str, uid: str) -> None:
        """An object is gone, which no stream told."""
        if key in self._known and self._known[key][0] == uid:
            del self._known[key]

    def hear_lines(self, lines: Iterable[bytes]) -> None:
        """Lines of a watch. What cannot be read is for the reflector to tell."""
        for line in lines:
            try:
                event = _LINE.decode(line)
                if event.type in ("ADDED", "MODIFIED", "DELETED"):
                    self._hear(event.object, is_deleted=event.type == "DELETED")
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue

    def hear_page(self, body: bytes) -> None:
        """A page of a list."""
        try:
            items = _PAGE.decode(body).items or ()
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
        for item in items:
            try:
                self._hear(item, is_deleted=False)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue

    def _hear(self, raw: msgspec.Raw, *, is_deleted: bool) -> None:
        peek = _PEEK.decode(raw)
        key = self._key_of(peek)
        if not is_deleted and self._is_kept(peek):
            self._known[key] = (peek.metadata.uid, _without_bulk(raw))
        elif key in self._known and self._known[key][0] == peek.metadata.uid:
            del self._known[key]


def nodes_by_name() -> KeptObjects:
    return KeptObjects(lambda peek: peek.metadata.name, lambda _peek: True)


def pods_by_uid(scheduler_names: frozenset[str], *, also_bound: bool) -> KeptObjects:
    """Pods that wait for one of these schedulers, and with ``also_bound`` all that have a node."""
    return KeptObjects(
        lambda peek: peek.metadata.uid,
        lambda peek: also_bound if peek.spec.node_name else peek.spec.scheduler_name in scheduler_names,
    )


def _without_bulk(raw: msgspec.Raw) -> bytes:
    members = _MEMBERS.decode(raw)
    metadata = _MEMBERS.decode(members["metadata"])
    for name in _DROPPED:
        metadata.pop(name, None)
    members["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return msgspec.json.encode(members)


class ListeningTransport:
    """A transport whose lists and watches of one resource are heard by ``kept`` before anybody else sees them."""

    def __init__(self, transport: Transport, kept: KeptObjects) -> None:
        self._transport = transport
        self._kept = kept

    async def get(self, path: str) -> Response:
        response = await self._transport.get(path)
        if response.status == 200:
            self._kept.hear_page(response.body)
        return response

    async def post(self, path: str, body: bytes) -> Response:
        return await self._transport.post(path, body)

    async def patch(self, path: str, body: bytes, content_type: str) -> Response:
        return await self._transport.patch(path, body, content_type)

    async def put(self, path: str, body: bytes) -> Response:
        return await self._transport.put(path, body)

    async def delete(self, path: str, body: bytes = b"") -> Response:
        return await self._transport.delete(path, body)

    def watch(self, path: str) -> AbstractAsyncContextManager[WatchStream]:
        return self._watch(path)

    @asynccontextmanager
    async def _watch(self, path: str) -> AsyncIterator[WatchStream]:
        async with self._transport.watch(path) as stream:
            yield _ListeningStream(stream, self._kept)


class _ListeningStream:
    def __init__(self, stream: WatchStream, kept: KeptObjects) -> None:
        self._stream = stream
        self._kept = kept

    async def lines(self) -> list[bytes] | None:
        lines = await self._stream.lines()
        if lines:
            self._kept.hear_lines(lines)
        return lines
