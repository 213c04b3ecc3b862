"""Lists the pods that ask for one scheduler: those that wait for it or run where it put them, and have not ended."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from scheduler.kube.reflector import PAGE_SIZE
from scheduler.kube.resources import PODS
from scheduler.kube.transport import Transport, error_of


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


class _PageMetadata(msgspec.Struct, frozen=True):
    token: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct, frozen=True):
    items: list[_Item] | None = None
    metadata: _PageMetadata = _PageMetadata()


_DECODER = msgspec.json.Decoder(_Page)


async def list_asking_pods(transport: Transport, scheduler_name: str) -> list[AskingPod]:
    """The pods of all namespaces whose ``spec.schedulerName`` is this one, in the server's order.

    Raises:
        ApiError: the server refused.
        TransportFailure: there was no answer.
        msgspec.DecodeError: the answer is no list.
    """
    selector = f"spec.schedulerName={scheduler_name},{PODS.field_selector}"
    parameters = {"fieldSelector": selector, "limit": str(PAGE_SIZE)}
    found: list[AskingPod] = []
    while True:
        response = await transport.get(f"{PODS.path}?{urlencode(parameters)}")
        if response.status == 410 and "continue" in parameters:
            # The list took longer than the server keeps old versions: ask for all of it in one answer.
            found, parameters = [], {"fieldSelector": selector}
            continue
        if response.status != 200:
            raise error_of(response)
        page = _DECODER.decode(response.body)
        found += (_asking(item) for item in page.items or ())
        if not page.metadata.token:
            return found
        parameters["continue"] = page.metadata.token


def _asking(item: _Item) -> AskingPod:
    controllers = (f"{one.kind} {one.name}" for one in item.metadata.owner_references if one.controller)
    return AskingPod(
        namespace=item.metadata.namespace,
        name=item.metadata.name,
        scheduler_name=item.spec.scheduler_name,
        node_name=item.spec.node_name,
        owner=next(controllers, ""),
    )
