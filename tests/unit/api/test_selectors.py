"""Selectors: what they match and what is refused. Texts of errors were taken from apimachinery v0.37.2."""

from __future__ import annotations

import msgspec
import pytest

from scheduler.api import field_errors, selectors
from scheduler.api.objects import LabelSelector, NodeSelector, PreferredSchedulingTerm
from scheduler.api.selectors import FieldRequirement, LabelRequirement, SelectorError, Term

NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',"
    "  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
PREFIX_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an"
    " alphanumeric character (e.g. 'example.com', regex used for validation is"
    r" '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def label_selector(**fields: object) -> LabelSelector:
    return msgspec.convert(fields, LabelSelector)


def expression(key: str, operator: str, *values: str) -> dict[str, object]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def compiled(*terms: dict[str, object]) -> tuple[Term, ...]:
    return selectors.compile_node_selector(msgspec.convert({"nodeSelectorTerms": list(terms)}, NodeSelector))


def preferred_errors(*expressions: dict[str, object], kind: str = "matchExpressions") -> list[str]:
    term = msgspec.convert({"weight": 1, "preference": {kind: list(expressions)}}, PreferredSchedulingTerm)
    return selectors.term_errors(weighted.term for weighted in selectors.compile_preferred_terms([term]))


# ------------------------------------------------------------------------------------------------- labels of an object


@pytest.mark.parametrize(
    ("operator", "values", "labels", "expected"),
    [
        ("In", ["a", "b"], {"k": "b"}, True),
        ("In", ["a", "b"], {"k": "c"}, False),
        ("In", ["a"], {}, False),
        ("In", [""], {"k": ""}, True),
        ("In", [""], {}, False),
        ("NotIn", ["a"], {"k": "b"}, True),
        ("NotIn", ["a"], {"k": "a"}, False),
        ("NotIn", ["a"], {}, True),
        ("Exists", None, {"k": ""}, True),
        ("Exists", None, {"other": "x"}, False),
        ("DoesNotExist", None, {"k": ""}, False),
        ("DoesNotExist", None, {}, True),
    ],
)
def test_an_expression_looks_at_one_label(
    operator: str, values: list[str] | None, labels: dict[str, str], expected: bool
) -> None:
    selector = label_selector(matchExpressions=[{"key": "k", "operator": operator, "values": values}])
    assert selectors.compile_label_selector(selector).matches(labels) is expected


def test_a_null_selector_matches_nothing_and_is_not_empty() -> None:
    matcher = selectors.compile_label_selector(None)
    assert (matcher.matches({}), matcher.matches({"a": "b"}), matcher.is_empty) == (False, False, False)


def test_an_empty_selector_matches_everything() -> None:
    matcher = selectors.compile_label_selector(LabelSelector())
    assert (matcher.matches(None), matcher.matches({"a": "b"}), matcher.is_empty) == (True, True, True)


def test_labels_and_expressions_must_all_hold() -> None:
    matcher = selectors.compile_label_selector(
        label_selector(matchLabels={"app": "web"}, matchExpressions=[expression("tier", "NotIn", "test")])
    )
    assert matcher.matches({"app": "web"})
    assert not matcher.matches({"app": "web", "tier": "test"})
    assert not matcher.matches({"app": "db"})
    assert not matcher.is_empty


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"matchLabels": {"a": "-b"}}, f'values[0][a]: Invalid value: "-b": {VALUE_RULE}'),
        ({"matchExpressions": [expression("a", "Gt", "1")]}, '"Gt" is not a valid label selector operator'),
        (
            {"matchExpressions": [expression("a", "In")]},
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": []}]},
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
        ),
    ],
)
def test_a_wrong_label_selector_is_refused_with_the_apis_words(fields: dict[str, object], message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        selectors.compile_label_selector(label_selector(**fields))
    assert str(caught.value) == message


# ------------------------------------------------------------------------------------------------------ integer labels


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("007", 7),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("12345678901234567890", None),
        ("1" * 10_000, None),
        ("0" * 10_000 + "8", 8),
        ("1_000", None),
        (" 1", None),
        ("1\n", None),
        ("0x10", None),
        ("1.0", None),
        ("\u0661", None),
        ("-", None),
        ("", None),
    ],
)
def test_an_integer_is_what_go_reads_as_one(text: str, value: int | None) -> None:
    assert selectors.parse_int64(text) == value


@pytest.mark.parametrize(
    ("operator", "bound", "label", "expected"),
    [
        ("Gt", "8", "9", True),
        ("Gt", "8", "8", False),
        ("Lt", "8", "7", True),
        ("Lt", "8", "8", False),
        ("Gt", "8", "1_000", False),
        ("Gt", "8", "12345678901234567890", False),
        ("Gt", "8", "many", False),
        ("Lt", "8", None, False),
    ],
)
def test_greater_and_less_compare_integers_only(operator: str, bound: str, label: str | None, expected: bool) -> None:
    (term,) = compiled({"matchExpressions": [expression("cores", operator, bound)]})
    assert term.labels[0].matches({} if label is None else {"cores": label}) is expected


# -------------------------------------------------------------------------------------------------------- node selectors


def test_a_term_keeps_label_and_field_conditions() -> None:
    (term,) = compiled(
        {
            "matchExpressions": [expression("zone", "In", "a", "b"), expression("cores", "Gt", "8")],
            "matchFields": [expression("metadata.name", "NotIn", "n1")],
        }
    )
    assert term == Term(
        labels=(LabelRequirement("zone", "In", ("a", "b")), LabelRequirement("cores", "Gt", ("8",), 8)),
        fields=(FieldRequirement("metadata.name", "n1", negated=True),),
    )


def test_empty_terms_are_left_out_and_keep_their_number_in_paths() -> None:
    terms = compiled({}, {"matchExpressions": [], "matchFields": []}, {"matchExpressions": [expression("a", "Foo")]})
    assert [term.errors for term in terms] == [
        (
            'nodeSelectorTerms[2].matchExpressions[0].operator: Unsupported value: "Foo": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
        )
    ]


def test_one_wrong_condition_spoils_its_term_only() -> None:
    bad, good = compiled(
        {"matchExpressions": [expression("a", "Exists"), expression("b", "Exists", "x")]},
        {"matchExpressions": [expression("a", "Exists")]},
    )
    assert (bad.labels, bad.fields, len(bad.errors)) == ((), (), 1)
    assert (good.labels, good.errors) == ((LabelRequirement("a", "Exists"),), ())


def test_a_selector_without_terms_has_none() -> None:
    assert selectors.compile_node_selector(NodeSelector()) == ()


def test_numbers_of_values_are_checked() -> None:
    assert preferred_errors(
        expression("a", "In"),
        {"key": "a", "operator": "NotIn", "values": []},
        expression("a", "Exists", "b", "c"),
        expression("a", "Gt", "x", "2"),
        expression("a", "Lt"),
    ) == [
        "[0].matchExpressions[0].values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
        "[0].matchExpressions[1].values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        '[0].matchExpressions[2].values: Invalid value: ["b","c"]: values set must be empty for exists and does not exist',
        "[0].matchExpressions[3].values: Invalid value: [\"x\",\"2\"]: for 'Gt', 'Lt' operators, exactly one value is required",
        "[0].matchExpressions[3].values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
        "[0].matchExpressions[4].values: Invalid value: null: for 'Gt', 'Lt' operators, exactly one value is required",
    ]


def test_a_field_takes_one_value_and_two_operators() -> None:
    assert preferred_errors(
        expression("metadata.name", "In", "a", "b"),
        expression("metadata.name", "Gt", "a"),
        expression("metadata.name", "NotIn"),
        kind="matchFields",
    ) == [
        '[0].matchFields[0].values: Invalid value: ["a","b"]: must have one element',
        '[0].matchFields[1].operator: Unsupported value: "Gt": supported values: "In", "NotIn"',
        "[0].matchFields[2].values: Invalid value: null: must have one element",
    ]


def test_keys_and_values_must_be_possible_ones() -> None:
    assert preferred_errors(
        expression("/a", "Exists"),
        expression("a/b/c", "Exists"),
        expression("", "Exists"),
        expression("UP/-x", "Exists"),
        expression("a", "In", "ok", "-no", "\u00e9"),
    ) == [
        '[0].matchExpressions[0].key: Invalid value: "/a": prefix part must be non-empty',
        (
            f'[0].matchExpressions[1].key: Invalid value: "a/b/c": a valid label key {NAME_RULE}'
            " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ),
        f'[0].matchExpressions[2].key: Invalid value: "": name part must be non-empty; name part {NAME_RULE}',
        f'[0].matchExpressions[3].key: Invalid value: "UP/-x": prefix part {PREFIX_RULE}; name part {NAME_RULE}',
        f'[0].matchExpressions[4].values[1][a]: Invalid value: "-no": {VALUE_RULE}',
        f'[0].matchExpressions[4].values[2][a]: Invalid value: "\u00e9": {VALUE_RULE}',
    ]


@pytest.mark.parametrize(("length", "count"), [(63, 0), (64, 1)])
def test_a_value_has_at_most_63_bytes(length: int, count: int) -> None:
    assert len(preferred_errors(expression("a", "In", "x" * length))) == count


@pytest.mark.parametrize(("length", "count"), [(253, 0), (254, 1)])
def test_a_prefix_has_at_most_253_bytes(length: int, count: int) -> None:
    assert len(preferred_errors(expression("x" * length + "/a", "Exists"))) == count


def test_preferred_terms_of_no_weight_are_not_even_read() -> None:
    terms = msgspec.convert(
        [
            {"weight": 0, "preference": {"matchExpressions": [expression("a", "Foo")]}},
            {"weight": 3, "preference": {}},
            {"weight": 4, "preference": {"matchExpressions": [expression("a", "Exists")]}},
        ],
        list[PreferredSchedulingTerm],
    )
    assert selectors.compile_preferred_terms(terms) == ((4, Term(labels=(LabelRequirement("a", "Exists"),))),)


def test_several_errors_are_one_text_in_brackets_and_repeats_are_dropped() -> None:
    assert field_errors.aggregate(["a"]) == "a"
    assert field_errors.aggregate(["a", "b", "a"]) == "[a, b]"
