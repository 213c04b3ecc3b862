"""What nominated pods mean for a decision: a node has to hold the pod beside them too (kube-scheduler 1.37: RunFilterPluginsWithNominatedPods)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code, Status
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.filtering import Verdicts
from scheduler.profile.profile import Profile


def refusals(profile: Profile, pod: PodInfo, cache: Cache, nominated: Mapping[str, Sequence[PodInfo]]) -> Verdicts:
    """Nodes that refuse the pod once the pods nominated there are counted, by row; they are tried on copies of the nodes.

    Raises:
        PluginFailure: a plugin failed.
    """
    found: dict[int, Status] = {}
    for node_name, ahead in nominated.items():
        row = cache.table.row_of(node_name)
        if row is None:
            continue
        copy = Cache(seed=0)
        copy.apply_node(cache.table.node(row))
        for seated in cache.pods_on(node_name):
            copy.assume(seated.pod, node_name)
        for one in ahead:
            if copy.pod(one.uid) is None:
                copy.assume(one, node_name)
        evaluation = Evaluation(profile, pod, copy.table)
        evaluation.refresh()
        status = evaluation.status(0) if evaluation.prefilter.code is Code.SUCCESS else evaluation.prefilter
        # Without a plugin it is PreFilter that leaves the node out, nominated pods or not.
        if status.code is not Code.SUCCESS and status.plugin:
            found[row] = status
    return found
