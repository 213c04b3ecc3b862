"""Pod affinity and anti-affinity terms, checked once and in a form that is compared by value.

kube-scheduler 1.37: framework.AffinityTerm and NewPodInfo. ``matchLabelKeys`` and ``mismatchLabelKeys`` are not looked at:
the API server has merged them into the label selector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeVar

import msgspec

from scheduler.api.field_errors import aggregate
from scheduler.api.objects import LabelSelector, Pod, PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm
from scheduler.api.selectors import LabelMatcher, SelectorError, compile_label_selector

REQUIRED_AFFINITY = "required affinity"
REQUIRED_ANTI_AFFINITY = "required anti-affinity"
PREFERRED = "preferred"

_INT32_MIN = -(2**31)

Term = TypeVar("Term")
Given = TypeVar("Given")


class AffinityTerm(NamedTuple):
    """Pods that share a value of the node label ``topology_key`` with the pod that has the term.

    ``namespaces``: sorted; the pod's own when the term names and selects none. Requirements of both selectors are sorted, and
    their values too.
    """

    topology_key: str
    namespaces: tuple[str, ...]
    namespace_selector: LabelMatcher
    labels: LabelMatcher

    def reaches(self, namespace: str, namespace_labels: Mapping[str, str] | None) -> bool:
        """Whether pods of the namespace can match; one that is not known has no labels."""
        return namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)


class HeldTerm(msgspec.Struct, frozen=True, cache_hash=True):
    """A term of a pod on a node. ``weight``: of a preferred term, below 0 for anti-affinity. It keeps its hash, as PodMatch."""

    kind: str
    weight: int
    term: AffinityTerm


class WeightedAffinityTerm(NamedTuple):
    """``weight`` is below 0 for anti-affinity."""

    weight: int
    term: AffinityTerm


class AffinityTerms(NamedTuple):
    """All terms of a pod. A list with a term that cannot be read is empty, and ``error`` says why; else that is "".

    ``held``: the terms as other pods meet them. ``keys``: of the labels that they look at, sorted.
    """

    required_affinity: tuple[AffinityTerm, ...] = ()
    required_anti_affinity: tuple[AffinityTerm, ...] = ()
    preferred: tuple[WeightedAffinityTerm, ...] = ()
    error: str = ""
    held: tuple[HeldTerm, ...] = ()
    keys: tuple[str, ...] = ()


class ReachingTerms(NamedTuple):
    """The distinct terms of pods on nodes that can be about pods of one namespace: they name it or select it.

    ``anti_affinity``: the required ones; ``scored``: preferred ones and required affinity. ``keys``: of the labels that these
    look at, sorted. A version is another number after each change of its set, and 0 for none.
    """

    anti_affinity: tuple[HeldTerm, ...] = ()
    anti_affinity_version: int = 0
    scored: tuple[HeldTerm, ...] = ()
    scored_version: int = 0
    keys: tuple[str, ...] = ()


NO_TERMS = AffinityTerms()


def label_keys(terms: Iterable[HeldTerm]) -> tuple[str, ...]:
    """Keys of the labels that the terms look at, sorted."""
    return tuple(sorted({requirement.key for held in terms for requirement in held.term.labels.requirements}))


_Rules = tuple[PodAffinity | None, PodAffinity | None]
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Rules).decode


def has_terms(pod: Pod) -> bool:
    affinity = pod.spec.affinity
    return affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)


def affinity_terms(pod: Pod) -> AffinityTerms:
    """The pod's terms; equal ones of several pods are mostly one object."""
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    # Pods come by the thousand with the rules of one template: those are read once.
    return _terms_of(pod.metadata.namespace, _encode((affinity.pod_affinity, affinity.pod_anti_affinity)))


@lru_cache(maxsize=4096)
def _terms_of(namespace: str, rules: bytes) -> AffinityTerms:
    affinity, anti_affinity = (given or PodAffinity() for given in _decode(rules))
    errors: list[str] = []

    def plain(term: PodAffinityTerm) -> AffinityTerm:
        return _term(namespace, term)

    def weighted(sign: int) -> Callable[[WeightedPodAffinityTerm], WeightedAffinityTerm]:
        return lambda given: WeightedAffinityTerm(
            _signed(sign, given.weight), _term(namespace, given.pod_affinity_term)
        )

    required_affinity = _all("requiredAffinityTerms", plain, affinity.required, errors)
    required_anti_affinity = _all("requiredAntiAffinityTerms", plain, anti_affinity.required, errors)
    preferred = _all("preferredAffinityTerms", weighted(1), affinity.preferred, errors)
    preferred += _all("preferredAntiAffinityTerms", weighted(-1), anti_affinity.preferred, errors)
    held = (
        *(HeldTerm(REQUIRED_ANTI_AFFINITY, 0, term) for term in required_anti_affinity),
        *(HeldTerm(REQUIRED_AFFINITY, 0, term) for term in required_affinity),
        *(HeldTerm(PREFERRED, weight, term) for weight, term in preferred),
    )
    error = aggregate(errors) if errors else ""
    return AffinityTerms(required_affinity, required_anti_affinity, preferred, error, held, label_keys(held))


def _signed(sign: int, weight: int) -> int:
    """In 32 bits, as upstream: the lowest weight, which the API server would refuse, has no opposite."""
    return weight if weight == _INT32_MIN else sign * weight


def _all(name: str, read: Callable[[Given], Term], given: list[Given] | None, errors: list[str]) -> tuple[Term, ...]:
    try:
        return tuple(read(each) for each in given or ())
    except SelectorError as error:
        errors.append(f"{name}: {error}")
        return ()


def _term(namespace: str, term: PodAffinityTerm) -> AffinityTerm:
    labels = _matcher(term.label_selector)
    names = set(term.namespaces or ())
    if not names and term.namespace_selector is None:
        names.add(namespace)
    return AffinityTerm(term.topology_key, tuple(sorted(names)), _matcher(term.namespace_selector), labels)


def _matcher(selector: LabelSelector | None) -> LabelMatcher:
    matcher = compile_label_selector(selector)
    requirements = (each._replace(values=tuple(sorted(set(each.values)))) for each in matcher.requirements)
    return matcher._replace(requirements=tuple(sorted(set(requirements))))
