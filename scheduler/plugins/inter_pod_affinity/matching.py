"""Which pods the terms of a pod are about, and which terms of other pods are about this one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from scheduler.framework.affinity_terms import AffinityTerm, HeldTerm, ReachingTerms
from scheduler.framework.plugin import CycleState
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.pod_match import PodMatch, PodSelection
from scheduler.framework.view import NodeView

_MATCHED = "matched terms of others"


def depends_on_namespaces(term: AffinityTerm) -> bool:
    """Whether labels of namespaces decide which pods the term is about: a selector of all namespaces does not look at any."""
    return bool(term.namespace_selector.requirements)


def selection(term: AffinityTerm, nodes: NodeView) -> PodSelection:
    """The pods that a term of the pod to place is about. Its namespaceSelector stands for the namespaces that there are now."""
    if term.namespace_selector.is_empty:
        return PodSelection(None, term.labels)
    names = frozenset(term.namespaces)
    if depends_on_namespaces(term):
        names |= nodes.matching_namespaces(term.namespace_selector)
    return PodSelection(names, term.labels)


def matches_itself(selections: Iterable[PodSelection], pod: PodInfo) -> bool:
    """Whether the pod is one of those that its own terms are about, all of them."""
    metadata = pod.pod.metadata
    return all(each.matches(metadata.namespace, metadata.labels or {}) for each in selections)


class _Matched(NamedTuple):
    version: int
    terms: tuple[HeldTerm, ...]


def matched_anti_affinity(state: CycleState, pod: PodInfo, reaching: ReachingTerms) -> tuple[HeldTerm, ...]:
    """The required anti-affinity terms of pods on nodes that are about this pod."""
    return _matched(state, "anti-affinity", pod, reaching.anti_affinity_version, reaching.anti_affinity)


def matched_scored(state: CycleState, pod: PodInfo, reaching: ReachingTerms) -> tuple[HeldTerm, ...]:
    """The preferred terms, and those of required affinity, of pods on nodes that are about this pod."""
    return _matched(state, "scored", pod, reaching.scored_version, reaching.scored)


def _matched(
    state: CycleState, which: str, pod: PodInfo, version: int, terms: tuple[HeldTerm, ...]
) -> tuple[HeldTerm, ...]:
    known: _Matched | None = state.get(f"{_MATCHED}: {which}")
    if known is None or known.version != version:
        labels = pod.pod.metadata.labels or {}
        known = _Matched(version, tuple(held for held in terms if held.term.labels.matches(labels)))
        state[f"{_MATCHED}: {which}"] = known
    return known.terms


def match_of(*selections: PodSelection) -> PodMatch:
    """Pods that all selections have in common; those that are being deleted count as well."""
    return PodMatch(selections)
