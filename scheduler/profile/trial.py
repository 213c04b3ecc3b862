"""What a node would say without some of its pods: they are moved in the table itself, which is right for every plugin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from scheduler.cache.cache import Cache, CachedPod
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Code, Status
from scheduler.profile.failure import PluginFailure
from scheduler.profile.nominated import seated
from scheduler.profile.trial_filters import TrialFilters


class RowTrial:
    """One node of the table, to take pods from and to put them back.

    Pods are moved in the table itself, so that rules which look beyond the node see it too; what is kept of it is only that the
    row has changed and is looked at again.
    """

    def __init__(self, filters: TrialFilters, cache: Cache, node_name: str, ahead: Sequence[PodInfo]) -> None:
        self._filters = filters
        self._cache = cache
        self._node_name = node_name
        self._ahead = ahead
        self._out: dict[str, CachedPod] = {}
        self._moved: int | None = None
        """Facets of the pods that moved since every plugin accepted the node; None before one did."""

    def remove(self, pod: PodInfo) -> None:
        self._out[pod.uid] = self._cache.take_out(pod.uid)
        self._note(pod)

    def restore(self, pod: PodInfo) -> None:
        self._cache.put_back(self._out.pop(pod.uid))
        self._note(pod)

    def _note(self, pod: PodInfo) -> None:
        if self._moved is not None:
            self._moved |= pod.facets

    def status(self) -> Status:
        row = self._cache.table.rows[self._node_name]
        status = SUCCESS
        try:
            if self._ahead:
                with seated(self._cache, self._node_name, self._ahead):
                    status = self._filters.status(row, self._moved)
            if status.code is Code.SUCCESS:
                status = self._filters.status(row, self._moved)
        except PluginFailure as failure:
            return Status(Code.ERROR, (str(failure),), failure.plugin)
        if status.code is Code.SUCCESS and self._moved is None:
            self._moved = 0
        return status

    def put_all_back(self) -> None:
        for known in reversed(self._out.values()):
            self._cache.put_back(known)
        self._out.clear()


@contextmanager
def row_trial(filters: TrialFilters, cache: Cache, node_name: str, ahead: Sequence[PodInfo]) -> Iterator[RowTrial]:
    """A known node to try things on.

    Args:
        filters: of the pod that needs room; good for any number of nodes.
        ahead: pods nominated to the node that the pod has to leave room for.
    """
    trial = RowTrial(filters, cache, node_name, ahead)
    try:
        yield trial
    finally:
        trial.put_all_back()
