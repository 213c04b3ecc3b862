"""Lists all objects of a kind, page by page, as they are now and not as a cache of the server has them."""

from __future__ import annotations

from typing import Generic, TypeVar
from urllib.parse import urlencode

import msgspec

from scheduler.kube.reflector import PAGE_SIZE
from scheduler.kube.transport import Transport, error_of

Item = TypeVar("Item")


class _PageMetadata(msgspec.Struct, frozen=True):
    token: str = msgspec.field(name="continue", default="")


class Page(msgspec.Struct, Generic[Item], frozen=True):
    """Some of the objects, with no more of each than ``Item`` has, and where the next page begins."""

    items: list[Item] | None = None
    metadata: _PageMetadata = _PageMetadata()


async def list_items(
    transport: Transport, path: str, field_selector: str, decoder: msgspec.json.Decoder[Page[Item]]
) -> list[Item]:
    """All objects at a path, in the server's order; without a selector ("") none is left out.

    Raises:
        ApiError: the server refused.
        TransportFailure: there was no answer.
        msgspec.DecodeError: the answer is no list.
    """
    selected = {"fieldSelector": field_selector} if field_selector else {}
    parameters = {"limit": str(PAGE_SIZE), **selected}
    found: list[Item] = []
    while True:
        response = await transport.get(f"{path}?{urlencode(parameters)}" if parameters else path)
        if response.status == 410 and "continue" in parameters:
            # The list took longer than the server keeps old versions: ask for all of it in one answer.
            found, parameters = [], dict(selected)
            continue
        if response.status != 200:
            raise error_of(response)
        page = decoder.decode(response.body)
        found += page.items or ()
        if not page.metadata.token:
            return found
        parameters["continue"] = page.metadata.token
