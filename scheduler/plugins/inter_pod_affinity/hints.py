"""Which events can help a pod that other pods keep off (kube-scheduler 1.37: InterPodAffinity, isSchedulableAfter...).

kube-scheduler misses some, and leaves the pod to the five-minute flush. Here they count as well:

- a namespaceSelector means the namespaces that it selects now; there it is matched against no labels at all;
- a node that comes, or leaves its domain, also helps against the anti-affinity of others;
- when the last pod goes that the pod's own affinity was about, a pod that matches its own terms may be the first again;
- each term of anti-affinity counts for itself, where there only the last one that no longer matches does.
"""

from __future__ import annotations

from collections.abc import Iterable

from scheduler.api.objects import Node
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.pod_match import PodMatch
from scheduler.framework.queueing_hint import Hint, had_room, queue_if
from scheduler.framework.view import NodeView
from scheduler.plugins.inter_pod_affinity.matching import OwnTerms, match_of, matched_anti_affinity, own_terms


def after_pod_change(pod: PodInfo, old: PodInfo | None, new: PodInfo | None, nodes: NodeView) -> Hint:
    """A pod on a node came, went, or has other labels."""
    if not all(had_room(one) for one in (old, new) if one is not None):
        return Hint.SKIP
    own = own_terms({}, pod, nodes)
    if _is_unreadable(own.error):
        return Hint.QUEUE
    was, is_now = _all_match(own, old), _all_match(own, new)
    if was is not is_now and (is_now or own.matches_itself):
        return Hint.QUEUE
    if old is None:
        return Hint.SKIP
    if any(_matches(each.match, old) and not _matches(each.match, new) for each in own.anti_affinity):
        return Hint.QUEUE
    return queue_if(new is None and _kept_off(old, pod, nodes))


def _is_unreadable(error: str) -> bool:
    """Whether required terms are among those that cannot be read: what they are about cannot be told."""
    return "requiredA" in error


def _all_match(own: OwnTerms, other: PodInfo | None) -> bool:
    """Whether the other pod is one that the pod's required affinity is about."""
    return own.affinity is not None and _matches(own.affinity, other)


def _matches(match: PodMatch, other: PodInfo | None) -> bool:
    if other is None:
        return False
    metadata = other.pod.metadata
    return match.matches(metadata.namespace, metadata.labels or {}, is_terminating=False)


def _kept_off(gone: PodInfo, pod: PodInfo, nodes: NodeView) -> bool:
    """Whether the anti-affinity of a pod that is gone was about this one."""
    terms = gone.affinity_terms
    if "requiredAntiAffinityTerms" in terms.error:
        return True
    return any(_matches(match_of(term, nodes), pod) for term in terms.required_anti_affinity)


def after_node_change(pod: PodInfo, old: Node | None, new: Node, nodes: NodeView) -> Hint:
    """A node came, or belongs to other domains by its labels."""
    own = own_terms({}, pod, nodes)
    if _is_unreadable(own.error):
        return Hint.QUEUE
    labels = new.metadata.labels or {}
    against = {each.key for each in own.anti_affinity}
    against |= {held.term.topology_key for held in matched_anti_affinity({}, pod, nodes).terms}
    if old is None:
        return queue_if(against or any(key in labels for key in own.affinity_keys))
    before = old.metadata.labels or {}
    moved = {key for key in (*own.affinity_keys, *against) if before.get(key) != labels.get(key)}
    if any(key in before for key in moved & against):
        return Hint.QUEUE
    # That the node leaves a domain helps only if it held the last of the pods that the affinity is about.
    return queue_if(_joined(moved.intersection(own.affinity_keys), labels, any_way=own.matches_itself))


def _joined(keys: Iterable[str], labels: dict[str, str], *, any_way: bool) -> bool:
    return any(any_way or key in labels for key in keys)
