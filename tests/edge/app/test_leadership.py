"""The elector on its own thread, against the embedded API server in real time: what reaches the main loop, and what does not need it."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from scheduler.app.leadership import Candidacy, Leadership
from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import load_credentials
from scheduler.kube.elector import LeadershipLost, Terms
from scheduler.kube.fence import FenceClosed
from scheduler.sim.server import ApiServer
from tests.contract.servers import EmbeddedServer
from tests.support.api_client import ApiClient as Admin
from tests.support.resources import EVENTS, LEASES

# A second is the shortest Lease there is.
TERMS = Terms(lease_duration_seconds=1.0, renew_deadline_seconds=0.6, retry_period_seconds=0.1)


@pytest.fixture
def server() -> Any:
    """The embedded server with a namespace, on a thread of its own."""
    running = EmbeddedServer(ApiServer)
    with Admin(running.url) as admin:
        admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "reprise"}})
        yield running, admin
    running.stop()


@asynccontextmanager
async def candidate(
    server: EmbeddedServer, folder: Path, hostname: str = "host", **options: Any
) -> AsyncIterator[Leadership]:
    kubeconfig = server.server.kubeconfig(folder / "kubeconfig")
    client = ApiClient(load_credentials(kubeconfig), version="0", reads_small=True)
    candidacy = Candidacy(namespace="reprise", name="reprise", terms=TERMS, hostname=hostname, reporter="reprise")
    leadership = Leadership(candidacy, client, **options)
    try:
        await leadership.start()
        yield leadership
    finally:
        leadership.close()


def steal(admin: Admin) -> None:
    """Somebody writes another name into the Lease."""
    lease = admin.get(LEASES, "reprise", "reprise")
    lease["spec"]["holderIdentity"] = "thief"
    admin.replace(lease)


async def test_a_leader_may_write_until_it_hands_over(server: tuple[EmbeddedServer, Admin], tmp_path: Path) -> None:
    running, admin = server
    async with candidate(running, tmp_path) as leadership:
        with pytest.raises(FenceClosed):
            leadership.fence.check()
        assert await leadership.acquire()
        leadership.fence.check()
        leads = [leadership.is_leader]
        await leadership.release()
        assert [*leads, leadership.is_leader] == [True, False]
        with pytest.raises(FenceClosed):
            leadership.fence.check()
    assert admin.get(LEASES, "reprise", "reprise")["spec"]["holderIdentity"] == ""
    notes = [event["note"] for event in admin.list_objects(EVENTS)]
    assert sorted(notes) == sorted(f"{leadership.identity} {what}" for what in ("became leader", "stopped leading"))


async def test_the_identity_is_the_host_and_something_of_its_own(
    server: tuple[EmbeddedServer, Admin], tmp_path: Path
) -> None:
    running, _ = server
    async with candidate(running, tmp_path, "a") as first, candidate(running, tmp_path, "a") as second:
        assert first.identity.startswith("a_")
        assert first.identity != second.identity


async def test_renewals_go_on_while_the_main_loop_is_blocked(
    server: tuple[EmbeddedServer, Admin], tmp_path: Path
) -> None:
    running, _ = server
    async with candidate(running, tmp_path) as leadership:
        await leadership.acquire()
        deadline = time.monotonic() + 2.5 * TERMS.renew_deadline_seconds
        while time.monotonic() < deadline:
            sum(range(1000))  # decisions
        leadership.fence.check()


async def test_a_lost_lease_reaches_the_main_loop(server: tuple[EmbeddedServer, Admin], tmp_path: Path) -> None:
    running, admin = server
    ended: list[int] = []
    async with candidate(running, tmp_path, end=ended.append) as leadership:
        await leadership.acquire()
        losing = asyncio.create_task(leadership.lost())
        await asyncio.to_thread(steal, admin)
        with pytest.raises(LeadershipLost, match="held by thief"):
            await losing
        with pytest.raises(FenceClosed):
            leadership.fence.check()
    assert ended == []  # the main loop ended it in order
    notes = [event["note"] for event in admin.list_objects(EVENTS)]
    assert f"{leadership.identity} stopped leading" in notes


async def test_the_process_is_ended_when_the_main_loop_does_not_do_it(
    server: tuple[EmbeddedServer, Admin], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, admin = server
    monkeypatch.setattr("scheduler.app.leadership.END_SECONDS", 0.1)
    codes: list[int] = []
    ended = threading.Event()

    def end(code: int) -> None:
        codes.append(code)
        ended.set()

    async with candidate(running, tmp_path, end=end) as leadership:
        await leadership.acquire()
        steal(admin)
        assert ended.wait(10.0)  # the main loop is blocked here
        assert codes == [1]


async def test_who_ends_while_it_waits_does_not_lead_afterwards(
    server: tuple[EmbeddedServer, Admin], tmp_path: Path
) -> None:
    running, admin = server
    async with candidate(running, tmp_path) as first:
        await first.acquire()
        async with candidate(running, tmp_path) as second:
            waiting = asyncio.create_task(second.acquire())
            await asyncio.sleep(0.2)
            await second.release()
            with suppress(asyncio.CancelledError):
                await waiting
        assert admin.get(LEASES, "reprise", "reprise")["spec"]["holderIdentity"] == first.identity


async def test_a_successor_knows_that_somebody_has_led(server: tuple[EmbeddedServer, Admin], tmp_path: Path) -> None:
    running, _ = server
    async with candidate(running, tmp_path) as first, candidate(running, tmp_path) as second:
        assert await first.acquire()
        await first.release()
        assert not await second.acquire()


async def test_to_release_what_was_never_started_does_nothing(
    server: tuple[EmbeddedServer, Admin], tmp_path: Path
) -> None:
    running, _ = server
    kubeconfig = running.server.kubeconfig(tmp_path / "kubeconfig")
    async with ApiClient(load_credentials(kubeconfig), version="0") as client:
        candidacy = Candidacy(namespace="reprise", name="reprise", terms=TERMS, hostname="host", reporter="reprise")
        leadership = Leadership(candidacy, client)
        await leadership.release()
        leadership.close()
