"""Lists what there is, to compare it with what is known."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from scheduler.core.comparison import Comparison, Listed, ListedNode, ListedPod
from scheduler.kube.listing import Page, list_items
from scheduler.kube.resources import NODES, PODS, AnyResource
from scheduler.kube.transport import Transport

ROUNDS = 5
PAUSE_SECONDS = 1.0


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    deletion_timestamp: str | None = None


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""
    scheduler_name: str = ""


class _Item(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()


_DECODER = msgspec.json.Decoder(Page[_Item])


async def list_cluster(transport: Transport) -> Listed:
    """All nodes and all pods that have not ended, as they are now and not as a cache of the server has them.

    Raises:
        ApiError: the server refused.
        TransportFailure: there was no answer.
        msgspec.DecodeError: the answer is no list.
    """
    nodes, pods = await _items(transport, NODES), await _items(transport, PODS)
    return Listed(
        nodes=[ListedNode(uid=item.metadata.uid, name=item.metadata.name) for item in nodes],
        pods=[
            ListedPod(
                uid=item.metadata.uid,
                key=f"{item.metadata.namespace}/{item.metadata.name}",
                node_name=item.spec.node_name,
                scheduler_name=item.spec.scheduler_name,
                is_terminating=item.metadata.deletion_timestamp is not None,
            )
            for item in pods
        ],
    )


async def _items(transport: Transport, resource: AnyResource) -> list[_Item]:
    return await list_items(transport, resource.path, resource.field_selector, _DECODER)


async def compare_until_settled(
    transport: Transport,
    compare: Callable[[Listed], Comparison],
    sleep: Callable[[float], Awaitable[Any]],
) -> Comparison:
    """Compare until nothing differs, or what differs stays the same: a list is a moment older or newer than the watch.

    Raises:
        ApiError, TransportFailure, msgspec.DecodeError: see ``list_cluster``.
    """
    found = compare(await list_cluster(transport))
    for _ in range(ROUNDS):
        if found.is_same:
            break
        await sleep(PAUSE_SECONDS)
        before, now = found, compare(await list_cluster(transport))
        found = now.also_in(before)
        if found.differences() == before.differences():
            break
    return found
