"""Preferred affinity and anti-affinity: the pod's own terms, and those of the pods that are there."""

from __future__ import annotations

from scheduler.framework.affinity_terms import REQUIRED_AFFINITY, HeldTerm
from scheduler.framework.ops import Ints
from scheduler.framework.plugin import CycleState
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.view import NodeView
from scheduler.plugins.inter_pod_affinity.args import InterPodAffinityArgs
from scheduler.plugins.inter_pod_affinity.domains import Weights, weights
from scheduler.plugins.inter_pod_affinity.matching import matched_scored, own_terms


def ignores_everything(pod: PodInfo, args: InterPodAffinityArgs) -> bool:
    """Whether the arguments spare the pod the preferences of others, and it has none of its own."""
    return args.ignore_preferred_terms_of_existing_pods and not pod.affinity_terms.preferred


def find_weights(state: CycleState, pod: PodInfo, nodes: NodeView, args: InterPodAffinityArgs) -> tuple[Weights, ...]:
    """What each domain adds to a node's score; empty when no pod counts anywhere (kube-scheduler 1.37: PreScore)."""
    weighted: dict[str, list[tuple[int, Ints]]] = {}
    for each in own_terms(state, pod, nodes).preferred:
        weighted.setdefault(each.key, []).append((each.weight, nodes.matching_pods(each.match)))
    for held in matched_scored(state, pod, nodes)[1]:
        weight = _weight(held, args)
        if weight is not None:
            weighted.setdefault(held.term.topology_key, []).append((weight, nodes.term_holders(held)))
    found = (weights(state, nodes, key, columns) for key, columns in weighted.items())
    return tuple(each for each in found if each is not None)


def _weight(held: HeldTerm, args: InterPodAffinityArgs) -> int | None:
    """What a term of another pod counts; None when it does not count at all."""
    if held.kind == REQUIRED_AFFINITY:
        return args.hard_pod_affinity_weight or None
    return held.weight


def token(state: CycleState, pod: PodInfo, nodes: NodeView, args: InterPodAffinityArgs) -> tuple[int, ...]:
    """Versions of everything that ``find_weights`` looks at."""
    own = own_terms(state, pod, nodes)
    if args.ignore_preferred_terms_of_existing_pods and not own.preferred:
        return (0,)
    version, matched = matched_scored(state, pod, nodes)
    if not matched and not own.preferred:
        return (version,)
    versions = [version, nodes.domain_version, own.namespaces_version]
    versions += [nodes.term_version(held) for held in matched]
    versions += [nodes.matching_version(each.match) for each in own.preferred]
    return tuple(versions)
