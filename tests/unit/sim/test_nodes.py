"""Simulated nodes on virtual time: bound pods run after their delay, and end after they were deleted."""

import asyncio
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from scheduler.sim.fleet import CORDONED_EVERY, DEDICATED_EVERY, MAX_PODS, ZONES, build_nodes
from scheduler.sim.nodes import NodeSimulator
from scheduler.sim.resources import NODES, PODS
from scheduler.sim.server import ApiServer
from tests.support.manifests import pod_manifest

pytestmark = pytest.mark.looptime

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
STARTED = "2026-11-30T12:00:00Z"


@pytest.fixture
def server() -> ApiServer:
    """A server that does not listen, with one node."""
    made = ApiServer(clock=lambda: NOW, chance=Random(7))
    for node in build_nodes(1, prefix="node"):
        made.create(node)
    return made


def create(server: ApiServer, name: str, *, node: str | None = "node-0001") -> None:
    placed: dict[str, Any] = {} if node is None else {"nodeName": node}
    server.create(pod_manifest(name, **placed))


def phase(server: ApiServer, name: str) -> str | None:
    pod = server.find(PODS, "default", name)
    return None if pod is None else pod["status"]["phase"]


def simulator(server: ApiServer, **options: Any) -> NodeSimulator:
    return NodeSimulator(server, clock=lambda: NOW, **options)


async def test_a_bound_pod_runs_after_its_delay(server: ApiServer) -> None:
    nodes = simulator(server, start_delay=5.0)
    nodes.start()
    create(server, "web")

    await asyncio.sleep(4.9)
    early = phase(server, "web")
    await asyncio.sleep(0.2)

    assert (early, phase(server, "web")) == ("Pending", "Running")
    assert nodes.running == 1
    nodes.stop()


async def test_a_running_pod_looks_like_one(server: ApiServer) -> None:
    nodes = simulator(server, start_delay=1.0)
    nodes.start()
    create(server, "web")
    await asyncio.sleep(2)

    pod = server.find(PODS, "default", "web")

    assert pod is not None
    status = pod["status"]
    ready = {condition["type"] for condition in status["conditions"] if condition["status"] == "True"}
    assert ready == {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"}
    assert {condition["lastTransitionTime"] for condition in status["conditions"]} == {STARTED}
    assert status["startTime"] == STARTED
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    (container,) = status["containerStatuses"]
    assert (container["name"], container["ready"], container["state"]) == (
        "main",
        True,
        {"running": {"startedAt": STARTED}},
    )
    assert status["qosClass"] == "Burstable"
    nodes.stop()


async def test_pods_due_together_run_in_one_turn_of_the_loop(server: ApiServer) -> None:
    delays = {"a": 1.0, "b": 1.01, "c": 1.5}
    nodes = simulator(server, start_delay=lambda pod: delays[pod["metadata"]["name"]], batch_seconds=0.1)
    turns: list[tuple[float, str]] = []
    loop = asyncio.get_running_loop()
    nodes.start()
    for name in delays:
        create(server, name)
    server.listen(PODS, lambda change: turns.append((round(loop.time(), 3), change.current.object["metadata"]["name"])))

    await asyncio.sleep(2)

    assert turns == [(1.1, "a"), (1.1, "b"), (1.6, "c")]
    nodes.stop()


async def test_a_pod_with_a_shorter_delay_does_not_wait_for_one_with_a_longer(server: ApiServer) -> None:
    delays = {"slow": 60.0, "fast": 1.0}
    nodes = simulator(server, start_delay=lambda pod: delays[pod["metadata"]["name"]])
    nodes.start()
    for name in delays:
        create(server, name)

    await asyncio.sleep(2)

    assert (phase(server, "fast"), phase(server, "slow")) == ("Running", "Pending")
    nodes.stop()


async def test_pods_that_were_bound_before_the_start_run_too(server: ApiServer) -> None:
    create(server, "web")
    nodes = simulator(server, start_delay=1.0)

    nodes.start()
    await asyncio.sleep(2)

    assert phase(server, "web") == "Running"
    nodes.stop()


@pytest.mark.parametrize("node", [None, "no-such-node"])
async def test_a_pod_without_a_node_that_exists_does_not_run(server: ApiServer, node: str | None) -> None:
    nodes = simulator(server, start_delay=1.0)
    nodes.start()
    create(server, "web", node=node)

    await asyncio.sleep(60)

    assert phase(server, "web") == "Pending"
    nodes.stop()


async def test_a_deleted_pod_is_gone_after_its_delay(server: ApiServer) -> None:
    nodes = simulator(server, start_delay=1.0, stop_delay=3.0)
    nodes.start()
    create(server, "web")
    await asyncio.sleep(2)
    server.delete(PODS, "default", "web")

    await asyncio.sleep(2.9)
    still = server.find(PODS, "default", "web")
    await asyncio.sleep(0.2)

    assert still is not None
    assert "deletionTimestamp" in still["metadata"]
    assert server.find(PODS, "default", "web") is None
    nodes.stop()


async def test_a_pod_that_is_deleted_before_it_runs_never_runs(server: ApiServer) -> None:
    nodes = simulator(server, start_delay=2.0, stop_delay=1.0)
    nodes.start()
    create(server, "web")
    phases: list[str] = []
    server.listen(PODS, lambda change: phases.append(change.current.object["status"]["phase"]))

    server.delete(PODS, "default", "web")
    await asyncio.sleep(5)

    assert set(phases) == {"Pending"}
    assert (nodes.running, server.find(PODS, "default", "web")) == (0, None)
    nodes.stop()


async def test_a_pod_of_the_same_name_is_another_pod(server: ApiServer) -> None:
    nodes = simulator(server, start_delay=2.0)
    nodes.start()
    create(server, "web")
    await asyncio.sleep(1)
    server.delete(PODS, "default", "web", grace_seconds=0)
    create(server, "web")

    await asyncio.sleep(1.5)
    early = phase(server, "web")
    await asyncio.sleep(1)

    assert (early, phase(server, "web"), nodes.running) == ("Pending", "Running", 1)
    nodes.stop()


async def test_a_simulator_that_was_stopped_leaves_pods_as_they_are(server: ApiServer) -> None:
    nodes = simulator(server, start_delay=1.0)
    nodes.start()
    create(server, "web")

    nodes.stop()
    create(server, "db")
    await asyncio.sleep(5)

    assert (phase(server, "web"), phase(server, "db")) == ("Pending", "Pending")


def test_a_fleet_is_the_same_each_time_and_covers_all_zones() -> None:
    nodes = list(build_nodes(150))

    assert nodes == list(build_nodes(150))
    assert [node["metadata"]["name"] for node in nodes[:2]] == ["node-0001", "node-0002"]
    zones = [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes]
    assert {zone: zones.count(zone) for zone in ZONES} == dict.fromkeys(ZONES, 50)
    kinds = {node["metadata"]["labels"]["node.kubernetes.io/instance-type"] for node in nodes}
    assert len(kinds) == 5
    assert {node["metadata"]["labels"]["kubernetes.io/arch"] for node in nodes} == {"amd64", "arm64"}


def test_some_nodes_of_a_fleet_are_set_aside() -> None:
    nodes = list(build_nodes(DEDICATED_EVERY * CORDONED_EVERY))

    keys = [taint["key"] for node in nodes for taint in node["spec"].get("taints", [])]
    cordoned = [node for node in nodes if node["spec"].get("unschedulable")]
    assert keys.count("dedicated") == CORDONED_EVERY
    assert keys.count("node.kubernetes.io/unschedulable") == len(cordoned) == DEDICATED_EVERY


def test_a_server_accepts_a_fleet_and_each_node_offers_less_than_it_has() -> None:
    server = ApiServer()
    for node in build_nodes(40):
        server.create(node)

    nodes = server.objects(NODES)

    assert len(nodes) == 40
    for node in nodes:
        capacity, allocatable = node["status"]["capacity"], node["status"]["allocatable"]
        assert int(allocatable["cpu"].removesuffix("m")) < 1000 * int(capacity["cpu"])
        assert int(allocatable["memory"].removesuffix("Mi")) < 1024 * int(capacity["memory"].removesuffix("Gi"))
        assert allocatable["pods"] == str(MAX_PODS)
