"""What networks, etcd and a busy API server do in the middle of a burst: every pod is bound once, and what is known is what is there.

The scheduler runs in the test's own process, behind a proxy on its way to the real API server, so that its cache can be looked into.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog

from scheduler.app.runtime import Runtime
from scheduler.config.configuration import load
from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import load_credentials
from scheduler.queue.queued_pod import Room
from tests.integration.conftest import Say
from tests.support.api_client import ApiClient as Admin
from tests.support.burst import binding_answers
from tests.support.control_plane import ControlPlane
from tests.support.manifests import node_manifest, pod_manifest
from tests.support.plain_account import overcommitted
from tests.support.resources import NODES, PODS, Object
from tests.support.tcp_proxy import TcpProxy
from tests.support.watch import Watch

NODE_COUNT, POD_COUNT, SOME = 50, 600, 60
REQUESTS = {"cpu": "300m", "memory": "100Mi"}
PATIENCE_SECONDS = 120.0
FLOW_CONTROL = "flowcontrol.apiserver.k8s.io/v1"


def names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}-{index:03}" for index in range(count)]


class Burst:
    """A scheduler, the proxy it goes through, and pods that come while something happens."""

    def __init__(self, control_plane: ControlPlane, proxy: TcpProxy, runtime: Runtime, pods: Watch) -> None:
        self.control_plane = control_plane
        self.proxy = proxy
        self.runtime = runtime
        self.pods = pods
        self.task: asyncio.Task[Any]

    @property
    def admin(self) -> Admin:
        return self.control_plane.client()

    async def until(self, condition: Callable[[], Any], *, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until it holds; the scheduler must run all the while."""
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    assert not self.task.done(), self.task
                    await asyncio.sleep(0.02)
        except TimeoutError:
            state = self.runtime.state
            pytest.fail(f"bound {self.bound}, queue {state.queue.counts()}, bindings {len(state.bindings)}")

    @property
    def bound(self) -> int:
        return self.runtime.dispatcher.binder.counters.bound

    async def create(self, prefix: str, count: int = POD_COUNT) -> None:
        manifests = [pod_manifest(name, requests=REQUESTS) for name in names(prefix, count)]
        await asyncio.to_thread(self.admin.create_all, manifests, parallelism=4)

    async def create_at_once(self, prefix: str) -> None:
        """All pods wait before the first is decided on, so that many binds are under way at a time."""
        self.runtime.loop.stop_scheduling()
        await self.create(prefix)
        self.runtime.loop.start_scheduling()

    async def settled(self) -> dict[str, str]:
        """Wait until the cache is what a fresh list says, and nothing waits; the nodes of all pods, by uid."""
        pods: list[Object] = []
        nodes: list[Object] = []
        listed: dict[str, str] = {}
        for _ in range(int(PATIENCE_SECONDS)):
            pods = await asyncio.to_thread(self.admin.list_objects, PODS)
            nodes = await asyncio.to_thread(self.admin.list_objects, NODES)
            listed = {pod["metadata"]["uid"]: pod["spec"].get("nodeName", "") for pod in pods}
            if all(listed.values()) and self._differences(pods, nodes) == []:
                break
            assert not self.task.done(), self.task
            await asyncio.sleep(1.0)
        else:
            pytest.fail(f"the cache is not what is there: {self._differences(pods, nodes)[:5]}")
        assert overcommitted(nodes, pods) == {}
        state = self.runtime.state
        state.cache.validate()
        assert set(state.queue.counts().values()) == {0}, state.queue.counts()
        assert state.queue.counts()[Room.ACTIVE] == 0
        assert len(state.bindings) == 0
        return listed

    def _differences(self, pods: list[Object], nodes: list[Object]) -> list[str]:
        """What the cache has that the list has not, and the other way round."""
        cache = self.runtime.state.cache
        known = {
            (cached.pod.uid, cached.node_name, cached.assumed)
            for node in nodes
            for cached in cache.pods_on(node["metadata"]["name"])
        }
        there = {(pod["metadata"]["uid"], pod["spec"].get("nodeName", ""), False) for pod in pods}
        found = [f"pod {each} is missed" for each in there - known] + [
            f"pod {each} is too much" for each in known - there
        ]
        if cache.pod_count != len(pods):
            found.append(f"{cache.pod_count} pods are known of {len(pods)}")
        for node in nodes:
            metadata, row = node["metadata"], cache.table.row_of(node["metadata"]["name"])
            cached = None if row is None else cache.table.node(row).metadata
            if cached is None or (cached.uid, cached.resource_version) != (
                metadata["uid"],
                metadata["resourceVersion"],
            ):
                found.append(f"node {metadata['name']} is another or older")
        return found

    def assert_each_was_bound_once(self) -> None:
        """As a watch past the proxy, or since the last start of the API server, has shown it."""
        places: dict[str, set[str]] = {}
        for event in self.pods.events:
            places.setdefault(event.object["metadata"]["uid"], set()).add(event.object["spec"].get("nodeName", ""))
        assert [each for each in places.values() if len(each - {""}) > 1] == []


@asynccontextmanager
async def bursting(control_plane: ControlPlane, folder: Path) -> AsyncIterator[Burst]:
    admin = control_plane.client()
    await asyncio.to_thread(admin.create_all, [node_manifest(name, kwok=False) for name in names("node", NODE_COUNT)])
    kubeconfig = control_plane.kubeconfig("reprise", folder / "kubeconfig")
    port = int(control_plane.url.rpartition(":")[2])
    async with TcpProxy(port) as proxy:
        kubeconfig.write_text(kubeconfig.read_text().replace(control_plane.url, proxy.url))
        async with ApiClient(load_credentials(kubeconfig), version="0") as client:
            runtime = Runtime(load(None), client, hostname="host", seed=random.randrange(2**31))
            stop = asyncio.Event()
            with admin.watch(PODS) as pods:
                burst = Burst(control_plane, proxy, runtime, pods)
                burst.task = asyncio.create_task(runtime.run(stop))
                try:
                    await burst.until(runtime.synced.is_set)
                    yield burst
                    # No test forgets to look.
                    await burst.settled()
                finally:
                    stop.set()
                    await burst.task


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """A line for each decision would bury what matters."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    yield
    structlog.reset_defaults()


@pytest.fixture
async def burst(fresh_cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[Burst]:
    async with bursting(fresh_cluster, tmp_path) as running:
        yield running


async def test_answers_of_binds_that_were_carried_out_are_lost(burst: Burst, say: Say) -> None:
    """kubernetes/kubernetes#28883: a bind that is not answered may have been carried out, so its pod is read before anything else."""
    before = await asyncio.to_thread(binding_answers, burst.admin)
    await burst.create_at_once("pod")
    await burst.until(lambda: burst.bound >= SOME)
    await burst.until(lambda: burst.runtime.dispatcher.unfinished.binds > 0)
    burst.proxy.mute()
    await asyncio.sleep(0.3)  # binds are carried out and their answers vanish
    lost = burst.proxy.lost_answer_bytes
    burst.proxy.cut()
    nodes = await burst.settled()

    counters = burst.runtime.dispatcher.binder.counters
    assert lost > 0
    assert counters.read_back > 0
    assert len(nodes) == burst.bound == POD_COUNT
    burst.assert_each_was_bound_once()
    answers: Counter[str] = await asyncio.to_thread(binding_answers, burst.admin)
    answers.subtract(before)
    assert answers["201"] == POD_COUNT
    assert answers["409"] == 0
    say(f"{lost} bytes of answers lost: {counters.read_back} pods read back; server's answers {dict(answers)}")


async def test_connections_that_fall_silent_without_an_end_are_noticed(burst: Burst, say: Say) -> None:
    loop = asyncio.get_running_loop()
    creating = asyncio.create_task(burst.create("pod"))
    await burst.until(lambda: burst.bound >= SOME)
    frozen, at = burst.proxy.freeze(), loop.time()
    await creating
    await asyncio.to_thread(burst.admin.delete, PODS, "pod-000", "default", grace_seconds=0)
    nodes = await burst.settled()

    assert len(nodes) == POD_COUNT - 1
    burst.assert_each_was_bound_once()
    say(f"{frozen} connections froze after {SOME} binds; all was well {loop.time() - at:.0f} s later")


async def test_a_server_that_refuses_everything_for_ten_seconds_is_waited_for(burst: Burst, say: Say) -> None:
    throttled = {
        "apiVersion": FLOW_CONTROL,
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": "shut"},
        "spec": {
            "type": "Limited",
            "limited": {
                "nominalConcurrencyShares": 0,
                "lendablePercent": 0,
                "borrowingLimitPercent": 0,
                "limitResponse": {"type": "Reject"},
            },
        },
    }
    rules = [
        {
            "subjects": [{"kind": "ServiceAccount", "serviceAccount": {"name": "reprise", "namespace": "reprise"}}],
            "resourceRules": [
                {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
            ],
        }
    ]
    schema = {
        "apiVersion": FLOW_CONTROL,
        "kind": "FlowSchema",
        "metadata": {"name": "shut"},
        "spec": {"matchingPrecedence": 2, "priorityLevelConfiguration": {"name": "shut"}, "rules": rules},
    }
    root = f"/apis/{FLOW_CONTROL}"
    admin = burst.admin
    before = await asyncio.to_thread(binding_answers, admin)
    creating = asyncio.create_task(burst.create("pod"))
    await burst.until(lambda: burst.bound >= SOME)
    await asyncio.to_thread(admin.call, "POST", f"{root}/prioritylevelconfigurations", throttled)
    try:
        await asyncio.to_thread(admin.call, "POST", f"{root}/flowschemas", schema)
        await asyncio.sleep(10.0)
        shut = burst.bound
    finally:
        await asyncio.to_thread(admin.call, "DELETE", f"{root}/flowschemas/shut")
        await asyncio.to_thread(admin.call, "DELETE", f"{root}/prioritylevelconfigurations/shut")
    await creating
    nodes = await burst.settled()

    assert len(nodes) == POD_COUNT
    burst.assert_each_was_bound_once()
    answers: Counter[str] = await asyncio.to_thread(binding_answers, admin)
    answers.subtract(before)
    assert answers["429"] > 0
    assert (answers["201"], answers["409"]) == (POD_COUNT, 0)
    say(f"throttled after {shut} binds; server's answers {dict(answers)}")


async def test_a_killed_server_and_a_compacted_history_are_survived(burst: Burst, say: Say) -> None:
    """What happens while the scheduler sees nothing is not in the history any more when it comes back: it must list anew."""
    await burst.create("pod")
    await burst.until(lambda: burst.bound >= SOME)
    burst.proxy.accepts = False
    burst.proxy.cut()
    pods = await asyncio.to_thread(burst.admin.list_objects, PODS)
    gone = [pod["metadata"]["name"] for pod in pods if "nodeName" in pod["spec"]][:20]
    for name in gone:
        await asyncio.to_thread(burst.admin.delete, PODS, name, "default", grace_seconds=0)
    await burst.create("late", 50)
    await asyncio.to_thread(burst.admin.delete, NODES, "node-049")
    await asyncio.to_thread(burst.admin.create, node_manifest("node-049", kwok=False))
    burst.assert_each_was_bound_once()
    await asyncio.to_thread(burst.control_plane.stop_apiserver)
    _, version = 0, await asyncio.to_thread(compact, burst.control_plane)
    await asyncio.to_thread(burst.control_plane.start_apiserver)
    relists = sum(reflector.counters.relists for reflector in burst.runtime.reflectors)
    burst.proxy.accepts = True
    with burst.admin.watch(PODS) as since:
        burst.pods = since
        nodes = await burst.settled()

        burst.assert_each_was_bound_once()
    relisted = sum(reflector.counters.relists for reflector in burst.runtime.reflectors) - relists
    expired = sum(reflector.counters.expired for reflector in burst.runtime.reflectors)
    assert len(nodes) == POD_COUNT + 50 - len(gone)
    assert expired > 0
    assert relisted > 0
    say(f"compacted at {version}: {expired} watches had expired, {relisted} lists anew; {len(nodes)} pods bound")


def compact(control_plane: ControlPlane) -> int:
    """Let etcd forget everything but the present state; the version of that."""
    with Admin(control_plane._etcd_url) as etcd:
        status = etcd.call("POST", "/v3/maintenance/status", {})
        version = int(status["header"]["revision"])
        etcd.call("POST", "/v3/kv/compaction", {"revision": str(version), "physical": True})
    return version


async def test_a_server_that_is_killed_in_the_middle_of_binds_is_survived(burst: Burst, say: Say) -> None:
    await burst.create_at_once("pod")
    await burst.until(lambda: burst.bound >= SOME)
    await burst.until(lambda: burst.runtime.dispatcher.unfinished.binds > 0)
    await asyncio.to_thread(burst.control_plane.stop_apiserver)
    before = burst.bound
    await asyncio.to_thread(burst.control_plane.start_apiserver)
    with burst.admin.watch(PODS) as since:
        burst.pods = since
        nodes = await burst.settled()

        burst.assert_each_was_bound_once()
    assert len(nodes) == POD_COUNT
    counters = burst.runtime.dispatcher.binder.counters
    say(f"killed after {before} binds; {counters.read_back} pods were read back, {counters.failed} binds failed")
