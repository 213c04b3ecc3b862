"""How objects are written to a client: whole, their metadata only, or as rows of a table, as its Accept header asks."""

from collections.abc import Iterable
from functools import cached_property
from typing import Protocol

import msgspec

from scheduler.sim.errors import not_acceptable
from scheduler.sim.objects import Clock, Object
from scheduler.sim.resources import Resource
from scheduler.sim.store import Version
from scheduler.sim.table import columns_of, row_of

JSON = "application/json"
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
META = "meta.k8s.io/v1"

encode = msgspec.json.Encoder().encode


class View(Protocol):
    """One way of writing the objects of a resource."""

    def one(self, version: Version) -> bytes:
        """An object that stands alone."""

    def many(self, versions: Iterable[Version], metadata: Object) -> bytes:
        """A list of objects with the metadata of the list."""


class WholeView:
    """Objects as they are."""

    def __init__(self, resource: Resource) -> None:
        self._resource = resource

    @cached_property
    def _head(self) -> bytes:
        """The start of a JSON object: its kind and version, and the comma."""
        return encode({"kind": self._resource.kind, "apiVersion": self._resource.api_version})[:-1] + b","

    def one(self, version: Version) -> bytes:
        return self._head + self._body(version)[1:]

    def many(self, versions: Iterable[Version], metadata: Object) -> bytes:
        head = {"kind": f"{self._resource.kind}List", "apiVersion": self._resource.api_version, "metadata": metadata}
        return b'%b,"items":[%b]}' % (encode(head)[:-1], b",".join(map(self._body, versions)))

    def _body(self, version: Version) -> bytes:
        form = self._resource.form
        return version.encoded() if form is None else version.encoded(form.name, form.show)


class MetadataView:
    """The metadata of the objects."""

    def one(self, version: Version) -> bytes:
        return encode(_partial(version))

    def many(self, versions: Iterable[Version], metadata: Object) -> bytes:
        items = [_partial(version) for version in versions]
        return encode({"kind": "PartialObjectMetadataList", "apiVersion": META, "metadata": metadata, "items": items})


class TableView:
    """Rows for people; each carries the metadata of its object, so that a client can follow them in a watch."""

    def __init__(self, resource: Resource, clock: Clock) -> None:
        self._resource = resource
        self._clock = clock

    def one(self, version: Version) -> bytes:
        return self.many([version], {"resourceVersion": version.object["metadata"]["resourceVersion"]})

    def many(self, versions: Iterable[Version], metadata: Object) -> bytes:
        now = self._clock()
        rows = [
            {"cells": row_of(self._resource, version.object, now), "object": _partial(version)} for version in versions
        ]
        table = {"kind": "Table", "apiVersion": META, "metadata": metadata}
        return encode({**table, "columnDefinitions": columns_of(self._resource), "rows": rows})


def _partial(version: Version) -> Object:
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": version.object["metadata"]}


class Views:
    """The views of all resources, made once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._views: dict[tuple[str, str, str], View] = {}

    def of(self, resource: Resource, accept: str) -> View:
        """The view that an Accept header asks for: the first of its media types that is served.

        Raises:
            ApiError: 406, when none is.
        """
        key = (resource.api_version, resource.plural, accept)
        if key not in self._views:
            self._views[key] = self._make(resource, _shape(accept))
        return self._views[key]

    def _make(self, resource: Resource, shape: str) -> View:
        match shape:
            case "":
                return WholeView(resource)
            case "Table":
                return TableView(resource, self._clock)
            case _:
                return MetadataView()


def _shape(accept: str) -> str:
    """What an Accept header asks objects to be shown as; empty, when as they are."""
    if not accept:
        return ""
    for media_type in accept.split(","):
        name, *parameters = [part.strip() for part in media_type.split(";")]
        if name not in (JSON, "application/*", "*/*"):
            continue
        shape = next((value for key, _, value in (part.partition("=") for part in parameters) if key == "as"), "")
        if shape in ("", "Table", "PartialObjectMetadata", "PartialObjectMetadataList"):
            return shape
    raise not_acceptable()


def bookmark(resource: Resource, number: int, *, initial_events_end: bool = False) -> bytes:
    """The line of a watch that says how far it has come."""
    metadata: Object = {"resourceVersion": str(number)}
    if initial_events_end:
        metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
    item = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
    return watch_line("BOOKMARK", encode(item))


def watch_line(kind: str, body: bytes) -> bytes:
    """One event of a watch."""
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), body)
