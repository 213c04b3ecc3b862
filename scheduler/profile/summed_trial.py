"""Many nodes without some of their pods, all at once: where no plugin looks at more of these pods than what they add up to.

Nothing is moved in the table. Each step asks the plugins about all nodes with other sums, so there are as many steps as the node
with the most pods has pods, and no Python of ours runs for a node in any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from scheduler.api.ports import ANY_IP, HostPort, conflict
from scheduler.cache.cache import Cache
from scheduler.framework.ops import BoolArray, IntArray
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.post_filter import NodePods, Order, Room
from scheduler.framework.status import SUCCESS, Code, Status
from scheduler.profile.trial_filters import TrialColumn, TrialFilters

_Quantity: TypeAlias = tuple[str, ...]
"""What is summed up, by the name of what asks for it."""

_NOBODY = 0


class _Kinds:
    """Pods that take the same from a node, by number; number 0 takes nothing."""

    def __init__(self) -> None:
        self._number_of: dict[object, int] = {}
        self._numbers: dict[int, int] = {}
        """Of each pod, by its id: the pods live longer than this."""
        self._pods: list[PodInfo] = []
        self._values: dict[_Quantity, IntArray] = {}

    def matrix(self, pods: Sequence[Sequence[PodInfo]]) -> IntArray:
        """Numbers of the pods of some nodes, shape (most pods, nodes): the first of each node first."""
        known, number = self._numbers, self._number
        flat = [known.get(id(pod)) or number(pod) for of_node in pods for pod in of_node]
        counts = np.fromiter(map(len, pods), np.int64, len(pods))
        matrix = np.zeros((len(pods), int(counts.max(initial=0))), np.int64)
        matrix[np.arange(matrix.shape[1]) < counts[:, np.newaxis]] = flat
        return np.ascontiguousarray(matrix.T)

    def _number(self, pod: PodInfo) -> int:
        # Equal amounts are one object, as a rule; that two are taken for different kinds does no harm.
        amounts, ports = pod.amounts, pod.host_ports
        key: object = (id(amounts), ports) if ports else id(amounts)
        number = self._number_of.get(key)
        if number is None:
            self._pods.append(pod)
            number = self._number_of[key] = len(self._pods)
        self._numbers[id(pod)] = number
        return number

    def values(self, quantity: _Quantity, measure: Callable[[PodInfo], int]) -> IntArray:
        """How much of a quantity a pod of each kind takes, by number."""
        known = self._values.get(quantity)
        if known is None:
            known = self._values[quantity] = np.array([0, *map(measure, self._pods)], np.int64)
        return known


class _Sums:
    """The Shift of some nodes: without pods that are away, with those that are being put back, and with nominated ones or not.

    Args:
        pods: numbers of the pods that are away, as ``_Kinds.matrix`` gives them.
        ahead: the same of the pods that are nominated to the nodes.
    """

    def __init__(self, kinds: _Kinds, pods: IntArray, ahead: IntArray) -> None:
        self._kinds = kinds
        self._pods = pods
        self._ahead = ahead
        self._away: BoolArray = np.ones(pods.shape, np.bool_)
        self._sums: dict[_Quantity, tuple[IntArray, IntArray, IntArray]] = {}
        self._back: IntArray | None = None
        self._step = -1
        self.counts_ahead = False

    def put_back(self, step: int) -> None:
        """Of each node the pod of this number is back, until ``settle`` says where it stays."""
        self._step = step
        self._back = self._pods[step]

    def settle(self, stays: BoolArray) -> None:
        """Where it does not stay it is away again."""
        assert self._back is not None
        self._away[self._step][stays] = False
        for values, away, _ in self._sums.values():
            np.subtract(away, np.where(stays, values[self._back], 0), out=away)
        self._back = None

    def _shift(self, quantity: _Quantity, measure: Callable[[PodInfo], int]) -> IntArray:
        known = self._sums.get(quantity)
        if known is None:
            values = self._kinds.values(quantity, measure)
            away: IntArray = np.where(self._away, values[self._pods], 0).sum(axis=0)
            known = self._sums[quantity] = values, away, values[self._ahead].sum(axis=0)
        values, away, ahead = known
        shift = -away if self._back is None else values[self._back] - away
        return shift + ahead if self.counts_ahead else shift

    def requested(self, resource: str) -> IntArray:
        return self._shift(("requested", resource), lambda pod: dict(pod.amounts.charged).get(resource, 0))

    def non_zero_requested(self, resource: str) -> IntArray:
        return self._shift(("non zero", resource), lambda pod: pod.accounted_non_zero[resource])

    @property
    def pod_count(self) -> IntArray:
        return self._shift(("pods",), lambda _: 1)

    def port_users(self, host_ip: str, protocol: str, port: int) -> IntArray:
        wanted = HostPort(host_ip or ANY_IP, protocol or "TCP", port)
        return self._shift(
            ("port", *map(str, wanted)), lambda pod: sum(conflict(wanted, each) for each in pod.host_ports)
        )


class SummedTrial:
    """Some nodes of the table.

    Args:
        nodes: with pods of each that may be taken away.
        ahead: by node, the nominated pods that have to have room too.
        moved: what changes of a node when any of all these pods comes or goes, as facets.
    """

    def __init__(
        self,
        filters: TrialFilters,
        cache: Cache,
        nodes: Sequence[NodePods],
        ahead: Mapping[str, Sequence[PodInfo]],
        moved: int,
    ) -> None:
        self._filters = filters
        self._nodes = nodes
        self._rows = np.array([cache.table.rows[node.node_name] for node in nodes], np.int64)
        self._kinds = _Kinds()
        # One that is on a node already takes its room there.
        seated = [[pod for pod in ahead.get(node.node_name, ()) if cache.pod(pod.uid) is None] for node in nodes]
        self._has_ahead = any(seated)
        self._ahead = self._kinds.matrix(seated)
        self._moved = moved

    def make_room(self, order: Order) -> list[Room]:
        """As ``FailedCycle.make_room``.

        Raises:
            PluginFailure: a plugin failed, and it takes a look at single nodes to say for which it counts.
        """
        statuses = self._statuses()
        found = [Room(status=status) for status in statuses]
        chosen = [index for index, status in enumerate(statuses) if status.code is Code.SUCCESS]
        ordered = [order(self._nodes[index].pods) for index in chosen]
        for index, pods, stays in zip(chosen, ordered, self._spared(chosen, ordered), strict=True):
            found[index] = Room(tuple(pod for pod, is_spared in zip(pods, stays, strict=False) if not is_spared))
        return found

    def _statuses(self) -> list[Status]:
        """What the nodes say when all the pods are away."""
        sums = _Sums(self._kinds, self._kinds.matrix([node.pods for node in self._nodes]), self._ahead)
        statuses = [self._filters.outside(row) or SUCCESS for row in self._rows.tolist()]
        for _ in self._passes(sums):
            for column in self._filters.asked():
                self._ask(column, sums, statuses)
        return statuses

    def _ask(self, column: TrialColumn, sums: _Sums, statuses: list[Status]) -> None:
        """Put down what a plugin says against nodes that nobody has said anything against yet."""
        masks = column.masks(self._rows, sums)
        if isinstance(masks, Status):
            if masks.code is not Code.SUCCESS:
                statuses[:] = [masks if known.code is Code.SUCCESS else known for known in statuses]
            return
        told: dict[int, Status] = {}
        for index in np.flatnonzero(masks).tolist():
            if statuses[index].code is Code.SUCCESS:
                mask = int(masks[index])
                if mask not in told:
                    told[mask] = column.told(mask)
                statuses[index] = told[mask]

    def _passes(self, sums: _Sums) -> Iterator[None]:
        """With the nominated pods, if there are any, and without."""
        for counts_ahead in (True, False) if self._has_ahead else (False,):
            sums.counts_ahead = counts_ahead
            yield

    def _spared(self, chosen: Sequence[int], ordered: Sequence[Sequence[PodInfo]]) -> list[list[bool]]:
        """For some of the nodes which of their pods can stay, one after the other; all plugins accept the nodes without them."""
        if not chosen:
            return []
        pods = self._kinds.matrix(ordered)
        sums = _Sums(self._kinds, pods, self._ahead[:, chosen])
        rows = self._rows[chosen]
        columns = self._filters.asked(self._moved)
        stays: BoolArray = pods != _NOBODY
        for step in range(len(pods)):
            sums.put_back(step)
            for _ in self._passes(sums):
                for column in columns:
                    masks = column.masks(rows, sums)
                    if not isinstance(masks, Status):
                        stays[step] &= masks == 0
                    elif masks.code is not Code.SUCCESS:
                        stays[step] = False
            sums.settle(stays[step])
        found: list[list[bool]] = stays.T.tolist()
        return found
