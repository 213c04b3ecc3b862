"""Required affinity and anti-affinity: the pod's own terms, and the anti-affinity of the pods that are there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from scheduler.framework import ops
from scheduler.framework.affinity_terms import AffinityTerm, AffinityTerms, affinity_terms
from scheduler.framework.ops import Bools, Ints, Masks
from scheduler.framework.plugin import CycleState
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.pod_match import PodMatch
from scheduler.framework.view import NodeView
from scheduler.plugins.inter_pod_affinity.domains import Occupied, all_of, any_of, has_all_keys, occupied
from scheduler.plugins.inter_pod_affinity.matching import (
    depends_on_namespaces,
    match_of,
    matched_anti_affinity,
    matches_itself,
    selection,
)

AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY = 0, 1, 2


class Required(NamedTuple):
    """What PreFilter finds out for Filter.

    ``affinity``: a label for each term, with the domains that have a pod which all terms match. ``is_first``: no domain of any
    of these labels has one, and the pod matches its own terms, so that it may be the first of its kind.
    ``anti_affinity`` and ``existing``: the domains with pods that the pod's terms are against, and with pods whose terms are
    against the pod.
    """

    affinity: tuple[Occupied, ...]
    is_first: bool
    anti_affinity: tuple[Occupied, ...]
    existing: tuple[Occupied, ...]

    @property
    def is_empty(self) -> bool:
        return not self.affinity and not self.anti_affinity and not any(each.holds.any() for each in self.existing)

    def masks(self, nodes: NodeView) -> Masks:
        """At most one bit a row: what comes first refuses."""
        against = any_of(self.anti_affinity, nodes)
        existing = any_of(self.existing, nodes) & ops.not_(against)
        mask = ops.merge(ops.bit(against, ANTI_AFFINITY), ops.bit(existing, EXISTING_ANTI_AFFINITY))
        if not self.affinity:
            return mask
        near = self._is_near(nodes)
        return ops.where(near, mask, ops.bit(ops.not_(near), AFFINITY))  # type: ignore[no-any-return]

    def _is_near(self, nodes: NodeView) -> Bools:
        return has_all_keys(self.affinity, nodes) if self.is_first else all_of(self.affinity, nodes)


def find_required(state: CycleState, pod: PodInfo, nodes: NodeView) -> Required:
    """Look at all nodes (kube-scheduler 1.37: InterPodAffinity PreFilter)."""
    terms = affinity_terms(pod.pod)
    existing: dict[str, list[Ints]] = {}
    for held in matched_anti_affinity(state, pod, nodes.reaching_terms(pod.pod.metadata.namespace)):
        existing.setdefault(held.term.topology_key, []).append(nodes.term_holders(held))
    against: dict[str, list[Ints]] = {}
    for term in terms.required_anti_affinity:
        count = nodes.matching_pods(match_of(selection(term, nodes)))
        against.setdefault(term.topology_key, []).append(count)
    affinity, is_first = _affinity(terms.required_affinity, pod, nodes)
    return Required(
        affinity,
        is_first,
        tuple(occupied(nodes, key, columns) for key, columns in against.items()),
        tuple(occupied(nodes, key, columns) for key, columns in existing.items()),
    )


def _affinity(terms: Iterable[AffinityTerm], pod: PodInfo, nodes: NodeView) -> tuple[tuple[Occupied, ...], bool]:
    selections = [selection(term, nodes) for term in terms]
    if not selections:
        return (), False
    # One pod has to match all of the terms; each term then asks for its own domain.
    counts = nodes.matching_pods(match_of(*selections))
    domains = tuple(occupied(nodes, key, (counts,)) for key in dict.fromkeys(term.topology_key for term in terms))
    is_first = not any(each.holds.any() for each in domains) and matches_itself(selections, pod)
    return domains, is_first


def own_matches(terms: AffinityTerms, nodes: NodeView) -> tuple[PodMatch, ...]:
    """What is counted for the required terms of the pod itself."""
    affinity = [selection(term, nodes) for term in terms.required_affinity]
    against = [match_of(selection(term, nodes)) for term in terms.required_anti_affinity]
    return (match_of(*affinity), *against) if affinity else tuple(against)


def token(state: CycleState, pod: PodInfo, nodes: NodeView) -> tuple[int, ...]:
    """Versions of everything that ``find_required`` looks at."""
    reaching = nodes.reaching_terms(pod.pod.metadata.namespace)
    terms = affinity_terms(pod.pod)
    matched = matched_anti_affinity(state, pod, reaching)
    if not matched and not terms.required_affinity and not terms.required_anti_affinity:
        return (reaching.anti_affinity_version,)
    versions: list[Any] = [reaching.anti_affinity_version, nodes.domain_version]
    versions += [nodes.term_version(held) for held in matched]
    versions += [nodes.matching_version(match) for match in own_matches(terms, nodes)]
    if any(map(depends_on_namespaces, (*terms.required_affinity, *terms.required_anti_affinity))):
        versions.append(nodes.namespaces_version)
    return tuple(versions)
