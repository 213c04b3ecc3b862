"""Watches that miss something, or fall silent: what is known is made right again, and who waited for it is placed.

The runtime is whole; the API server is a script, which never says what was missed until it is listed anew.
"""

import asyncio
from typing import Any

import pytest

from scheduler.app.runtime import Runtime
from scheduler.config.configuration import from_object
from scheduler.core.comparison import Listed, ListedNode, ListedPod, compare
from scheduler.kube.reflector import SILENCE_SECONDS
from scheduler.kube.resources import NODES, PODS, AnyResource
from scheduler.kube.transport import Response
from tests.edge.app.test_stop import answer, listed
from tests.edge.kube.scripted import (
    Request,
    ScriptedStream,
    ScriptedTransport,
    added,
    bookmark,
    error_event,
    modified,
    node,
    page,
    pod,
)

pytestmark = pytest.mark.looptime

# Who fits nowhere is not to look for victims here.
CONFIGURATION = {
    "profiles": [{"schedulerName": "reprise", "plugins": {"multiPoint": {"disabled": [{"name": "DefaultPreemption"}]}}}]
}


def big(name: str, version: int = 1, **spec: Any) -> dict[str, Any]:
    return {
        **node(name, version=version),
        "spec": spec,
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    }


def small(name: str) -> dict[str, Any]:
    return {**big(name), "status": {"allocatable": {"cpu": "100m", "memory": "8Gi", "pods": "110"}}}


def wants(name: str, cpu: str = "1") -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return pod(name, schedulerName="reprise", containers=[container])


class Running:
    """A scheduler that has listed these nodes and pods; ``streams`` are its watches of them."""

    def __init__(self, nodes: list[dict[str, Any]], pods: list[dict[str, Any]]) -> None:
        self.transport = ScriptedTransport(otherwise=self._answer)
        self.newest = page(version=10)
        self.runtime = Runtime(from_object(CONFIGURATION), self.transport, hostname="host", seed=1)
        there: dict[AnyResource, list[dict[str, Any]]] = {NODES: nodes, PODS: pods}
        self.streams = {one.resource: listed(*there.get(one.resource, ())) for one in self.runtime.reflectors}
        self.transport.watch_answers += self.streams.values()
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(self.runtime.run(self._stop))

    def _answer(self, request: Request) -> Response:
        if request.method == "GET":
            return self.newest
        found = answer(request)
        assert isinstance(found, Response)
        return found

    async def until(self, what: Any) -> None:
        async with asyncio.timeout(600.0):
            while not what():
                assert not self._task.done(), self._task
                await asyncio.sleep(0.1)

    def bound(self) -> dict[str, str]:
        """Nodes by pod, as the API server was asked."""
        return {
            request.body["metadata"]["name"]: request.body["target"]["name"]
            for request in self.transport.requests
            if request.path.endswith("/binding")
        }

    def told(self) -> set[str]:
        """Pods that have a condition."""
        return {request.path.split("/")[-2] for request in self.transport.requests if request.path.endswith("/status")}

    def expire(self, resource: AnyResource, *objects: dict[str, Any]) -> None:
        """The version of a watch is too old: the list that follows has these objects."""
        self.transport.watch_answers.append(listed(*objects))
        self.streams[resource].say(error_event(410, reason="Expired"))

    async def end(self) -> None:
        self.runtime.state.cache.validate()
        self._stop.set()
        await self._task


async def test_a_node_that_was_missed_is_named_by_a_comparison_and_found_by_the_next_list() -> None:
    """kubernetes/kubernetes#94437: after one missed update a node was "not found" for ever."""
    running = Running([small("small")], [wants("p")])
    await running.until(lambda: running.told() == {"p"})
    there = Listed(
        nodes=[ListedNode(uid="uid-small", name="small"), ListedNode(uid="uid-n", name="n")],
        pods=[ListedPod("uid-p", "default/p", "", "reprise", is_terminating=False)],
    )
    assert compare(running.runtime.state, there, {}).differences() == {"missed_nodes": ["n (uid-n)"]}

    running.expire(NODES, small("small"), big("n"))
    await running.until(lambda: running.bound() == {"p": "n"})
    assert compare(running.runtime.state, there, {}).is_same
    await running.end()


async def test_a_pod_that_was_missed_is_queued_by_the_next_list() -> None:
    """kubernetes/kubernetes#102790, volcano-sh/volcano#5025: pods whose event had been missed waited until a restart."""
    running = Running([big("n")], [wants("first")])
    await running.until(lambda: running.bound() == {"first": "n"})

    running.expire(PODS, wants("first"), wants("missed"))
    await running.until(lambda: running.bound() == {"first": "n", "missed": "n"})
    await running.end()


async def test_a_watch_that_falls_silent_is_asked_again_and_tells_what_came_meanwhile() -> None:
    """kubernetes/kubernetes#104521: pods were seen minutes late. A connection that died without an end is noticed after silence."""
    running = Running([big("n")], [])
    await running.until(running.runtime.synced.is_set)
    began = asyncio.get_running_loop().time()
    for stream in (one for resource, one in running.streams.items() if resource is not PODS):
        asyncio.get_running_loop().call_later(SILENCE_SECONDS / 2, stream.say, bookmark(11))
    follows = ScriptedStream()
    follows.say(added(wants("late")))
    running.transport.watch_answers.append(follows)

    await running.until(lambda: running.bound() == {"late": "n"})
    watch = running.transport.watches[-1]
    assert (watch.path, watch.query["resourceVersion"]) == ("/api/v1/pods", "10")
    assert SILENCE_SECONDS * 0.98 <= asyncio.get_running_loop().time() - began <= SILENCE_SECONDS + 2.0
    await running.end()


async def test_a_cordon_that_was_missed_holds_from_the_next_list_on_also_for_decisions_that_are_used_again() -> None:
    """kubernetes/kubernetes#86626: pods went to cordoned nodes until the nodes were made anew."""
    running = Running([big("n")], [wants("first")])
    await running.until(lambda: running.bound() == {"first": "n"})
    relisted = listed(big("n", version=2, unschedulable=True))
    running.transport.watch_answers.append(relisted)
    running.streams[NODES].say(error_event(410, reason="Expired"))
    reflector = next(one for one in running.runtime.reflectors if one.resource is NODES)
    await running.until(lambda: reflector.counters.relists == 1)
    running.streams[PODS].say(added(wants("second")))
    await running.until(lambda: running.told() == {"second"})

    assert running.bound() == {"first": "n"}
    relisted.say(modified(big("n", version=3)))
    await running.until(lambda: running.bound() == {"first": "n", "second": "n"})
    await running.end()
