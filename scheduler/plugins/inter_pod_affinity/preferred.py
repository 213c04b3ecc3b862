"""Preferred affinity and anti-affinity: the pod's own terms, and those of the pods that are there."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler.framework.affinity_terms import REQUIRED_AFFINITY, HeldTerm, affinity_terms
from scheduler.framework.ops import Ints
from scheduler.framework.plugin import CycleState
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.view import NodeView
from scheduler.plugins.inter_pod_affinity.args import InterPodAffinityArgs
from scheduler.plugins.inter_pod_affinity.domains import Weights, weights
from scheduler.plugins.inter_pod_affinity.matching import depends_on_namespaces, match_of, matched_scored, selection


def ignores_everything(pod: PodInfo, args: InterPodAffinityArgs) -> bool:
    """Whether the arguments spare the pod the preferences of others, and it has none of its own."""
    return args.ignore_preferred_terms_of_existing_pods and not affinity_terms(pod.pod).preferred


def find_weights(state: CycleState, pod: PodInfo, nodes: NodeView, args: InterPodAffinityArgs) -> tuple[Weights, ...]:
    """What each domain adds to a node's score; empty when no pod counts anywhere (kube-scheduler 1.37: PreScore)."""
    weighted: dict[str, list[tuple[int, Ints]]] = {}
    for weight, term in affinity_terms(pod.pod).preferred:
        counts = nodes.matching_pods(match_of(selection(term, nodes)))
        weighted.setdefault(term.topology_key, []).append((weight, counts))
    for weight, held in _held(state, pod, nodes, args):
        weighted.setdefault(held.term.topology_key, []).append((weight, nodes.term_holders(held)))
    found = (weights(nodes, key, columns) for key, columns in weighted.items())
    return tuple(each for each in found if each is not None)


def _held(
    state: CycleState, pod: PodInfo, nodes: NodeView, args: InterPodAffinityArgs
) -> Iterator[tuple[int, HeldTerm]]:
    """The terms of others that are about this pod, with the weight of each."""
    for held in matched_scored(state, pod, nodes.reaching_terms(pod.pod.metadata.namespace)):
        if held.kind != REQUIRED_AFFINITY:
            yield held.weight, held
        elif args.hard_pod_affinity_weight:
            yield args.hard_pod_affinity_weight, held


def token(state: CycleState, pod: PodInfo, nodes: NodeView, args: InterPodAffinityArgs) -> tuple[int, ...]:
    """Versions of everything that ``find_weights`` looks at."""
    own = affinity_terms(pod.pod).preferred
    if args.ignore_preferred_terms_of_existing_pods and not own:
        return ()
    version = nodes.reaching_terms(pod.pod.metadata.namespace).scored_version
    held = [nodes.term_version(one) for _, one in _held(state, pod, nodes, args)]
    if not held and not own:
        return (version,)
    counted = [nodes.matching_version(match_of(selection(term, nodes))) for _, term in own]
    if any(depends_on_namespaces(term) for _, term in own):
        counted.append(nodes.namespaces_version)
    return (version, nodes.domain_version, *held, *counted)
