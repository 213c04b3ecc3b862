"""A scheduler that takes part in an election: what it does before it leads, when it leads, and when it does not any more."""

import asyncio
from typing import Any, cast

import pytest

from scheduler.api.objects import PodStatus
from scheduler.app.leadership import Candidacy, Leadership
from scheduler.app.runtime import Runtime
from scheduler.config.configuration import from_object
from scheduler.core.stimulus import PodApplied, PodDeleted
from scheduler.kube.elector import LeadershipLost, Terms
from scheduler.kube.resources import NODES, PODS, AnyResource
from tests.edge.app.test_stop import answer, listed, small_node
from tests.edge.kube.dispatching import bind
from tests.edge.kube.scripted import ScriptedTransport, pod
from tests.support.builders import make_pod

pytestmark = pytest.mark.looptime

CANDIDACY = Candidacy(namespace="ours", name="it", terms=Terms(), hostname="host", reporter="reprise")


class Decree:
    """A Leadership that is won and lost when a test says so."""

    candidacy = CANDIDACY

    def __init__(self, *, is_up_to_date: bool = True) -> None:
        self.calls: list[str] = []
        self.is_leader = False
        self.wins = asyncio.Event()
        self.loses = asyncio.Event()
        self._is_up_to_date = is_up_to_date

    async def start(self) -> None:
        self.calls.append("start")

    async def acquire(self) -> bool:
        self.calls.append("acquire")
        await self.wins.wait()
        self.is_leader = True
        return self._is_up_to_date

    async def lost(self) -> None:
        await self.loses.wait()
        raise LeadershipLost("lost")

    async def release(self) -> None:
        self.calls.append("release")


class Running:
    """A runtime on a scripted API server with one node and one pod that waits."""

    def __init__(self, leadership: Decree, **configuration: Any) -> None:
        self.transport = ScriptedTransport(otherwise=answer, latency_seconds=0.2)
        self.leadership = leadership
        self.runtime = Runtime(
            from_object(configuration),
            self.transport,
            hostname="host",
            seed=1,
            leadership=cast("Leadership", leadership),
        )
        self.stop = asyncio.Event()
        there: dict[AnyResource, list[dict[str, object]]] = {
            NODES: [small_node()],
            PODS: [pod("p", schedulerName="reprise")],
        }
        for _ in range(2):
            self.transport.watch_answers += [
                listed(*there.get(reflector.resource, ())) for reflector in self.runtime.reflectors
            ]
        self.task = asyncio.create_task(self.runtime.run(self.stop))

    @property
    def binds(self) -> int:
        return sum(request.path.endswith("/binding") for request in self.transport.requests)

    @property
    def lists(self) -> int:
        return len(self.transport.watches)

    async def end(self) -> None:
        self.stop.set()
        await self.task


async def test_a_standby_is_in_sync_and_decides_nothing_until_it_leads() -> None:
    running = Running(Decree())
    await asyncio.sleep(60.0)

    assert running.runtime.synced.is_set()
    assert running.leadership.calls == ["start", "acquire"]
    assert running.binds == 0

    running.leadership.wins.set()
    await asyncio.sleep(5.0)
    assert running.binds == 1
    assert running.lists == len(running.runtime.reflectors)
    await running.end()
    assert running.leadership.calls == ["start", "acquire", "release"]


async def test_whatever_a_standby_comes_upon_it_writes_nothing() -> None:
    running = Running(Decree())
    await asyncio.sleep(60.0)

    running.runtime.loop._dispatch(bind("other"))
    await asyncio.sleep(5.0)

    assert running.binds == 0
    await running.end()


async def test_who_stands_by_reads_no_pod_that_ended_and_waits_for_nothing() -> None:
    """Whoever leads does, and keeps pods of its kind from the node."""
    running = Running(Decree())
    await asyncio.sleep(60.0)
    bound = make_pod("theirs", node_name="n", status=PodStatus(phase="Pending"))
    running.runtime.loop.deliver(PodApplied(now=60.0, pod=bound))
    await asyncio.sleep(1.0)
    asked = len(running.transport.requests)
    running.runtime.loop.deliver(PodDeleted(now=61.0, namespace="default", name="theirs", uid=bound.metadata.uid))
    await asyncio.sleep(1.0)

    rejections = running.runtime.state.kubelet_rejections
    assert (rejections.reads, len(rejections.being_read), len(running.transport.requests)) == (1, 0, asked)
    await running.end()


async def test_a_successor_lists_everything_anew_before_it_decides() -> None:
    """kubernetes/kubernetes#107262, kubernetes/kubernetes#65257: across a change of the leader pods came to be where others were."""
    running = Running(Decree(is_up_to_date=False))
    await asyncio.sleep(60.0)
    kinds = len(running.runtime.reflectors)
    assert running.lists == kinds

    running.leadership.wins.set()
    await asyncio.sleep(5.0)

    assert running.lists == 2 * kinds
    binding = next(request for request in running.transport.requests if request.path.endswith("/binding"))
    assert all(watch.at <= binding.at for watch in running.transport.watches)
    assert all("resourceVersion" not in watch.query for watch in running.transport.watches)
    assert running.binds == 1
    await running.end()


async def test_with_delayed_caches_nothing_is_read_until_it_leads() -> None:
    running = Running(Decree(is_up_to_date=False), delayCacheUntilActive=True)
    await asyncio.sleep(60.0)
    assert running.lists == 0
    assert not running.runtime.synced.is_set()

    running.leadership.wins.set()
    await asyncio.sleep(5.0)
    assert (running.lists, running.binds) == (len(running.runtime.reflectors), 1)
    await running.end()


async def test_who_does_not_lead_any_more_ends_without_another_write() -> None:
    running = Running(Decree())
    running.leadership.wins.set()
    await asyncio.sleep(5.0)
    count = len(running.transport.requests)

    running.leadership.loses.set()
    with pytest.raises(ExceptionGroup) as ended:
        await running.task

    assert ended.value.subgroup(LeadershipLost) is not None
    assert len(running.transport.requests) == count
    assert "release" not in running.leadership.calls


def test_what_an_election_takes_is_named_as_any_right() -> None:
    assert [str(right) for right in CANDIDACY.rights] == [
        'get leases.coordination.k8s.io "it" (namespace ours)',
        'update leases.coordination.k8s.io "it" (namespace ours)',
    ]
