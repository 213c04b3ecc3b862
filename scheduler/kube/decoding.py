"""Watch lines and list pages to typed objects, in one pass; only what cannot be read that way is looked at more closely."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from scheduler.api.objects import ObjectMeta
from scheduler.kube.resources import HasMetadata
from scheduler.kube.transport import Status

ObjectT = TypeVar("ObjectT", bound=HasMetadata)
T = TypeVar("T")


class MalformedStream(Exception):
    """The server sent what is not JSON, or not a watch event or a list."""


class Line(msgspec.Struct, Generic[T]):
    """One watch event."""

    type: str
    object: T


class _PageMetadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _RawPage(msgspec.Struct):
    items: list[msgspec.Raw] | None = None
    metadata: _PageMetadata = _PageMetadata()


class _TypedPage(msgspec.Struct, Generic[T]):
    items: list[T] | None = None
    metadata: _PageMetadata = _PageMetadata()


class Unreadable(NamedTuple):
    """An object that does not have the form expected of it. ``metadata`` is empty when not even its name can be read."""

    metadata: ObjectMeta
    error: str


class Page(NamedTuple, Generic[ObjectT]):
    """One page of a list; ``token`` is empty on the last one."""

    objects: list[ObjectT]
    unreadable: list[Unreadable]
    resource_version: str
    token: str


class _Identity(msgspec.Struct, frozen=True, rename="camel"):
    """The least that must be readable of any object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Identified(msgspec.Struct):
    metadata: _Identity = _Identity()


class _WithMetadata(msgspec.Struct):
    metadata: ObjectMeta = ObjectMeta()


_RAW_LINE = msgspec.json.Decoder(Line[msgspec.Raw])
_RAW_PAGE = msgspec.json.Decoder(_RawPage)
_WITH_METADATA = msgspec.json.Decoder(_WithMetadata)
_IDENTIFIED = msgspec.json.Decoder(_Identified)
_STATUS = msgspec.json.Decoder(Status)


class ObjectDecoder(Generic[ObjectT]):
    """Decoders for one kind of object."""

    def __init__(self, kind: type[ObjectT]) -> None:
        # Subscripted with a run-time type, so beyond what a type checker can follow.
        line_type: Any = Line
        page_type: Any = _TypedPage
        self._object: msgspec.json.Decoder[ObjectT] = msgspec.json.Decoder(kind)
        self._line: msgspec.json.Decoder[Line[ObjectT]] = msgspec.json.Decoder(line_type[kind])
        self._page: msgspec.json.Decoder[_TypedPage[ObjectT]] = msgspec.json.Decoder(page_type[kind])

    def line(self, raw: bytes) -> Line[ObjectT] | Line[Unreadable] | Line[Status]:
        """One watch event. An ERROR event has a Status.

        Raises:
            MalformedStream: it is no watch event at all.
        """
        try:
            line = self._line.decode(raw)
        except (msgspec.ValidationError, RecursionError) as error:
            return self._closer_look(raw, str(error))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise MalformedStream(f"not a watch event: {error}") from error
        # A Status also passes for an object of a kind of which no more than the metadata is read.
        return self._closer_look(raw, "") if line.type == "ERROR" else line

    def page(self, raw: bytes) -> Page[ObjectT]:
        """One page of a list; an object that cannot be read does not spoil the others.

        Raises:
            MalformedStream: it is no list at all.
        """
        try:
            page = self._page.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._page_one_by_one(raw)
        return Page(page.items or [], [], page.metadata.resource_version, page.metadata.continue_)

    def _closer_look(self, raw: bytes, error: str) -> Line[Unreadable] | Line[Status]:
        try:
            line = _RAW_LINE.decode(raw)
            if line.type == "ERROR":
                return Line(line.type, _STATUS.decode(line.object))
            if line.type == "BOOKMARK":
                # An empty object of its kind, which need not be valid: a pod's has `"containers": null`.
                return Line(line.type, Unreadable(_WITH_METADATA.decode(line.object).metadata, error))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as worse:
            raise MalformedStream(f"not a watch event: {worse}") from worse
        return Line(line.type, _unreadable(line.object, error))

    def _page_one_by_one(self, raw: bytes) -> Page[ObjectT]:
        try:
            page = _RAW_PAGE.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise MalformedStream(f"not a list: {error}") from error
        objects, unreadable = [], []
        for item in page.items or []:
            try:
                objects.append(self._object.decode(item))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                unreadable.append(_unreadable(item, str(error)))
        return Page(objects, unreadable, page.metadata.resource_version, page.metadata.continue_)


def _unreadable(raw: msgspec.Raw, error: str) -> Unreadable:
    try:
        identity = _IDENTIFIED.decode(raw).metadata
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Unreadable(ObjectMeta(), error)
    metadata = ObjectMeta(
        name=identity.name,
        namespace=identity.namespace,
        uid=identity.uid,
        resource_version=identity.resource_version,
    )
    return Unreadable(metadata, error)
