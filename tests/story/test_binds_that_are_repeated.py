"""A decision, its bind on the wire, and what the core makes of the answer, on virtual time.

Expected: kube-scheduler 1.37, DefaultBinder: retry.DefaultBackoff, on errors that a repetition can mend.
"""

from __future__ import annotations

import asyncio

import pytest

from scheduler.kube.transport import Response
from tests.edge.kube.dispatching import dispatching
from tests.edge.kube.scripted import EPOCH, REFUSED, Request, ScriptedTransport, created, ok, refusal
from tests.support.builders import make_node, make_pod
from tests.support.core_run import ON_NODE, Core, changed

pytestmark = pytest.mark.looptime

POD = changed(make_pod("web"), version="7")
UID = POD.metadata.uid


def unbound(request: Request) -> Response:
    """The API server fails at every bind, and shows the pod without a node."""
    if request.method == "GET":
        return ok({"metadata": {"name": "web", "uid": UID}, "spec": {"containers": [{"name": "main"}]}})
    return refusal(500, "etcdserver: request timed out") if request.path.endswith("/binding") else created()


def conflict(request: Request) -> Response:
    if request.path.endswith("/binding"):
        return refusal(409, "pod web is being deleted, cannot be assigned to a host")
    return unbound(request)


async def bind(transport: ScriptedTransport) -> tuple[Core, list[float], list[str]]:
    """The core after the answer to its bind has come: when binds were sent, in seconds, and what is told."""
    core = Core()
    core.nodes(make_node("n1"))
    core.pods(POD, at=EPOCH)
    async with dispatching(transport) as edge:
        edge.submit(*core.decide(EPOCH).instructions)
        await asyncio.sleep(1.9)
        (answer,) = edge.stimuli
        notes = [getattr(one, "note", "") for one in core.scheduler.handle(answer)]
        sent = [round(one.at, 3) for one in transport.requests if one.path.endswith("/binding")]
    core.validate()
    return core, sent, [note for note in notes if note]


# trap: how-binds-are-repeated
async def test_a_bind_that_may_go_well_later_is_sent_four_times_before_its_pod_backs_off() -> None:
    core, sent, notes = await bind(ScriptedTransport(otherwise=unbound))

    assert len(sent) == 4
    assert sent[-1] < 2.0
    assert notes == ['running Bind plugin "DefaultBinder": etcdserver: request timed out']
    assert core.rooms(POD) == ["backoff"]


# trap: how-binds-are-repeated
async def test_a_bind_that_goes_well_the_third_time_is_told_as_if_it_had_at_once() -> None:
    core, sent, notes = await bind(ScriptedTransport(REFUSED, REFUSED, created()))

    assert sent == [0.0, 0.01, 0.06]
    assert notes == ["Successfully assigned default/web to n1"]
    assert core.rooms(POD) == [ON_NODE]


# trap: how-binds-are-repeated
async def test_a_bind_that_the_server_refuses_for_the_pods_state_is_sent_once() -> None:
    core, sent, notes = await bind(ScriptedTransport(otherwise=conflict))

    assert sent == [0.0]
    assert notes == ['running Bind plugin "DefaultBinder": pod web is being deleted, cannot be assigned to a host']
    assert core.rooms(POD) == ["backoff"]
