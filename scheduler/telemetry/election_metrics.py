"""Metrics of the leader election (names: client-go, component-base)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector


class LeaderElectionCollector(Collector):
    """Whether this process leads, and how often a renewal had to read the Lease first; ``name`` is the Lease's."""

    def __init__(self, name: str, *, is_leader: Callable[[], bool], slow_paths: Callable[[], int]) -> None:
        self._name = name
        self._is_leader = is_leader
        self._slow_paths = slow_paths

    def collect(self) -> Iterator[Metric]:
        status = GaugeMetricFamily(
            "leader_election_master_status", "1 while this process leads, 0 while it stands by.", labels=["name"]
        )
        status.add_metric([self._name], float(self._is_leader()))
        yield status
        slow = CounterMetricFamily(
            "leader_election_slowpath", "Renewals for which the Lease had to be read first.", labels=["name"]
        )
        slow.add_metric([self._name], float(self._slow_paths()))
        yield slow
