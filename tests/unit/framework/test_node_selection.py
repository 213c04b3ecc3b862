"""Matching on columns of interned ids equals matching on the labels themselves."""

from __future__ import annotations

from random import Random

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduler.api.objects import Node, NodeSelectorTerm
from scheduler.api.selectors import Term, WeightedTerm, compile_term
from scheduler.cache.node_table import NodeTable
from scheduler.framework.facet import Facet
from scheduler.framework.node_selection import matches_any_term, matches_labels, matches_term, weigh_terms
from scheduler.framework.plugin import Plugin
from tests.support.builders import make_node
from tests.support.plugin_runs import table_of
from tests.support.random_cluster import random_node, random_term


class Reader(Plugin):
    name = "Reader"
    facets = Facet.LABELS | Facet.NAME


def holds(term: Term, node: Node) -> bool:
    """The same question asked of the object."""
    fields = {"metadata.name": node.metadata.name}
    return (
        not term.errors
        and all(label.matches(node.metadata.labels or {}) for label in term.labels)
        and all((fields.get(field.key, "") == field.value) is not field.negated for field in term.fields)
    )


def rows_of(table: NodeTable) -> range:
    return range(table.size)


@given(st.integers(0, 2**32))
def test_a_term_matches_rows_as_it_matches_their_nodes(seed: int) -> None:
    random = Random(seed)
    nodes = [random_node(random, f"n{number}") for number in range(6)]
    table = table_of(nodes)
    terms = [compile_term(msgspec.convert(random_term(random), NodeSelectorTerm), "") for _ in range(3)]
    view = table.columns(Reader)
    for term in terms:
        expected = [holds(term, table.node(row)) for row in rows_of(table)]
        assert np.asarray(matches_term(term, view)).tolist() == expected
        assert [matches_term(term, table.row(Reader, row)) for row in rows_of(table)] == expected
    expected = [any(holds(term, table.node(row)) for term in terms) for row in rows_of(table)]
    assert np.asarray(matches_any_term(terms, view)).tolist() == expected
    weighted = [WeightedTerm(weight, term) for weight, term in zip((1, 10, 100), terms, strict=True)]
    sums = [sum(weight * holds(term, table.node(row)) for weight, term in weighted) for row in rows_of(table)]
    assert np.asarray(weigh_terms(weighted, view)).tolist() == sums
    assert [weigh_terms(weighted, table.row(Reader, row)) for row in rows_of(table)] == sums


def test_a_value_that_appears_later_is_found() -> None:
    term = compile_term(
        msgspec.convert({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}, NodeSelectorTerm),
        "",
    )
    table = table_of([make_node("n0", labels={"zone": "a"})])
    assert np.asarray(matches_term(term, table.columns(Reader))).tolist() == [False]
    table.apply_node(make_node("n1", labels={"zone": "b"}), [])
    assert np.asarray(matches_term(term, table.columns(Reader))).tolist() == [False, True]


def test_without_terms_nothing_matches_and_without_labels_everything() -> None:
    table = table_of([make_node("n0"), make_node("n1")])
    assert np.asarray(matches_any_term((), table.columns(Reader))).tolist() == [False, False]
    assert np.asarray(matches_labels({}, table.columns(Reader))).tolist() == [True, True]
    assert matches_any_term((), table.row(Reader, 0)) is False
    assert matches_labels({}, table.row(Reader, 0)) is True
