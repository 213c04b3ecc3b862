"""Two replicas, one leader: whatever happens to it, every pod is bound once, and never by one that does not lead any more."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.integration.conftest import Say
from tests.support.api_client import ApiClient
from tests.support.binaries import require_binaries
from tests.support.burst import Binds, series
from tests.support.control_plane import ControlPlane
from tests.support.manifests import node_manifest, pod_manifest
from tests.support.plain_account import overcommitted
from tests.support.reprise_process import RepriseProcess
from tests.support.resources import CORE_EVENTS, LEASES, NODES, PODS, ROLES, Object
from tests.support.watch import Watch

pytestmark = pytest.mark.timeout(480)  # 3,000 pods each, on a machine that may be busy

LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS = 5.0, 4.0, 1.0
LONGEST_RETRY = 2.2 * RETRY_SECONDS
CONFIGURATION = {
    "leaderElection": {
        "leaderElect": True,
        "leaseDuration": f"{LEASE_SECONDS}s",
        "renewDeadline": f"{RENEW_SECONDS}s",
        "retryPeriod": f"{RETRY_SECONDS}s",
    }
}
NODE_COUNT, POD_COUNT, SOME = 100, 3000, 200
CLOCKS_SECONDS = 0.05
"""Times of the audit log and of Leases are of one machine; a request is on its way for a moment."""
ACQUIRED = "acquired the leader Lease"
POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  verbs: [create, update]
  resources: [{group: "", resources: [pods/binding]}, {group: coordination.k8s.io, resources: [leases]}]
- level: None
"""


@dataclass(frozen=True)
class Audit:
    """The API server's own account of who asked for what."""

    log: Path

    def entries(self, resource: str, user: str) -> list[Object]:
        """What that user has asked for, in the order in which it came."""
        lines = self.log.read_bytes().splitlines()
        found: list[Object] = [msgspec.json.decode(line) for line in lines]
        chosen = [each for each in found if each["objectRef"]["resource"] == resource and each["user"]["uid"] == user]
        return sorted(chosen, key=lambda each: str(each["requestReceivedTimestamp"]))

    def binds(self, user: str) -> list[float]:
        """When each bind of that user came, in seconds since the epoch."""
        return [_seconds(each["requestReceivedTimestamp"]) for each in self.entries("pods", user)]

    def last_renewal(self, user: str) -> float:
        """When the last renewal that was granted came."""
        renewals = [
            each
            for each in self.entries("leases", user)
            if each["responseStatus"]["code"] == 200
            and each.get("requestObject", {}).get("spec", {}).get("holderIdentity")
        ]
        return _seconds(renewals[-1]["requestReceivedTimestamp"])


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ControlPlane, Audit]]:
    """A control plane that keeps an audit log."""
    require_binaries("etcd", "kube-apiserver")
    folder = tmp_path_factory.mktemp("audit")
    policy, log = folder / "policy.yaml", folder / "audit.log"
    policy.write_text(POLICY)
    arguments = [f"--audit-policy-file={policy}", f"--audit-log-path={log}", "--audit-log-mode=blocking"]
    with ControlPlane(apiserver_arguments=arguments) as control_plane:
        yield control_plane, Audit(log)


class Pair:
    """Two replicas, of which ``leader`` was first, and pods that come while something happens."""

    def __init__(self, control_plane: ControlPlane, audit: Audit) -> None:
        self.control_plane = control_plane
        self.audit = audit
        self.admin = control_plane.client()
        audit.log.write_bytes(b"")
        self.admin.create_all(node_manifest(f"node-{index:02}", kwok=False) for index in range(NODE_COUNT))
        self.leader = RepriseProcess(control_plane, CONFIGURATION, name="leader").start()
        self.leader.wait_for_line(ACQUIRED)
        self.standby = RepriseProcess(control_plane, CONFIGURATION, user="reprise-2", name="standby").start()

    def close(self) -> None:
        """End both, the one that leads or could last."""
        for process in (self.leader, self.standby):
            process.stop()

    def create_pods(self) -> None:
        requests = {"cpu": "100m", "memory": "10Mi"}
        self.admin.create_all(pod_manifest(f"pod-{index:04}", requests=requests) for index in range(POD_COUNT))

    def wait_for_binds(self, pods: Watch, count: int, *, seconds: float = 200) -> None:
        binds = Binds()
        pods.wait_until(lambda watch: binds.count(watch) >= count, seconds=seconds, what=f"{count} binds")

    def assert_all_are_bound_once(self, pods: Watch) -> None:
        found = self.admin.list_objects(PODS)
        assert sum("nodeName" in pod["spec"] for pod in found) == POD_COUNT
        places: dict[str, set[str]] = {}
        for event in pods.events:
            places.setdefault(event.object["metadata"]["uid"], set()).add(event.object["spec"].get("nodeName", ""))
        assert [each for each in places.values() if len(each - {""}) != 1] == []
        assert overcommitted(self.admin.list_objects(NODES), found) == {}

    def took_over_at(self) -> float:
        """When the other one acquired the Lease, by its own log."""
        return _seconds(self.standby.lines(ACQUIRED)[0]["timestamp"])


@pytest.fixture
def pair(audited: tuple[ControlPlane, Audit]) -> Iterator[Pair]:
    control_plane, audit = audited
    control_plane.reset()
    running = Pair(control_plane, audit)
    yield running
    running.close()


def happening(pair: Pair, what: Callable[[], Any]) -> float:
    """Create the pods, let it happen in the middle of their binds, and wait until all are bound; when it happened."""
    with pair.admin.watch(PODS) as pods:
        creating = threading.Thread(target=pair.create_pods)
        creating.start()
        pair.wait_for_binds(pods, SOME)
        at = time.time()
        what()
        creating.join()
        pair.wait_for_binds(pods, POD_COUNT)
        pair.assert_all_are_bound_once(pods)
    return at


def metric(process: RepriseProcess, name: str) -> float:
    return series(process.page("/metrics").body.decode())[name]


def lease_of(admin: ApiClient) -> Object:
    spec: Object = admin.get(LEASES, "reprise", "reprise")["spec"]
    return spec


def test_a_killed_leader_is_followed_in_time_and_all_pods_are_bound_once(pair: Pair, say: Say) -> None:
    at = happening(pair, pair.leader.kill)

    took = pair.took_over_at() - at
    assert took < LEASE_SECONDS + 2 * LONGEST_RETRY
    assert pair.audit.binds("reprise")[-1] < at + CLOCKS_SECONDS
    assert pair.audit.binds("reprise-2")[0] > pair.took_over_at() - CLOCKS_SECONDS
    say(f"killed after {len(pair.audit.binds('reprise'))} binds of {POD_COUNT}; the other one led after {took:.1f} s")


def test_a_leader_that_was_stopped_for_long_binds_nothing_when_it_goes_on(pair: Pair, say: Say) -> None:
    def stop_and_continue() -> None:
        os.kill(pair.leader.daemon.pid, signal.SIGSTOP)
        threading.Event().wait(2 * LEASE_SECONDS)
        os.kill(pair.leader.daemon.pid, signal.SIGCONT)

    at = happening(pair, stop_and_continue)

    deadline = time.monotonic() + 10
    while pair.leader.daemon.running and time.monotonic() < deadline:
        threading.Event().wait(0.05)
    assert pair.leader.daemon.exit_code == 1
    assert pair.leader.lines("Leaderelection lost")
    assert pair.took_over_at() - at < LEASE_SECONDS + 2 * LONGEST_RETRY
    binds = pair.audit.binds("reprise")
    assert binds[-1] < pair.audit.last_renewal("reprise") + RENEW_SECONDS
    assert binds[-1] < pair.took_over_at()
    say(f"stopped after {len(binds)} binds for {2 * LEASE_SECONDS:g} s; ended with 1 and bound nothing more")


def test_a_leader_that_cannot_renew_its_lease_ends_and_binds_nothing_after_that(pair: Pair, say: Say) -> None:
    role = pair.admin.get(ROLES, "reprise-leader-election", "reprise")
    may = {**role["rules"][0], "verbs": ["get"]}

    def forbid() -> None:
        # The other one may not lead either then, until it is allowed again.
        pair.admin.patch(ROLES, "reprise-leader-election", {"rules": [may]}, namespace="reprise")
        deadline = time.monotonic() + 2 * LEASE_SECONDS
        while pair.leader.daemon.running and time.monotonic() < deadline:
            threading.Event().wait(0.05)
        pair.admin.patch(ROLES, "reprise-leader-election", {"rules": role["rules"]}, namespace="reprise")

    happening(pair, forbid)

    assert pair.leader.daemon.exit_code == 1
    assert pair.leader.lines("Leaderelection lost")
    last = pair.audit.last_renewal("reprise")
    binds = pair.audit.binds("reprise")
    assert binds[-1] < last + RENEW_SECONDS + CLOCKS_SECONDS
    assert binds[-1] < pair.took_over_at()
    say(f"renewals were refused; the last of {len(binds)} binds came {binds[-1] - last:.2f} s after the last renewal")


def test_a_leader_that_is_asked_to_end_hands_over_at_once(pair: Pair, say: Say) -> None:
    codes: list[int] = []
    at = happening(pair, lambda: codes.append(pair.leader.stop(compares=False)))

    assert codes == [0]
    [stopped] = pair.leader.lines("stopped")
    assert stopped["unfinished_binds"] == 0
    assert pair.leader.complaints() == []
    took = pair.took_over_at() - _seconds(stopped["timestamp"])
    assert took < LONGEST_RETRY + 0.5
    assert pair.audit.binds("reprise")[-1] < pair.took_over_at()
    say(f"asked to end {_seconds(stopped['timestamp']) - at:.2f} s before it had; the other one led {took:.2f} s later")


def test_a_standby_knows_the_cluster_decides_nothing_and_lists_anew_before_it_does(pair: Pair) -> None:
    assert pair.standby.is_ready()
    assert pair.standby.lines("caches are synced")
    assert metric(pair.leader, 'leader_election_master_status{name="reprise"}') == 1
    assert metric(pair.standby, 'leader_election_master_status{name="reprise"}') == 0
    assert pair.standby.page("/healthz").body == b"ok"
    verbose = pair.standby.page("/readyz?verbose").body.decode().splitlines()
    assert verbose[:4] == ["[+]ping ok", "[+]leaderElection ok", "[+]shutdown ok", "[+]sched-handler-sync ok"]
    with pair.admin.watch(PODS) as pods:
        pair.admin.create_all(pod_manifest(f"pod-{index}") for index in range(10))
        pair.wait_for_binds(pods, 10)
        assert pair.standby.lines("scheduling cycle") == []
        held = lease_of(pair.admin)
        assert held["holderIdentity"] == pair.leader.lines(ACQUIRED)[0]["identity"]
        assert (held["leaseDurationSeconds"], held["leaseTransitions"]) == (5, 1)
        assert pair.leader.stop() == 0
        pair.admin.create_all(pod_manifest(f"late-{index}") for index in range(10))
        pair.wait_for_binds(pods, 20)
    lines = [line["msg"] for line in pair.standby.lines()]
    assert lines.index("caches are synced") < lines.index(ACQUIRED)
    after = lines[lines.index(ACQUIRED) :]
    assert after.index("caches are synced") < after.index("scheduling cycle")
    assert metric(pair.standby, 'leader_election_master_status{name="reprise"}') == 1
    assert lease_of(pair.admin)["leaseTransitions"] == 2
    events = pair.admin.list_objects(CORE_EVENTS, "reprise")
    notes = [each["message"] for each in events if each["reason"] == "LeaderElection"]
    first, second = (process.lines(ACQUIRED)[0]["identity"] for process in (pair.leader, pair.standby))
    assert sorted(notes) == sorted([f"{first} became leader", f"{first} stopped leading", f"{second} became leader"])
