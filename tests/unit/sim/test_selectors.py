"""Label and field selectors: the grammar, and what each form matches."""

from collections.abc import Mapping

import pytest

from scheduler.sim.errors import ApiError
from scheduler.sim.selectors import Field, parse_selector

FIELDS = {
    "metadata.name": Field(("metadata", "name")),
    "spec.nodeName": Field(("spec", "nodeName")),
    "spec.unschedulable": Field(("spec", "unschedulable"), "false"),
}


def chosen(
    labels: str = "",
    fields: str = "",
    *,
    item_labels: Mapping[str, str] | None = None,
    spec: Mapping[str, object] | None = None,
) -> bool:
    item = {"metadata": {"name": "web", "labels": dict(item_labels or {})}, "spec": dict(spec or {})}
    return parse_selector(labels, fields, FIELDS).matches(item)


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        ("a=1", {"a": "1"}, True),
        ("a=1", {"a": "2"}, False),
        ("a=1", {}, False),
        ("a==1", {"a": "1"}, True),
        ("a!=1", {"a": "2"}, True),
        ("a!=1", {}, True),
        ("a!=1", {"a": "1"}, False),
        ("a", {"a": ""}, True),
        ("a", {}, False),
        ("!a", {}, True),
        ("!a", {"a": "1"}, False),
        ("a in (1,2)", {"a": "2"}, True),
        ("a in (1,2)", {}, False),
        ("a notin (1,2)", {"a": "3"}, True),
        ("a notin (1,2)", {}, True),
        ("a notin (1,2)", {"a": "1"}, False),
        ("a in ( 1 , 2 )", {"a": "1"}, True),
        ("a in ()", {"a": ""}, True),
        ("a in (,1)", {"a": ""}, True),
        ("a>5", {"a": "6"}, True),
        ("a>5", {"a": "5"}, False),
        ("a>5", {"a": "six"}, False),
        ("a<5", {"a": "-1"}, True),
        ("a=", {"a": ""}, True),
        ("a=,b", {"a": "", "b": "1"}, True),
        ("a=1,b=2", {"a": "1", "b": "2"}, True),
        ("a=1,b=2", {"a": "1"}, False),
        ("example.com/a=1", {"example.com/a": "1"}, True),
        ("in=1", {"in": "1"}, True),
        ("", {}, True),
    ],
)
def test_a_label_selector_matches(selector: str, labels: dict[str, str], expected: bool) -> None:
    assert chosen(selector, item_labels=labels) is expected


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("=1", "unable to parse requirement: found '=', expected: identifier"),
        ("a=1,", "unable to parse requirement: found '', expected: identifier"),
        ("a==!", "unable to parse requirement: found '!', expected: identifier"),
        ("a in 1", "unable to parse requirement: found '1' expected: '('"),
        ("a in (1", "unable to parse requirement: found '', expected: ',', or ')'"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a>x", "unable to parse requirement: for 'Gt', 'Lt' operators, the value must be an integer, found 'x'"),
        ("a=1 b", "unable to parse requirement: found 'b', expected: ',' or 'end of string'"),
    ],
)
def test_a_label_selector_that_cannot_be_read_is_refused(selector: str, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        chosen(selector)

    assert (refused.value.code, refused.value.message) == (400, message)


def test_a_key_that_is_none_is_named() -> None:
    with pytest.raises(ApiError, match=r'^unable to parse requirement: <nil>: Invalid value: "-a": name part must'):
        chosen("-a")


@pytest.mark.parametrize(
    ("selector", "spec", "expected"),
    [
        ("metadata.name=web", {}, True),
        ("metadata.name==db", {}, False),
        ("metadata.name!=db", {}, True),
        ("spec.nodeName=", {}, True),
        ("spec.nodeName=", {"nodeName": "node-x"}, False),
        ("spec.nodeName!=", {"nodeName": "node-x"}, True),
        ("spec.unschedulable=false", {}, True),
        ("spec.unschedulable=true", {"unschedulable": True}, True),
        ("spec.unschedulable=false", {"unschedulable": False}, True),
        ("metadata.name=web,spec.nodeName=", {}, True),
        ("metadata.name=web,spec.nodeName!=", {}, False),
        (r"spec.nodeName=a\,b\=c\\d", {"nodeName": r"a,b=c\d"}, True),
        ("", {}, True),
    ],
)
def test_a_field_selector_matches(selector: str, spec: dict[str, object], expected: bool) -> None:
    assert chosen(fields=selector, spec=spec) is expected


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("spec.image=x", "field label not supported: spec.image"),
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_a_field_selector_that_cannot_be_read_is_refused(selector: str, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        chosen(fields=selector)

    assert (refused.value.code, refused.value.message) == (400, message)


def test_a_selector_of_nothing_knows_that_it_chooses_everything() -> None:
    assert parse_selector("", "", FIELDS).everything
    assert not parse_selector("a", "", FIELDS).everything
    assert not parse_selector("", "metadata.name=x", FIELDS).everything
