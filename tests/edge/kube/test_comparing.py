"""Lists for a comparison, and when it is settled, against a scripted API server."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from scheduler.core.comparison import Comparison, Listed, ListedNode, ListedPod
from scheduler.kube.comparing import ROUNDS, compare_until_settled, list_cluster
from scheduler.kube.transport import ApiError, Response, TransportFailure
from tests.edge.kube.scripted import REFUSED, ScriptedTransport, ok, refusal

pytestmark = pytest.mark.looptime


def page(*items: dict[str, Any], token: str = "") -> Response:
    return ok({"items": list(items), "metadata": {"continue": token, "resourceVersion": "7"}})


def node(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": {"podCIDR": "10.0.0.0/24"}}


def pod(name: str, deleted: str | None = None, **spec: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "deletionTimestamp": deleted}
    return {"metadata": metadata, "spec": {"schedulerName": "reprise", **spec}}


def listed_pod(name: str, node_name: str = "", *, is_terminating: bool = False) -> ListedPod:
    return ListedPod(
        uid=f"uid-{name}",
        key=f"default/{name}",
        node_name=node_name,
        scheduler_name="reprise",
        is_terminating=is_terminating,
    )


async def test_nodes_and_pods_that_have_not_ended_are_listed_page_by_page() -> None:
    transport = ScriptedTransport(
        page(node("a"), token="more"),
        page(node("b")),
        page(pod("p", nodeName="a"), pod("q", deleted="2026-01-01T00:00:00Z")),
    )
    assert await list_cluster(transport) == Listed(
        nodes=[ListedNode("uid-a", "a"), ListedNode("uid-b", "b")],
        pods=[listed_pod("p", "a"), listed_pod("q", is_terminating=True)],
    )
    assert [(request.path, request.query) for request in transport.requests] == [
        ("/api/v1/nodes", {"limit": "500"}),
        ("/api/v1/nodes", {"limit": "500", "continue": "more"}),
        ("/api/v1/pods", {"limit": "500", "fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}),
    ]


async def test_a_list_that_expires_between_two_pages_is_asked_for_in_one() -> None:
    transport = ScriptedTransport(
        page(node("a"), token="more"), refusal(410, "expired"), page(node("a"), node("b")), page()
    )
    assert [one.name for one in (await list_cluster(transport)).nodes] == ["a", "b"]
    assert transport.requests[2].query == {}


@pytest.mark.parametrize(("answer", "error"), [(refusal(403, "forbidden"), ApiError), (REFUSED, TransportFailure)])
async def test_what_cannot_be_listed_is_an_error(answer: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        await list_cluster(ScriptedTransport(answer))


async def settled(*rounds: Comparison) -> tuple[Comparison, int, float]:
    """The result of these comparisons one after the other, how many were made, and how long it took."""
    script: Iterator[Comparison] = iter(rounds)
    made: list[Comparison] = []

    def compare(_: Listed) -> Comparison:
        made.append(next(script))
        return made[-1]

    began = asyncio.get_running_loop().time()
    found = await compare_until_settled(ScriptedTransport(otherwise=page()), compare, asyncio.sleep)
    return found, len(made), asyncio.get_running_loop().time() - began


def missed(*pods: str) -> Comparison:
    return Comparison(nodes=0, pods=0, missed_pods=list(pods))


async def test_without_a_difference_one_list_is_enough() -> None:
    assert await settled(missed()) == (missed(), 1, 0.0)


async def test_a_difference_that_passes_is_none() -> None:
    assert await settled(missed("a"), missed("b")) == (missed(), 2, 1.0)


async def test_a_difference_that_stays_is_told() -> None:
    assert await settled(missed("a"), missed("a")) == (missed("a"), 2, 1.0)


async def test_one_of_two_that_stays_is_looked_at_once_more() -> None:
    assert await settled(missed("a", "b"), missed("b", "c"), missed("b")) == (missed("b"), 3, 2.0)


async def test_it_ends_however_much_changes() -> None:
    """In each round one of what differed is the same no more."""
    names = [str(number) for number in range(ROUNDS + 2)]
    rounds = [missed(*names[number:]) for number in range(ROUNDS + 1)]
    assert await settled(*rounds) == (missed(*names[ROUNDS:]), ROUNDS + 1, float(ROUNDS))
