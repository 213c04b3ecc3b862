"""Nodes that change between two pods of a shape, on a real API server: an entry of the batch cache never offers what is no more.

Pods come one at a time and are all alike. Two nodes of nearly one size take them in turn, so the node that the entry would
offer next is known before, and it is not the one of the last decision: nothing but its own change brings its row up to date.
"""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.integration.conftest import StartReprise
from tests.support.api_client import ApiClient
from tests.support.burst import series
from tests.support.manifests import node_manifest, pod_manifest
from tests.support.reprise_process import RepriseProcess
from tests.support.resources import NODES, PODS, Object
from tests.support.watch import Watch

# Entries do not age here, and no check mends what an entry gets wrong.
BATCHING = {"batching": {"maxBatchAge": "0s", "verifyFraction": 0}}
REQUESTS = {"cpu": "8", "memory": "8Gi"}
A = node_manifest("a", allocatable={"cpu": "64", "memory": "64Gi"}, kwok=False)
B = node_manifest("b", allocatable={"cpu": "60", "memory": "60Gi"}, kwok=False)
DEDICATED = {"key": "dedicated", "value": "other", "effect": "NoSchedule"}
HINT_USED = 'scheduler_batch_attempts_total{profile="reprise",result="hint_used"}'


class Placed(NamedTuple):
    """Where a pod was bound, and how many decisions came from an entry while it was placed."""

    node: str
    hints: int


class Cluster:
    """The two nodes and a running scheduler."""

    def __init__(self, admin: ApiClient, pods: Watch, reprise: RepriseProcess) -> None:
        self.admin = admin
        self.reprise = reprise
        self._pods = pods
        self._count = 0

    def sample(self, name: str) -> int:
        """A sample of /metrics."""
        return int(series(self.reprise.page("/metrics").body.decode())[name])

    def place(self) -> Placed:
        """Create the next pod of the shape, and wait until it is bound."""
        before = self.sample(HINT_USED)
        name = f"pod-{self._count}"
        self._count += 1
        self.admin.create(pod_manifest(name, requests=REQUESTS))
        self.reprise.wait_until(lambda: bool(self._node_of(name)), seconds=30, what=f"{name} is bound")
        return Placed(self._node_of(name), self.sample(HINT_USED) - before)

    def remove_last_pod(self) -> None:
        """Delete the pod that was placed last, and wait until the scheduler knows."""
        self.admin.delete(PODS, f"pod-{self._count - 1}", "default", grace_seconds=0)
        self._wait_for_cached("pods", len(self.admin.list_objects(PODS)))

    def set_taints(self, node: str, taints: list[Object]) -> None:
        """Replace a node's taints, and wait until the scheduler knows: it hears of nodes in the order of their changes."""
        self.admin.patch(NODES, node, {"spec": {"taints": taints}})
        count = len(self.admin.list_objects(NODES))
        self.add_node(node_manifest(f"cordoned-{count}", unschedulable=True, kwok=False))

    def add_node(self, manifest: Object) -> None:
        """Create a node, and wait until the scheduler knows."""
        self.admin.create(manifest)
        self._wait_for_cached("nodes", len(self.admin.list_objects(NODES)))

    def remove_node(self, name: str) -> None:
        """Delete a node, and wait until the scheduler knows."""
        self.admin.delete(NODES, name)
        self._wait_for_cached("nodes", len(self.admin.list_objects(NODES)))

    def _node_of(self, name: str) -> str:
        """The pod's node, "" while it has none."""
        node: str = (self._pods.find(name, "default") or {"spec": {}})["spec"].get("nodeName", "")
        return node

    def _wait_for_cached(self, kind: str, count: int) -> None:
        sample = f'scheduler_cache_size{{type="{kind}"}}'
        what = f"it knows of {count} {kind}"
        self.reprise.wait_until(lambda: self.sample(sample) == count, seconds=30, what=what)


@pytest.fixture
def cluster(admin: ApiClient, start_reprise: StartReprise) -> Iterator[Cluster]:
    """After five pods, all but two placed from an entry, with the next to go to b."""
    admin.create_all([A, B])
    with admin.watch(PODS) as pods:
        found = Cluster(admin, pods, start_reprise(reprise=BATCHING))
        # A shape is kept from its second pod on.
        assert [found.place() for _ in range(5)] == [
            Placed("a", hints=0),
            Placed("b", hints=0),
            Placed("a", hints=1),
            Placed("b", hints=1),
            Placed("a", hints=1),
        ]
        yield found


def test_a_taint_on_the_node_that_an_entry_would_offer_is_honoured_by_the_next_pod(cluster: Cluster):
    cluster.set_taints("b", [DEDICATED])
    assert cluster.place() == Placed("a", hints=1)

    # The very same state but for the taint.
    cluster.remove_last_pod()
    cluster.set_taints("b", [])
    assert cluster.place() == Placed("b", hints=1)


def test_a_node_that_is_deleted_is_never_offered(cluster: Cluster):
    cluster.remove_node("b")

    # Room for three more on a, and b would have been the better one for the first two.
    assert [cluster.place() for _ in range(3)] == [Placed("a", hints=1)] * 3


def test_a_node_that_comes_back_under_its_name_is_used_as_it_is_now(cluster: Cluster):
    """It is far larger than before and than the other one, so the best choice, and takes one pod beside the two on it."""
    cluster.remove_node("b")
    assert cluster.place() == Placed("a", hints=1)
    cluster.add_node(node_manifest("b", allocatable={"cpu": "1000", "memory": "1000Gi", "pods": "3"}, kwok=False))

    assert [cluster.place() for _ in range(2)] == [Placed("b", hints=1), Placed("a", hints=1)]
