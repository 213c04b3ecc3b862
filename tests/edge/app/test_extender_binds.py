"""A bind that is asked of an extender is looked at once more before it is sent, as one of our own is."""

import asyncio
from typing import Any

import pytest

from scheduler.app.runtime import Runtime
from scheduler.config.configuration import from_object
from scheduler.core.cycle import CycleResult
from scheduler.core.stimulus import PodApplied
from scheduler.kube.resources import NODES, PODS, AnyResource
from tests.edge.app.test_stop import answer, listed, small_node
from tests.edge.kube.local_server import serving
from tests.edge.kube.scripted import ScriptedTransport, pod
from tests.edge.kube.test_extender import Scripted
from tests.support.builders import make_pod


@pytest.mark.parametrize("cpu", ["1", "4"], ids=["there is room still", "the node is full"])
async def test_a_node_that_others_fill_after_the_decision_is_not_told_to_an_extender(cpu: str) -> None:
    transport, extender, stop = ScriptedTransport(otherwise=answer), Scripted({}), asyncio.Event()
    container = {"name": "c", "resources": {"requests": {"cpu": "3"}}}
    there: dict[AnyResource, list[dict[str, object]]] = {
        NODES: [small_node()],
        PODS: [pod("p", schedulerName="reprise", containers=[container])],
    }
    async with serving(extender) as url:
        fields: dict[str, Any] = {"urlPrefix": url, "bindVerb": "bind", "nodeCacheCapable": True}
        decided = asyncio.Event()

        def others_come(result: CycleResult, _seconds: float) -> None:
            if not decided.is_set() and result.node_name:
                foreign = make_pod("theirs", node_name="n", scheduler_name="other", requests={"cpu": cpu})
                runtime.loop.handle_now(PodApplied(now=1.0, pod=foreign))
                decided.set()

        runtime = Runtime(
            from_object({"extenders": [fields]}), transport, hostname="host", seed=1, on_cycle=others_come
        )
        transport.watch_answers = [listed(*there.get(reflector.resource, ())) for reflector in runtime.reflectors]
        running = asyncio.create_task(runtime.run(stop))
        await decided.wait()
        stop.set()
        await running

    checks = runtime.state.measurements.bind_checks
    if cpu == "1":
        assert (extender.seen["Node"], checks) == ("n", {"fits": 1})
    else:
        assert (extender.seen, checks) == (None, {"refused": 1})
        assert [queued.pod.key for queued in runtime.state.queue.waiting()] == ["default/p"]
    runtime.state.cache.validate()
