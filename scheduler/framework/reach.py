"""Which nodes something of storage can be used from.

A PersistentVolume names its nodes in ``spec.nodeAffinity``, a StorageClass in ``allowedTopologies`` and a
CSIStorageCapacity in ``nodeTopology``. There can be one of them for every node: those that ask for values of one label, as
local volumes do, are found by that value (framework.ranking), so that the work grows with nodes plus things instead of with
their product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scheduler.api.objects import LabelSelector, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from scheduler.api.selectors import (
    IN,
    SelectorError,
    Term,
    compile_label_selector,
    compile_node_selector,
    compile_term,
)
from scheduler.api.storage import TopologySelectorTerm
from scheduler.framework.node_selection import matches_any_term
from scheduler.framework.ops import BoolArray, Bools
from scheduler.framework.view import NodeView


class Way(NamedTuple):
    """By the values of a label, and then by the ``rest`` of the conditions, if there are more."""

    key: str
    rest: Term | None


class Reach:
    """Nodes, by their labels.

    Attributes:
        terms: readable conditions, of which one must hold; None for every node.
        wanted: labels with values of which the node must have one, as ``terms`` imply it.
        way: how to find the nodes by the first label that is wanted; None when none is.
    """

    __slots__ = ("terms", "wanted", "way")

    def __init__(self, terms: tuple[Term, ...] | None) -> None:
        self.terms = terms
        self.wanted: tuple[tuple[str, tuple[str, ...]], ...] = _wanted(terms or ())
        self.way: Way | None = Way(self.wanted[0][0], self.without(self.wanted[0][0])) if self.wanted else None

    def without(self, key: str) -> Term | None:
        """What is left to check of a node that has one of the values that are wanted of this label; None: nothing."""
        assert self.terms
        if len(self.terms) > 1:
            return None  # alternatives for one label, see _wanted
        term = self.terms[0]
        first = next(one for one in term.labels if one.operator == IN and one.key == key)
        rest = tuple(one for one in term.labels if one is not first)
        return Term(labels=rest) if rest else None


def _wanted(terms: tuple[Term, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if len(terms) == 1:
        return tuple((one.key, tuple(dict.fromkeys(one.values))) for one in terms[0].labels if one.operator == IN)
    keys = {one.key if one.operator == IN else "" for term in terms for one in term.labels}
    if len(keys) != 1 or "" in keys or any(len(term.labels) != 1 for term in terms):
        return ()
    return ((keys.pop(), tuple(dict.fromkeys(value for term in terms for value in term.labels[0].values))),)


EVERYWHERE = Reach(None)
NOWHERE = Reach(())


def reach_of_affinity(required: NodeSelector | None) -> Reach:
    """The nodes that a volume's required node affinity matches.

    Only labels decide: conditions on fields are checked and then hold on every node (component-helpers 0.37:
    CheckNodeAffinity knows no name).
    """
    if required is None:
        return EVERYWHERE
    return Reach(tuple(term._replace(fields=()) for term in compile_node_selector(required) if not term.errors))


def reach_of_topologies(terms: Sequence[TopologySelectorTerm] | None) -> Reach:
    """The nodes that ``allowedTopologies`` allows: all without a term, none by a term without conditions."""
    if not terms:
        return EVERYWHERE
    reach = []
    for term in terms:
        conditions = [
            NodeSelectorRequirement(key=one.key, operator=IN, values=one.values)
            for one in term.match_label_expressions or ()
        ]
        if conditions:
            reach.append(compile_term(NodeSelectorTerm(match_expressions=conditions), ""))
    return Reach(tuple(term for term in reach if not term.errors))


def reach_of_selector(selector: LabelSelector | None) -> Reach:
    """The nodes that a label selector matches: none for a selector that is null or cannot be read, all for ``{}``."""
    try:
        matcher = compile_label_selector(selector)
    except SelectorError:
        return NOWHERE
    return NOWHERE if matcher.nothing else Reach((Term(labels=matcher.requirements),))


def is_reached(reach: Reach, nodes: NodeView) -> BoolArray:
    """Whether each node is reached, as an array also for one row."""
    if reach.terms is None:
        return np.ones(len(nodes), dtype=np.bool_)
    return as_column(matches_any_term(reach.terms, nodes))


def as_column(verdict: Bools) -> BoolArray:
    """As an array also for one row."""
    return np.atleast_1d(np.asarray(verdict, dtype=np.bool_))
