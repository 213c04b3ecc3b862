"""Label selectors and node selectors, checked once and kept in a form that is quick to match.

Rules: apimachinery 0.37 labels.Requirement and LabelSelectorAsSelector, component-helpers 0.37 nodeaffinity. Matching on
columns of nodes is in ``scheduler.framework.node_selection``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from scheduler.api import field_errors
from scheduler.api.field_errors import child, element
from scheduler.api.label_syntax import label_key_errors, label_value_errors
from scheduler.api.objects import (
    LabelSelector,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)

IN = "In"
NOT_IN = "NotIn"
EXISTS = "Exists"
DOES_NOT_EXIST = "DoesNotExist"
GREATER_THAN = "Gt"
LESS_THAN = "Lt"

NODE_NAME_FIELD = "metadata.name"

_LABEL_OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST)
_NODE_OPERATORS = (*_LABEL_OPERATORS, GREATER_THAN, LESS_THAN)
_FIELD_OPERATORS = (IN, NOT_IN)
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_MAX_DIGITS = 19  # of an int64; int() refuses very long texts


class SelectorError(ValueError):
    """A selector that cannot be read; the message is the API's own."""


def parse_int64(text: str) -> int | None:
    """A base-10 int64 with an optional sign, or None: no blanks, no underscores (Go: strconv.ParseInt)."""
    if not _INTEGER.fullmatch(text):
        return None
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) > _MAX_DIGITS:
        return None
    value = int(digits or "0") * (-1 if text[0] == "-" else 1)
    return value if -(2**63) <= value < 2**63 else None


class LabelRequirement(NamedTuple):
    """One condition on one label. ``number`` is what Gt and Lt compare with."""

    key: str
    operator: str
    values: tuple[str, ...] = ()
    number: int = 0

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        if self.operator == IN:
            return value is not None and value in self.values
        if self.operator == NOT_IN:
            return value is None or value not in self.values
        if self.operator == EXISTS:
            return value is not None
        if self.operator == DOES_NOT_EXIST:
            return value is None
        held = None if value is None else parse_int64(value)
        if held is None:
            return False
        return held > self.number if self.operator == GREATER_THAN else held < self.number


class FieldRequirement(NamedTuple):
    """One condition on one field of a node; a field other than ``metadata.name`` has the value ""."""

    key: str
    value: str
    negated: bool


class Term(NamedTuple):
    """Conditions that must all hold. A term with errors matches nothing."""

    labels: tuple[LabelRequirement, ...] = ()
    fields: tuple[FieldRequirement, ...] = ()
    errors: tuple[str, ...] = ()


class WeightedTerm(NamedTuple):
    weight: int
    term: Term


def _values_errors(operator: str, values: Sequence[str] | None, path: str) -> list[str]:
    if operator in (IN, NOT_IN):
        if not values:
            return [field_errors.invalid(path, values, "for 'in', 'notin' operators, values set can't be empty")]
    elif operator in (EXISTS, DOES_NOT_EXIST):
        if values:
            return [field_errors.invalid(path, values, "values set must be empty for exists and does not exist")]
    else:
        detail = "for 'Gt', 'Lt' operators, exactly one value is required"
        errors = [] if values and len(values) == 1 else [field_errors.invalid(path, values, detail)]
        detail = "for 'Gt', 'Lt' operators, the value must be an integer"
        for index, value in enumerate(values or ()):
            if parse_int64(value) is None:
                errors.append(field_errors.invalid(element(path, index), value, detail))
        return errors
    return []


def _label_requirement(
    key: str, operator: str, values: Sequence[str] | None, path: str
) -> tuple[LabelRequirement | None, list[str]]:
    errors = []
    if key_errors := label_key_errors(key):
        errors.append(field_errors.invalid(child(path, "key"), key, "; ".join(key_errors)))
    values_path = child(path, "values")
    errors += _values_errors(operator, values, values_path)
    for index, value in enumerate(values or ()):
        if value_errors := label_value_errors(value):
            value_path = element(element(values_path, index), key)
            errors.append(field_errors.invalid(value_path, value, "; ".join(value_errors)))
    if errors:
        return None, errors
    number = parse_int64(values[0]) if values and operator in (GREATER_THAN, LESS_THAN) else None
    return LabelRequirement(key, operator, tuple(values or ()), number or 0), []


def _label_requirements(
    expressions: Sequence[NodeSelectorRequirement], path: str
) -> tuple[tuple[LabelRequirement, ...], list[str]]:
    requirements, errors = [], []
    for index, expression in enumerate(expressions):
        here = element(path, index)
        if expression.operator not in _NODE_OPERATORS:
            errors.append(field_errors.not_supported(child(here, "operator"), expression.operator, _NODE_OPERATORS))
            continue
        requirement, found = _label_requirement(expression.key, expression.operator, expression.values, here)
        errors += found
        if requirement is not None:
            requirements.append(requirement)
    return tuple(requirements), errors


def _field_requirements(
    expressions: Sequence[NodeSelectorRequirement], path: str
) -> tuple[tuple[FieldRequirement, ...], list[str]]:
    requirements, errors = [], []
    for index, expression in enumerate(expressions):
        here = element(path, index)
        if expression.operator not in _FIELD_OPERATORS:
            errors.append(field_errors.not_supported(child(here, "operator"), expression.operator, _FIELD_OPERATORS))
        elif expression.values is None or len(expression.values) != 1:
            errors.append(field_errors.invalid(child(here, "values"), expression.values, "must have one element"))
        else:
            negated = expression.operator == NOT_IN
            requirements.append(FieldRequirement(expression.key, expression.values[0], negated))
    return tuple(requirements), errors


def is_empty_term(term: NodeSelectorTerm) -> bool:
    """A term without any condition: it selects nothing and is left out."""
    return not term.match_expressions and not term.match_fields


def compile_term(term: NodeSelectorTerm, path: str) -> Term:
    """The term with its conditions checked; what is wrong with it goes to ``errors``, each with its path."""
    labels, errors = _label_requirements(term.match_expressions or (), child(path, "matchExpressions"))
    fields, field_errors_found = _field_requirements(term.match_fields or (), child(path, "matchFields"))
    errors += field_errors_found
    return Term(errors=tuple(errors)) if errors else Term(labels, fields)


def compile_node_selector(selector: NodeSelector, path: str = "") -> tuple[Term, ...]:
    """The terms, of which one must match; empty ones are left out, so no term at all matches nothing."""
    path = child(path, "nodeSelectorTerms")
    return tuple(
        compile_term(term, element(path, index))
        for index, term in enumerate(selector.node_selector_terms or ())
        if not is_empty_term(term)
    )


def compile_preferred_terms(terms: Sequence[PreferredSchedulingTerm], path: str = "") -> tuple[WeightedTerm, ...]:
    """The terms with their weights; those of weight 0 and empty ones are left out without being looked at."""
    return tuple(
        WeightedTerm(term.weight, compile_term(term.preference, element(path, index)))
        for index, term in enumerate(terms)
        if term.weight != 0 and not is_empty_term(term.preference)
    )


def term_errors(terms: Iterable[Term]) -> list[str]:
    """Everything that is wrong with the terms, in order, each message once."""
    return list(dict.fromkeys(error for term in terms for error in term.errors))


class LabelMatcher(NamedTuple):
    """A compiled label selector. ``nothing``: it was null, which matches no labels at all, not even none."""

    requirements: tuple[LabelRequirement, ...] = ()
    nothing: bool = False

    @property
    def is_empty(self) -> bool:
        """The selector was ``{}``, which restricts nothing; a null selector is not empty."""
        return not self.requirements and not self.nothing

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        held = labels or {}
        return not self.nothing and all(requirement.matches(held) for requirement in self.requirements)


def compile_label_selector(selector: LabelSelector | None) -> LabelMatcher:
    """The selector in a form that matches plain labels.

    Raises:
        SelectorError: an unknown operator, a wrong number of values, or a key or value that no label can have.
    """
    if selector is None:
        return LabelMatcher(nothing=True)
    requirements = []
    wanted = [(key, IN, [value]) for key, value in (selector.match_labels or {}).items()]
    # To an error an empty list is none: the API's parser copies the values first (that of node selectors does not).
    expressions = [
        (expression.key, expression.operator, expression.values or None)
        for expression in selector.match_expressions or ()
    ]
    for key, operator, values in (*wanted, *expressions):
        if operator not in _LABEL_OPERATORS:
            raise SelectorError(f'"{operator}" is not a valid label selector operator')
        requirement, errors = _label_requirement(key, operator, values, "")
        if requirement is None:
            raise SelectorError(field_errors.aggregate(errors))
        requirements.append(requirement)
    return LabelMatcher(tuple(requirements))
