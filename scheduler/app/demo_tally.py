"""What the embedded API server saw of the demo, counted apart from the scheduler."""

from __future__ import annotations

from typing import Any

import msgspec

from scheduler.api.objects import Node, Pod
from scheduler.api.quantity import amount
from scheduler.api.resources import PODS as POD_COUNT
from scheduler.core.cycle import CycleResult
from scheduler.framework.pod_info import PodInfo
from scheduler.sim.resources import NODES, PODS
from scheduler.sim.server import ApiServer
from scheduler.sim.store import Change


class Decisions:
    """How long each decision took."""

    def __init__(self) -> None:
        self._seconds: list[float] = []

    def took(self, _: CycleResult, seconds: float) -> None:
        self._seconds.append(seconds)

    def quantile_us(self, share: float) -> float:
        """Microseconds that this share of the decisions did not exceed; 0 without any."""
        ordered = sorted(self._seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1e6 if ordered else 0.0


class Tally:
    """Listens to every write of a pod, from ``start`` on."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._nodes: dict[str, set[str]] = {}
        self.first_bind: float | None = None
        self.last_bind: float | None = None

    def start(self, clock: Any) -> None:
        """Begin to count; ``clock`` gives seconds."""

        def changed(change: Change) -> None:
            pod = change.current.object
            node = pod["spec"].get("nodeName")
            if not node:
                return
            seen = self._nodes.setdefault(pod["metadata"]["uid"], set())
            if node not in seen:
                seen.add(node)
                now = clock()
                self.first_bind = now if self.first_bind is None else self.first_bind
                self.last_bind = now

        self._server.listen(PODS, changed)

    @property
    def bound(self) -> int:
        """Pods that were seen on a node."""
        return len(self._nodes)

    @property
    def bound_twice(self) -> int:
        """Pods that were seen on more than one node."""
        return sum(len(nodes) > 1 for nodes in self._nodes.values())

    def overcommitted_nodes(self) -> int:
        """Nodes whose pods ask for more than the node has, summed up from the server's objects."""
        used: dict[str, dict[str, int]] = {}
        for raw in self._server.objects(PODS):
            pod = msgspec.convert(raw, Pod)
            if pod.spec.node_name:
                total = used.setdefault(pod.spec.node_name, {})
                for name, count in (*PodInfo(pod).requests.items(), (POD_COUNT, 1)):
                    total[name] = total.get(name, 0) + count
        over = 0
        for raw in self._server.objects(NODES):
            node = msgspec.convert(raw, Node)
            has = {name: amount(name, quantity) for name, quantity in (node.status.allocatable or {}).items()}
            over += any(count > has.get(name, 0) for name, count in used.get(node.metadata.name, {}).items())
        return over
