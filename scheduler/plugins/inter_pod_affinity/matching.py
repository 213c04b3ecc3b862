"""Which pods the terms of a pod are about, and which terms of other pods are about this one."""

from __future__ import annotations

from typing import NamedTuple

from scheduler.framework.affinity_terms import AffinityTerm, HeldTerm
from scheduler.framework.plugin import CycleState
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.pod_match import PodMatch, PodSelection
from scheduler.framework.view import NodeView

_OWN = "own terms"
_ANY_VERSION = -1


class Counted(NamedTuple):
    """Pods that count in the domains of a label. ``weight``: of a preferred term, below 0 for anti-affinity."""

    key: str
    match: PodMatch
    weight: int = 0


class OwnTerms(NamedTuple):
    """The terms of the pod to place, each namespaceSelector standing for the namespaces that there are now.

    ``error``: why a term cannot be read, or "". ``affinity``: the pods that match all of the required affinity terms; None without
    such terms. ``affinity_keys``: the label of each term. ``matches_itself``: the pod is one of them. ``namespaces_version``: see
    ``NodeView``; of terms that do not look at namespaces it is one that none ever has.
    """

    error: str
    affinity: PodMatch | None
    affinity_keys: tuple[str, ...]
    matches_itself: bool
    anti_affinity: tuple[Counted, ...]
    preferred: tuple[Counted, ...]
    namespaces_version: int

    @property
    def are_required(self) -> bool:
        return self.affinity is not None or bool(self.anti_affinity)


def depends_on_namespaces(pod: PodInfo) -> bool:
    """Whether labels of namespaces decide which pods a term of the pod is about: ``{}`` selects all, and looks at none."""
    terms = pod.affinity_terms
    every = (*terms.required_affinity, *terms.required_anti_affinity, *(term for _, term in terms.preferred))
    return any(term.namespace_selector.requirements for term in every)


def own_terms(state: CycleState, pod: PodInfo, nodes: NodeView) -> OwnTerms:
    """Those of the pod, kept in the notebook while they stay what they are."""
    known: OwnTerms | None = state.get(_OWN)
    if known is not None and (
        known.namespaces_version == _ANY_VERSION or known.namespaces_version == nodes.namespaces_version  # noqa: PLR1714
    ):
        return known
    known = state[_OWN] = _find_own(pod, nodes)
    return known


def _find_own(pod: PodInfo, nodes: NodeView) -> OwnTerms:
    terms, metadata = pod.affinity_terms, pod.pod.metadata
    affinity = PodMatch(tuple(_selection(term, nodes) for term in terms.required_affinity))
    version = nodes.namespaces_version if depends_on_namespaces(pod) else _ANY_VERSION
    return OwnTerms(
        terms.error,
        affinity if terms.required_affinity else None,
        tuple(dict.fromkeys(term.topology_key for term in terms.required_affinity)),
        affinity.matches(metadata.namespace, metadata.labels or {}, is_terminating=False),
        tuple(Counted(term.topology_key, match_of(term, nodes)) for term in terms.required_anti_affinity),
        tuple(Counted(term.topology_key, match_of(term, nodes), weight) for weight, term in terms.preferred),
        version,
    )


def match_of(term: AffinityTerm, nodes: NodeView) -> PodMatch:
    """The pods that a term is about. Those that are being deleted count as well."""
    return PodMatch((_selection(term, nodes),))


def _selection(term: AffinityTerm, nodes: NodeView) -> PodSelection:
    if term.namespace_selector.is_empty:
        return PodSelection(None, term.labels)
    names = frozenset(term.namespaces)
    if term.namespace_selector.requirements:
        names |= nodes.matching_namespaces(term.namespace_selector)
    return PodSelection(names, term.labels)


class Matched(NamedTuple):
    """``version``: that of the terms that it was found among."""

    version: int
    terms: tuple[HeldTerm, ...]


_NONE_MATCHED = Matched(0, ())


def matched_anti_affinity(state: CycleState, pod: PodInfo, nodes: NodeView) -> Matched:
    """The required anti-affinity terms of pods on nodes that are about this pod."""
    reaching = nodes.reaching_terms(pod.pod.metadata.namespace)
    return _matched(state, "anti-affinity of others", pod, reaching.anti_affinity_version, reaching.anti_affinity)


def matched_scored(state: CycleState, pod: PodInfo, nodes: NodeView) -> Matched:
    """The preferred terms, and those of required affinity, of pods on nodes that are about this pod."""
    reaching = nodes.reaching_terms(pod.pod.metadata.namespace)
    return _matched(state, "preferences of others", pod, reaching.scored_version, reaching.scored)


def _matched(state: CycleState, which: str, pod: PodInfo, version: int, terms: tuple[HeldTerm, ...]) -> Matched:
    if not version:
        return _NONE_MATCHED
    known: Matched | None = state.get(which)
    if known is None or known.version != version:
        labels = pod.pod.metadata.labels or {}
        known = state[which] = Matched(version, tuple(held for held in terms if held.term.labels.matches(labels)))
    return known
