"""The whole edge against the embedded API server, with the faults that it can make."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scheduler.core.stimulus import BindFailed, PodBound
from scheduler.kube.access import missing_rights
from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import load_credentials
from scheduler.sim.access import Denial
from scheduler.sim.resources import PODS
from scheduler.sim.server import ApiServer
from tests.edge.kube.whole_edge import running_edge
from tests.support.manifests import node_manifest, pod_manifest


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    server = ApiServer()
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@pytest.fixture
def kubeconfig(server: ApiServer, tmp_path: Path) -> Path:
    return server.kubeconfig(tmp_path / "kubeconfig")


def node_of(server: ApiServer, name: str) -> str | None:
    found = server.find(PODS, "default", name)
    assert found is not None
    spec: dict[str, Any] = found["spec"]
    return spec.get("nodeName")


async def test_what_is_there_and_what_comes_and_goes_is_delivered(server: ApiServer, kubeconfig: Path) -> None:
    server.create(node_manifest("node-1"))
    server.create(pod_manifest("early"))
    async with running_edge(kubeconfig) as edge:
        assert (edge.nodes, set(edge.pods)) == ({"node-1"}, {"early"})
        server.create(pod_manifest("late"))
        await edge.until(lambda: "late" in edge.pods)
        server.delete(PODS, "default", "early", grace_seconds=0)
        await edge.until(lambda: set(edge.pods) == {"late"})


async def test_a_bind_is_carried_out_and_seen_by_the_watch(server: ApiServer, kubeconfig: Path) -> None:
    server.create(node_manifest("node-1"))
    server.create(pod_manifest("a"))
    async with running_edge(kubeconfig) as edge:
        assert isinstance(await edge.bind("a", "node-1"), PodBound)
        await edge.until(lambda: edge.pods["a"].spec.node_name == "node-1")


async def test_a_bind_whose_answer_is_lost_is_found_out_without_a_second_one(
    server: ApiServer, kubeconfig: Path
) -> None:
    server.create(node_manifest("node-1"))
    server.create(pod_manifest("a"))
    async with running_edge(kubeconfig) as edge:
        server.faults.lose_answer(method="POST", path="/binding")
        assert isinstance(await edge.bind("a", "node-1"), PodBound)
        assert node_of(server, "a") == "node-1"
        assert edge.dispatcher.binder.counters.requests == 1
        assert edge.dispatcher.binder.counters.read_back == 1


@pytest.mark.parametrize("status", [500, 504])
async def test_a_bind_that_was_carried_out_and_answered_with_an_error_is_bound(
    server: ApiServer, kubeconfig: Path, status: int
) -> None:
    server.create(node_manifest("node-1"))
    server.create(pod_manifest("a"))
    async with running_edge(kubeconfig) as edge:
        server.faults.fail(status, method="POST", path="/binding", processed=True)
        assert isinstance(await edge.bind("a", "node-1"), PodBound)
        assert edge.dispatcher.binder.counters.requests == 1


async def test_a_bind_that_meets_503_is_repeated(server: ApiServer, kubeconfig: Path) -> None:
    server.create(node_manifest("node-1"))
    server.create(pod_manifest("a"))
    async with running_edge(kubeconfig) as edge:
        server.faults.fail(503, times=2, method="POST", path="/binding")
        assert isinstance(await edge.bind("a", "node-1"), PodBound)
        assert edge.dispatcher.binder.counters.requests == 3


async def test_a_pod_bound_by_another_is_a_failed_bind(server: ApiServer, kubeconfig: Path) -> None:
    for name in ("node-1", "node-2"):
        server.create(node_manifest(name))
    server.create(pod_manifest("a"))
    async with running_edge(kubeconfig) as edge:
        assert isinstance(await edge.bind("a", "node-2"), PodBound)
        answer = await edge.bind("a", "node-1")
        assert isinstance(answer, BindFailed)
        assert answer.error == (
            'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "node-2"'
        )


async def test_an_expired_watch_leads_to_a_list_that_misses_nothing(server: ApiServer, kubeconfig: Path) -> None:
    for name in ("kept", "gone", "recreated"):
        server.create(pod_manifest(name))
    async with running_edge(kubeconfig) as edge:
        uid = edge.pods["recreated"].metadata.uid
        await server.stop()
        for name in ("gone", "recreated"):
            server.delete(PODS, "default", name, grace_seconds=0)
        server.create(pod_manifest("recreated"))
        server.create(pod_manifest("new"))
        server.expire()
        await server.start(int(server.url.rsplit(":", 1)[1]))
        await edge.until(lambda: edge.reflectors["pods"].counters.relists == 1)
        assert set(edge.pods) == {"kept", "recreated", "new"}
        assert ("recreated", uid) in edge.deleted
        assert edge.pods["recreated"].metadata.uid != uid


async def test_watches_that_are_cut_are_resumed_without_a_list(server: ApiServer, kubeconfig: Path) -> None:
    server.create(pod_manifest("a"))
    async with running_edge(kubeconfig) as edge:
        server.drop_watches(abruptly=True)
        server.create(pod_manifest("b"))
        await edge.until(lambda: "b" in edge.pods)
        assert edge.reflectors["pods"].counters.lists == 1


async def test_a_condition_is_written(server: ApiServer, kubeconfig: Path) -> None:
    server.create(pod_manifest("a"))
    async with running_edge(kubeconfig) as edge:
        edge.write_condition("a", "0/0 nodes are available.", at=1_767_225_600.0)
        await edge.until(lambda: edge.pods["a"].status.conditions)
        conditions = edge.pods["a"].status.conditions
        assert conditions is not None
        (condition,) = conditions
        assert (condition.type, condition.status, condition.reason, condition.message) == (
            "PodScheduled",
            "False",
            "Unschedulable",
            "0/0 nodes are available.",
        )
        assert condition.last_transition_time == "2026-01-01T00:00:00Z"


async def test_events_are_written_as_series(server: ApiServer, kubeconfig: Path) -> None:
    server.create(pod_manifest("a"))
    async with running_edge(kubeconfig) as edge:
        for second in range(3):
            edge.record("a", "0/0 nodes are available.", 1_767_225_600.0 + second)
        await edge.dispatcher.drain(10)
        response = await edge.client.get("/apis/events.k8s.io/v1/namespaces/default/events")
        (event,) = msgspec.json.decode(response.body)["items"]
        assert (event["reason"], event["note"]) == ("FailedScheduling", "0/0 nodes are available.")
        assert event["series"] == {"count": 3, "lastObservedTime": "2026-01-01T00:00:02.000000Z"}


async def test_missing_rights_are_named(tmp_path: Path) -> None:
    server = ApiServer(denied=[Denial("create", "pods/binding"), Denial("watch", "nodes")])
    await server.start()
    try:
        credentials = load_credentials(server.kubeconfig(tmp_path / "kubeconfig"))
        async with ApiClient(credentials, version="0") as client:
            assert await missing_rights(client) == ["watch nodes", "create pods/binding (all namespaces)"]
    finally:
        await server.stop()
