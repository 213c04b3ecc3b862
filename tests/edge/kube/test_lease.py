"""What is asked of the API server for a Lease, and what its answers mean; tests/contract/test_leases.py asks real ones."""

import pytest

from scheduler.kube.lease import LeaseError, LeaseLock, LeaseRecord
from tests.edge.kube.scripted import LOST, ScriptedTransport, ok, refusal

pytestmark = pytest.mark.looptime

PATH = "/apis/coordination.k8s.io/v1/namespaces/ours/leases"
RECORD = LeaseRecord("a", 15, "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:02.000000Z", 3)
SPEC = {
    "holderIdentity": "a",
    "leaseDurationSeconds": 15,
    "acquireTime": "2026-01-01T00:00:00.000000Z",
    "renewTime": "2026-01-01T00:00:02.000000Z",
    "leaseTransitions": 3,
}
METADATA = {"name": "it", "namespace": "ours", "uid": "u", "resourceVersion": "7", "labels": {"app": "x"}}


def lock_on(transport: ScriptedTransport) -> LeaseLock:
    return LeaseLock(transport, namespace="ours", name="it")


async def test_an_update_carries_the_version_that_was_read_and_all_that_others_wrote() -> None:
    transport = ScriptedTransport(ok({"metadata": METADATA, "spec": SPEC}), ok({"metadata": METADATA, "spec": SPEC}))
    lock = lock_on(transport)

    assert await lock.get() == RECORD
    await lock.update(RECORD._replace(transitions=4))

    asked, written = transport.requests
    assert (asked.method, asked.path) == ("GET", f"{PATH}/it")
    assert (written.method, written.path) == ("PUT", f"{PATH}/it")
    assert written.body == {"metadata": METADATA, "spec": {**SPEC, "leaseTransitions": 4}}


async def test_an_update_after_an_update_carries_its_version() -> None:
    newer = {**METADATA, "resourceVersion": "8"}
    transport = ScriptedTransport(
        ok({"metadata": METADATA}), ok({"metadata": newer, "spec": SPEC}), ok({"metadata": newer, "spec": SPEC})
    )
    lock = lock_on(transport)
    await lock.get()
    await lock.update(RECORD)
    await lock.update(RECORD)

    assert [request.body["metadata"]["resourceVersion"] for request in transport.requests[1:]] == ["7", "8"]


async def test_no_lease_is_no_error() -> None:
    assert await lock_on(ScriptedTransport(refusal(404, "not found"))).get() is None


async def test_a_lease_with_nulls_is_free() -> None:
    transport = ScriptedTransport(ok({"metadata": METADATA, "spec": {"holderIdentity": None}}))
    assert await lock_on(transport).get() == LeaseRecord()


@pytest.mark.parametrize(
    ("answer", "code", "message"),
    [
        (refusal(403, "leases is forbidden"), 403, "leases is forbidden"),
        (LOST, 0, "connection reset"),
        (ok({"spec": {"leaseTransitions": "many"}}), 0, "the Lease ours/it cannot be decoded"),
    ],
)
async def test_what_is_no_answer_is_an_error(answer: object, code: int, message: str) -> None:
    with pytest.raises(LeaseError, match=message) as failed:
        await lock_on(ScriptedTransport(answer)).get()  # type: ignore[arg-type]
    assert failed.value.code == code


@pytest.mark.parametrize("code", [403, 404])
async def test_a_lease_that_cannot_be_made_says_what_to_do(code: int) -> None:
    transport = ScriptedTransport(refusal(code, "the server's words"))
    with pytest.raises(LeaseError, match=r"no Lease ours/it .*apply deploy/manifests/rbac.yaml.*the server's words"):
        await lock_on(transport).create(RECORD)
    assert (transport.requests[0].method, transport.requests[0].path) == ("POST", PATH)
    assert transport.requests[0].body["spec"] == SPEC
