"""Which pods of a node have to go so that another one fits there (kube-scheduler 1.37: SelectVictimsOnNode)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from operator import or_

from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.post_filter import NodePods, Order, Room
from scheduler.framework.status import Code
from scheduler.profile.failure import PluginFailure
from scheduler.profile.summed_trial import SummedTrial
from scheduler.profile.trial import row_trial
from scheduler.profile.trial_filters import TrialFilters

FEW_NODES = 2
"""Up to so many nodes are tried one by one: cheaper than arrays of that length."""


def make_room(
    filters: TrialFilters,
    cache: Cache,
    nodes: Sequence[NodePods],
    ahead: Mapping[str, Sequence[PodInfo]],
    order: Order,
) -> Iterator[Room]:
    """As ``FailedCycle.make_room``: together where sums tell what plugins say, elsewhere one by one as the answers are taken.

    Args:
        filters: of the pod that needs room.
        ahead: by node, the nominated pods that have to have room too.
    """
    found: list[Room | None] = [None] * len(nodes)
    moved = [_moved((*node.pods, *ahead.get(node.node_name, ()))) for node in nodes]
    are_of_sums = {facets: filters.are_of_sums(facets) for facets in sorted(set(moved))}
    together = [index for index, facets in enumerate(moved) if are_of_sums[facets]]
    if len(together) > FEW_NODES:
        all_moved = reduce(or_, (moved[index] for index in together))
        # When a plugin fails it is for the nodes to say, one by one, which of them reach the failure.
        with suppress(PluginFailure):
            trial = SummedTrial(filters, cache, [nodes[index] for index in together], ahead, all_moved)
            for index, room in zip(together, trial.make_room(order), strict=True):
                found[index] = room
    for node, known in zip(nodes, found, strict=True):
        yield known or room_on(filters, cache, node, ahead.get(node.node_name, ()), order)


def _moved(pods: Iterable[PodInfo]) -> int:
    """What changes of a node when these pods come or go, as facets."""
    facets = 0
    for pod in pods:
        facets |= pod.facets
    return facets


def room_on(filters: TrialFilters, cache: Cache, node: NodePods, ahead: Sequence[PodInfo], order: Order) -> Room:
    """The same for one node, whatever plugins look at."""
    with row_trial(filters, cache, node.node_name, ahead) as trial:
        for pod in node.pods:
            trial.remove(pod)
        status = trial.status()
        if status.code is not Code.SUCCESS:
            return Room(status=status)
        lost = []
        for pod in order(node.pods):
            trial.restore(pod)
            if trial.status().code is not Code.SUCCESS:
                trial.remove(pod)
                lost.append(pod)
        return Room(tuple(lost))
