"""What plugins of the binding cycle see of the scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scheduler.api.objects import Node
from scheduler.cache.storage import StorageIndex
from scheduler.core.state import State
from scheduler.framework.binding import WaitingPod


class PluginHandle:
    """The Handle of one call of a plugin."""

    def __init__(self, state: State, now: float) -> None:
        self._state = state
        self._now = now

    @property
    def now(self) -> float:
        return self._now

    def node(self, name: str) -> Node | None:
        table = self._state.cache.table
        row = table.row_of(name)
        return None if row is None else table.node(row)

    @property
    def storage(self) -> StorageIndex:
        return self._state.cache.table.storage

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        cycle = self._state.binding_cycles.before_bind.get(uid)
        if cycle is None or cycle.wait is None or cycle.wait.verdict is not None:
            return None
        return cycle.wait

    def activate(self, uids: Iterable[str]) -> None:
        self._state.queue.activate(uids, self._now)

    def waiting_pods(self) -> Iterator[WaitingPod]:
        return self._state.binding_cycles.waiting()
