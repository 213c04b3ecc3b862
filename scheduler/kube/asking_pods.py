"""Lists the pods that ask for one scheduler: those that wait for it or run where it put them, and have not ended."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from scheduler.kube.listing import Page, list_items
from scheduler.kube.resources import PODS
from scheduler.kube.transport import Transport


class AskingPod(NamedTuple):
    """One pod; ``node_name`` is "" while it waits, ``owner`` its controller as ``Kind name``, "" without one."""

    namespace: str
    name: str
    scheduler_name: str
    node_name: str
    owner: str


class _Owner(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""
    controller: bool | None = None


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    owner_references: list[_Owner] = []


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""
    scheduler_name: str = ""


class _Item(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()


_DECODER = msgspec.json.Decoder(Page[_Item])


async def list_asking_pods(transport: Transport, scheduler_name: str) -> list[AskingPod]:
    """The pods of all namespaces whose ``spec.schedulerName`` is this one, in the server's order.

    Raises:
        ApiError: the server refused.
        TransportFailure: there was no answer.
        msgspec.DecodeError: the answer is no list.
    """
    selector = f"spec.schedulerName={scheduler_name},{PODS.field_selector}"
    return [_asking(item) for item in await list_items(transport, PODS.path, selector, _DECODER)]


def _asking(item: _Item) -> AskingPod:
    controllers = (f"{one.kind} {one.name}" for one in item.metadata.owner_references if one.controller)
    return AskingPod(
        namespace=item.metadata.namespace,
        name=item.metadata.name,
        scheduler_name=item.spec.scheduler_name,
        node_name=item.spec.node_name,
        owner=next(controllers, ""),
    )
