"""Node selectors on columns of nodes: labels are compared as interned ids, a name as one question for all rows.

Rules: component-helpers 0.37 nodeaffinity. The compiled form is made by ``scheduler.api.selectors``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from scheduler.api.selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    GREATER_THAN,
    IN,
    LESS_THAN,
    NODE_NAME_FIELD,
    NOT_IN,
    FieldRequirement,
    LabelRequirement,
    Term,
    WeightedTerm,
)
from scheduler.framework import ops
from scheduler.framework.columns import same_score, same_verdict
from scheduler.framework.ops import Bools, Ids, Ints
from scheduler.framework.view import NodeView

_FEW = 8  # up to here comparing one by one beats a set lookup on 5,000 rows


def _is_one_of(ids: Ids, wanted: list[int]) -> Bools:
    if not isinstance(ids, np.ndarray):
        return ids in wanted
    if len(wanted) > _FEW:
        return np.isin(ids, wanted)
    found: Bools = ids == wanted[0]
    for other in wanted[1:]:
        found = found | (ids == other)
    return found


def _holds_one_of(nodes: NodeView, key: str, values: Iterable[str]) -> Bools:
    ids = nodes.label_ids(key)
    # A value that no node has now has no id, and no row to match.
    wanted = [known for value in values if (known := ids.id_of(value)) > 0]
    return _is_one_of(nodes.label(key), wanted) if wanted else same_verdict(nodes, False)


def matches_label(requirement: LabelRequirement, nodes: NodeView) -> Bools:
    """Which rows meet a condition on a label. The plugin must have declared Facet.LABELS."""
    key, operator = requirement.key, requirement.operator
    if operator == IN:
        return _holds_one_of(nodes, key, requirement.values)
    if operator == NOT_IN:
        return ops.not_(_holds_one_of(nodes, key, requirement.values))
    if operator == EXISTS:
        return nodes.label(key) != 0
    if operator == DOES_NOT_EXIST:
        return nodes.label(key) == 0
    assert operator in (GREATER_THAN, LESS_THAN)
    values, is_integer = nodes.label_ids(key).integers()
    held: Ints = ops.gather(values, nodes.label(key))
    readable: Bools = ops.gather(is_integer, nodes.label(key))
    compares = held > requirement.number if operator == GREATER_THAN else held < requirement.number
    return readable & compares


def matches_field(requirement: FieldRequirement, nodes: NodeView) -> Bools:
    """Which rows meet a condition on a field. The plugin must have declared Facet.NAME."""
    if requirement.key == NODE_NAME_FIELD:
        found = nodes.is_named(requirement.value)
    else:
        found = same_verdict(nodes, requirement.value == "")
    return ops.not_(found) if requirement.negated else found


def matches_term(term: Term, nodes: NodeView) -> Bools:
    """Which rows meet every condition of the term; a term with errors matches nothing."""
    matched = same_verdict(nodes, not term.errors)
    for label in term.labels:
        matched = matched & matches_label(label, nodes)
    for field in term.fields:
        matched = matched & matches_field(field, nodes)
    return matched


def matches_any_term(terms: Iterable[Term], nodes: NodeView) -> Bools:
    """Which rows meet at least one of the terms; without terms none does."""
    matched = same_verdict(nodes, False)
    for term in terms:
        matched = matched | matches_term(term, nodes)
    return matched


def matches_labels(wanted: Mapping[str, str], nodes: NodeView) -> Bools:
    """Which rows have all these labels, as ``spec.nodeSelector`` asks; values are not checked, they just match or not."""
    matched = same_verdict(nodes, True)
    for key, value in wanted.items():
        matched = matched & _holds_one_of(nodes, key, (value,))
    return matched


def weigh_terms(terms: Iterable[WeightedTerm], nodes: NodeView) -> Ints:
    """The sum of the weights of the terms that a row meets."""
    total = same_score(nodes, 0)
    for weight, term in terms:
        total = ops.add(total, ops.where(matches_term(term, nodes), weight, 0))
    return total
