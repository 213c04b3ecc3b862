"""What a pod requires of nodes by ``spec.nodeSelector`` and required node affinity (component-helpers 0.37: GetRequiredNodeAffinity)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from scheduler.api.objects import Node, NodeSelectorRequirement, NodeSelectorTerm
from scheduler.api.selectors import NODE_NAME_FIELD, Term, compile_node_selector
from scheduler.framework.node_selection import matches_any_term, matches_labels
from scheduler.framework.ops import Bools
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.view import NodeView


class RequiredNodeAffinity(NamedTuple):
    """``terms`` None: the pod has no required node affinity."""

    node_selector: dict[str, str]
    terms: tuple[Term, ...] | None

    @property
    def is_empty(self) -> bool:
        """Whether every node is good enough."""
        return not self.node_selector and self.terms is None

    def matches(self, nodes: NodeView) -> Bools:
        """The rows that are good enough. The plugin must have declared Facet.LABELS and Facet.NAME."""
        matched = matches_labels(self.node_selector, nodes)
        # A term that cannot be read is one that does not match.
        return matched if self.terms is None else matched & matches_any_term(self.terms, nodes)

    def matches_node(self, node: Node) -> bool:
        """As ``matches``, of a node as an object."""
        if not self.selects_labels_of(node):
            return False
        return self.terms is None or any(matches_term(term, node) for term in self.terms)

    def selects_labels_of(self, node: Node) -> bool:
        """Whether the node has the labels of ``node_selector``."""
        labels = node.metadata.labels or {}
        return all(labels.get(key) == value for key, value in self.node_selector.items())

    @property
    def has_errors(self) -> bool:
        """Whether a term cannot be read."""
        return any(term.errors for term in self.terms or ())


def matches_term(term: Term, node: Node) -> bool:
    """Whether a node meets all conditions of a term. A field other than its name is ""."""
    if term.errors:
        return False
    labels = node.metadata.labels or {}
    if not all(requirement.matches(labels) for requirement in term.labels):
        return False
    names = {NODE_NAME_FIELD: node.metadata.name}
    return all((names.get(field.key, "") == field.value) is not field.negated for field in term.fields)


def required_node_affinity(pod: PodInfo) -> RequiredNodeAffinity:
    affinity = pod.pod.spec.affinity
    rules = affinity.node_affinity if affinity is not None else None
    required = rules.required if rules is not None else None
    terms = None if required is None else compile_node_selector(required)
    return RequiredNodeAffinity(pod.pod.spec.node_selector or {}, terms)


def signed_required(pod: PodInfo) -> tuple[Any, Any]:
    """The same as plain values, equal for pods that require the same; what is absent is told apart from what is empty."""
    affinity, selector = pod.pod.spec.affinity, pod.pod.spec.node_selector
    rules = affinity.node_affinity if affinity is not None else None
    labels = required = None
    if selector is not None:
        labels = tuple(sorted(selector.items()))
    if rules is not None and rules.required is not None:
        required = tuple(sorted({signed_term(term) for term in rules.required.node_selector_terms or ()}))
    return labels, required


def signed_term(term: NodeSelectorTerm) -> tuple[Any, ...]:
    return (_signed_requirements(term.match_expressions or ()), _signed_requirements(term.match_fields or ()))


def _signed_requirements(requirements: Iterable[NodeSelectorRequirement]) -> tuple[Any, ...]:
    # Repeated values are kept: where one value is demanded, two equal ones are an error.
    return tuple(sorted({(one.key, one.operator, tuple(sorted(one.values or ()))) for one in requirements}))
