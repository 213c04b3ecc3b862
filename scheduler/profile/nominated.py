"""What nominated pods mean for a decision: a node has to hold the pod beside them too (kube-scheduler 1.37: RunFilterPluginsWithNominatedPods)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code, Status
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.filtering import Verdicts


def refusals(evaluation: Evaluation, cache: Cache, nominated: Mapping[str, Sequence[PodInfo]]) -> Verdicts:
    """Nodes that refuse the pod once the pods nominated there are counted, by row.

    They are tried in the table itself, one node after the other, so that rules which look beyond the node see them too. What
    is kept of it is only that the nodes have changed and are looked at again: the evaluation is up to date at the end.

    Args:
        evaluation: of the pod, up to date.
        nominated: by node, the pods that this one has to leave room.

    Raises:
        PluginFailure: a plugin failed.
    """
    if evaluation.prefilter.code is not Code.SUCCESS:
        return {}
    found: dict[int, Status] = {}
    for node_name, ahead in nominated.items():
        row = cache.table.row_of(node_name)
        if row is None:
            continue
        with seated(cache, node_name, ahead):
            status = evaluation.try_row(row)
        # Without a plugin it is PreFilter that leaves the node out, nominated pods or not.
        if status.code is not Code.SUCCESS and status.plugin:
            found[row] = status
    evaluation.refresh()
    return found


@contextmanager
def seated(cache: Cache, node_name: str, pods: Iterable[PodInfo]) -> Iterator[None]:
    """Count the pods on the node for as long as the block runs; those that are on a node already stay where they are."""
    seated: list[PodInfo] = []
    try:
        for pod in pods:
            if cache.pod(pod.uid) is None:
                cache.assume(pod, node_name)
                seated.append(pod)
        yield
    finally:
        for pod in reversed(seated):
            cache.forget(pod.uid)
