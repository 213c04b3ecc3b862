"""An election over a Lease, as both servers let it be held."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import load_credentials
from scheduler.kube.elector import Elector, LeadershipLost, Terms
from scheduler.kube.fence import Fence
from scheduler.kube.lease import LeaseError, LeaseLock, LeaseRecord
from scheduler.kube.timing import Timing
from tests.contract.servers import Server, without_managed_fields
from tests.support.resources import LEASES, Object

NAME = "scheduler"
AT = "2026-01-01T00:00:00.000000Z"
TERMS = Terms(lease_duration_seconds=2.0, renew_deadline_seconds=1.5, retry_period_seconds=0.2)


def record(holder: str, **fields: Any) -> LeaseRecord:
    return LeaseRecord(holder, 15, AT, AT, 2)._replace(**fields)


@asynccontextmanager
async def locking(server: Server, folder: Path) -> AsyncIterator[LeaseLock]:
    """A lock as the elector has it, on a client of its own."""
    kubeconfig = server.write_kubeconfig(folder / "kubeconfig")
    async with ApiClient(load_credentials(kubeconfig), version="0", reads_small=True) as client:
        yield LeaseLock(client, namespace=server.namespace, name=NAME)


def lease_of(server: Server) -> Object:
    return without_managed_fields(server.client.get(LEASES, NAME, server.namespace))


async def test_a_lease_that_is_not_there_is_none(server: Server, tmp_path: Path) -> None:
    async with locking(server, tmp_path) as lock:
        assert await lock.get() is None


async def test_what_is_created_and_updated_is_read_as_it_was_written(server: Server, tmp_path: Path) -> None:
    async with locking(server, tmp_path) as lock:
        await lock.create(record("a"))
        assert await lock.get() == record("a")
        await lock.update(record("b", transitions=3))
        await lock.update(record("b", transitions=4))
        assert await lock.get() == record("b", transitions=4)
    spec = {
        "holderIdentity": "b",
        "leaseDurationSeconds": 15,
        "acquireTime": AT,
        "renewTime": AT,
        "leaseTransitions": 4,
    }
    assert lease_of(server)["spec"] == spec


async def test_a_lease_without_a_spec_is_free_and_what_others_wrote_into_it_stays(
    server: Server, tmp_path: Path
) -> None:
    metadata = {"name": NAME, "namespace": server.namespace, "labels": {"app": "scheduler"}}
    server.client.create({"apiVersion": LEASES.api_version, "kind": "Lease", "metadata": metadata})
    async with locking(server, tmp_path) as lock:
        assert await lock.get() == LeaseRecord()
        await lock.update(record("a"))
    assert lease_of(server)["metadata"]["labels"] == {"app": "scheduler"}
    assert lease_of(server)["spec"]["holderIdentity"] == "a"


async def test_a_lease_that_exists_is_not_created(server: Server, tmp_path: Path) -> None:
    async with locking(server, tmp_path) as first, locking(server, tmp_path) as second:
        await first.create(record("a"))
        with pytest.raises(LeaseError) as refused:
            await second.create(record("b"))
        assert refused.value.code == 409
        assert await second.get() == record("a")


async def test_an_update_of_what_has_changed_meanwhile_is_refused(server: Server, tmp_path: Path) -> None:
    async with locking(server, tmp_path) as first, locking(server, tmp_path) as second:
        await first.create(record("a"))
        await second.get()
        await first.update(record("a", renew_time="2026-01-01T00:00:01.000000Z"))
        with pytest.raises(LeaseError) as refused:
            await second.update(record("b"))
        assert refused.value.code == 409
        assert "the object has been modified" in refused.value.message


async def test_a_released_lease_is_allowed(server: Server, tmp_path: Path) -> None:
    async with locking(server, tmp_path) as lock:
        await lock.create(record("a"))
        await lock.update(record("", duration_seconds=1))
        assert await lock.get() == record("", duration_seconds=1)


async def test_a_candidate_leads_holds_and_hands_over(server: Server, tmp_path: Path) -> None:
    async with locking(server, tmp_path) as lock, locking(server, tmp_path) as other_lock:
        fence = Fence(Timing().monotonic)
        first = Elector(lock, TERMS, identity="first", fence=fence, timing=Timing())
        second = Elector(other_lock, TERMS, identity="second", fence=Fence(Timing().monotonic), timing=Timing())
        await first.acquire()
        assert not await second._try()
        assert await first._try()
        assert first.slow_paths == 0
        assert 1.0 < fence.remaining_seconds <= 1.5
        assert await first.release()
        await second.acquire()
        assert lease_of(server)["spec"]["holderIdentity"] == "second"
        assert lease_of(server)["spec"]["leaseTransitions"] == 1
        first.is_leader = True
        fence.open_until(float("inf"))
        with pytest.raises(LeadershipLost, match="held by second"):
            await first.hold()
