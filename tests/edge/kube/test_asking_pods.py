"""Which pods ask for a scheduler, as the API server lists them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.kube.asking_pods import AskingPod, list_asking_pods
from scheduler.kube.transport import ApiError, Response
from tests.edge.kube.scripted import ScriptedTransport


def pod(name: str, node: str = "", owners: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": "shop"}
    if owners is not None:
        metadata["ownerReferences"] = owners
    return {"metadata": metadata, "spec": {"schedulerName": "reprise"} | ({"nodeName": node} if node else {})}


def page(*items: dict[str, Any], token: str = "") -> Response:
    return Response(200, {}, msgspec.json.encode({"items": items, "metadata": {"continue": token}}))


async def test_the_server_is_asked_for_pods_of_that_name_which_have_not_ended() -> None:
    transport = ScriptedTransport(page())
    assert await list_asking_pods(transport, "reprise") == []
    (request,) = transport.requests
    assert request.path == "/api/v1/pods"
    assert request.query["fieldSelector"] == ("spec.schedulerName=reprise,status.phase!=Succeeded,status.phase!=Failed")


async def test_a_pod_is_named_with_its_node_and_its_controller() -> None:
    owners: list[dict[str, Any]] = [
        {"kind": "Thing", "name": "other"},
        {"kind": "ReplicaSet", "name": "web-5d", "controller": True},
    ]
    transport = ScriptedTransport(page(pod("web-0", "node-1", owners), pod("alone")))
    assert await list_asking_pods(transport, "reprise") == [
        AskingPod("shop", "web-0", "reprise", "node-1", "ReplicaSet web-5d"),
        AskingPod("shop", "alone", "reprise", "", ""),
    ]


async def test_all_pages_are_read() -> None:
    transport = ScriptedTransport(page(pod("a"), token="more"), page(pod("b")))
    assert [one.name for one in await list_asking_pods(transport, "reprise")] == ["a", "b"]
    assert [request.query.get("continue") for request in transport.requests] == [None, "more"]


async def test_a_list_that_expires_between_pages_is_asked_for_in_one() -> None:
    gone = Response(
        410, {}, msgspec.json.encode({"kind": "Status", "code": 410, "reason": "Expired", "message": "old"})
    )
    transport = ScriptedTransport(page(pod("a"), token="more"), gone, page(pod("a"), pod("b")))
    assert [one.name for one in await list_asking_pods(transport, "reprise")] == ["a", "b"]
    first, *_, last = transport.requests
    assert last.query == {"fieldSelector": first.query["fieldSelector"]}


async def test_a_refusal_is_the_servers_message() -> None:
    body = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": 'pods is forbidden: User "x" cannot'}
    with pytest.raises(ApiError, match='pods is forbidden: User "x" cannot'):
        await list_asking_pods(ScriptedTransport(Response(403, {}, msgspec.json.encode(body))), "reprise")
