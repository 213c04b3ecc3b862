"""Affinity terms as kube-scheduler 1.37 reads them (framework.NewPodInfo, GetAffinityTerms)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.api.objects import Affinity, Pod
from scheduler.api.selectors import IN, LabelMatcher, LabelRequirement
from scheduler.framework.affinity_terms import NO_TERMS, AffinityTerm, affinity_terms
from tests.support.builders import make_pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
BAD = {"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Sideways"}]}}
GOOD = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
WEB = LabelMatcher((LabelRequirement("app", IN, ("web",)),))
NOTHING = LabelMatcher(nothing=True)


def pod(**affinity: Any) -> Pod:
    return make_pod(affinity=msgspec.convert(affinity, Affinity))


def weighted(weight: int, term: dict[str, Any]) -> dict[str, Any]:
    return {"weight": weight, "podAffinityTerm": term}


@pytest.mark.parametrize("affinity", [None, Affinity()])
def test_a_pod_without_rules_has_no_terms(affinity: Affinity | None) -> None:
    assert affinity_terms(make_pod(affinity=affinity)) is NO_TERMS


def test_the_four_lists() -> None:
    found = affinity_terms(
        pod(
            podAffinity={REQUIRED: [GOOD], PREFERRED: [weighted(7, GOOD)]},
            podAntiAffinity={REQUIRED: [GOOD, {"topologyKey": "rack"}], PREFERRED: [weighted(9, GOOD)]},
        )
    )
    term = AffinityTerm("zone", ("default",), NOTHING, WEB)

    assert found.required_affinity == (term,)
    assert found.required_anti_affinity == (term, AffinityTerm("rack", ("default",), NOTHING, NOTHING))
    assert found.preferred == ((7, term), (-9, term))
    assert found.error == ""


def test_namespaces_are_sorted_and_each_there_once() -> None:
    (term,) = affinity_terms(pod(podAffinity={REQUIRED: [{**GOOD, "namespaces": ["b", "a", "b"]}]})).required_affinity

    assert term.namespaces == ("a", "b")


def test_a_namespace_selector_takes_the_place_of_the_own_namespace() -> None:
    (term,) = affinity_terms(pod(podAffinity={REQUIRED: [{**GOOD, "namespaceSelector": {}}]})).required_affinity

    assert (term.namespaces, term.namespace_selector) == ((), LabelMatcher())


def test_terms_that_say_the_same_are_equal() -> None:
    expressions = [
        {"key": "b", "operator": "NotIn", "values": ["y", "x", "y"]},
        {"key": "a", "operator": "Exists"},
    ]
    one = {"topologyKey": "zone", "labelSelector": {"matchExpressions": expressions}}
    expressions = [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "NotIn", "values": ["x", "y"]}]
    other = {"topologyKey": "zone", "labelSelector": {"matchExpressions": expressions}}

    assert affinity_terms(pod(podAffinity={REQUIRED: [one]})) == affinity_terms(pod(podAffinity={REQUIRED: [other]}))


def test_a_list_with_a_term_that_cannot_be_read_is_empty() -> None:
    found = affinity_terms(
        pod(podAffinity={REQUIRED: [GOOD, BAD], PREFERRED: [weighted(1, GOOD)]}, podAntiAffinity={REQUIRED: [GOOD]})
    )

    assert (len(found.required_affinity), len(found.required_anti_affinity), len(found.preferred)) == (0, 1, 1)
    assert found.error == 'requiredAffinityTerms: "Sideways" is not a valid label selector operator'


def test_errors_of_several_lists_are_told_together() -> None:
    why = '"Sideways" is not a valid label selector operator'
    found = affinity_terms(
        pod(
            podAffinity={REQUIRED: [BAD], PREFERRED: [weighted(1, BAD)]},
            podAntiAffinity={REQUIRED: [BAD, BAD], PREFERRED: [weighted(1, BAD)]},
        )
    )

    assert found.error == (
        f"[requiredAffinityTerms: {why}, requiredAntiAffinityTerms: {why}, "
        f"preferredAffinityTerms: {why}, preferredAntiAffinityTerms: {why}]"
    )
    assert found.held == ()


def test_a_namespace_selector_that_cannot_be_read_is_told_too() -> None:
    term = {**GOOD, "namespaceSelector": {"matchLabels": {"/": "x"}}}

    assert affinity_terms(pod(podAffinity={REQUIRED: [term]})).error.startswith(
        "requiredAffinityTerms: key: Invalid value"
    )


def test_keys_that_the_api_server_has_merged_are_not_looked_at() -> None:
    term = {**GOOD, "matchLabelKeys": ["tier"], "mismatchLabelKeys": ["pod-template-hash"]}

    assert affinity_terms(pod(podAffinity={REQUIRED: [term]})) == affinity_terms(pod(podAffinity={REQUIRED: [GOOD]}))
