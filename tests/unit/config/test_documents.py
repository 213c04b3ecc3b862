"""Text to values. What unquoted scalars mean: go-yaml v2, as kube-scheduler reads its configuration."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.config.documents import plain_scalar, read_documents
from scheduler.config.report import Report


def read(text: str) -> tuple[list[Any], list[str]]:
    report = Report()
    return read_documents(text, report), report.errors


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("On", True),
        ("y", True),
        ("TRUE", True),
        ("no", False),
        ("off", False),
        ("null", None),
        ("~", None),
        ("12", 12),
        ("-12", -12),
        ("+1_000", 1000),
        ("017", 15),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b101", 5),
        ("08", 8),
        ("16.0", 16),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000),
        ("9223372036854775808", 2**63),
        ("1e999", "1e999"),
        ("2024-01-31", "2024-01-31"),
        ("1m30s", "1m30s"),
        ("127.0.0.1", "127.0.0.1"),
        ("1:30", "1:30"),
        ("yEs", "yEs"),
        ("reprise", "reprise"),
        ("-", "-"),
        ("0x", "0x"),
    ],
)
def test_an_unquoted_scalar_means_what_it_means_to_kube_scheduler(text: str, value: Any) -> None:
    found = plain_scalar(text)

    assert (type(found), found) == (type(value), value)


def test_a_quoted_scalar_is_a_string() -> None:
    assert read("a: 'yes'\nb: \"12\"\nc: !!str 12\nd: |\n  1\n") == (
        [{"a": "yes", "b": "12", "c": "12", "d": "1\n"}],
        [],
    )


def test_a_tag_is_obeyed() -> None:
    assert read("a: !!float 2\nb: !!int '7'") == ([{"a": 2, "b": 7}], [])


def test_a_tag_that_does_not_fit_is_an_error() -> None:
    _, errors = read("a:\n  b: !!int seven\n  c: !mine x\n")

    assert errors == ['a.b: cannot read "seven" as int (line 2)', 'a.c: cannot read "x" as !mine (line 3)']


def test_a_file_may_hold_several_documents_and_empty_ones() -> None:
    assert read("# first\n---\na: 1\n---\n---\nb: 2\n---\n") == ([{"a": 1}, {"b": 2}], [])


def test_every_key_given_twice_is_an_error_with_its_path() -> None:
    _, errors = read("a: 1\np:\n- n: 1\n  n: 2\na: 3\n")

    assert errors == [
        "p[0].n: duplicate key: given on line 3 and on line 4",
        "a: duplicate key: given on line 1 and on line 5",
    ]


def test_every_key_given_twice_in_json_is_an_error_with_its_path() -> None:
    _, errors = read('{"a": 1, "p": [{"n": 1, "n": {"x": 1, "x": 2}}], "a": 2}')

    assert errors == ["p[0].n: duplicate key", "p[0].n.x: duplicate key", "a: duplicate key"]


def test_json_is_read_as_json() -> None:
    assert read('{\n\t"a": [1, 1.5, "yes", true, null]\n}\n') == ([{"a": [1, 1.5, "yes", True, None]}], [])


def test_a_flow_mapping_is_yaml_though_it_starts_with_a_brace() -> None:
    assert read("{a: yes, b: [1]}") == ([{"a": True, "b": [1]}], [])


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_json_has_no_such_number(word: str) -> None:
    """It is a string to YAML, and so refused wherever a number is expected."""
    assert read(f'{{"a": {word}}}') == ([{"a": word}], [])


def test_anchors_and_merge_keys_are_followed() -> None:
    text = "base: &b {x: 1, y: 2}\nown: {<<: *b, y: 3}\nboth: {<<: [{x: 8}, *b]}\nsame: *b\n"

    assert read(text) == (
        [{"base": {"x": 1, "y": 2}, "own": {"x": 1, "y": 3}, "both": {"x": 8, "y": 2}, "same": {"x": 1, "y": 2}}],
        [],
    )


def test_an_anchor_that_is_not_there_is_an_error() -> None:
    _, errors = read("a: [*nowhere]")

    assert errors == ["a[0]: unknown anchor nowhere (line 1)"]


def test_a_key_has_to_be_a_string() -> None:
    _, errors = read("a:\n  ? [1, 2]\n  : 3\n  b: 4\n")

    assert errors == ["a: a key must be a string (line 2)"]


def test_broken_yaml_is_an_error_with_its_place() -> None:
    assert read("a: 1\nb: c: d\n") == ([], ["line 2, column 5: not YAML: mapping values are not allowed here"])


def test_a_control_character_is_an_error() -> None:
    documents, errors = read("a: \x01\n")

    assert documents == []
    assert errors[0].startswith("not YAML: unacceptable character #x0001")


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_bottomless_nesting_is_an_error(opening: str) -> None:
    assert read(opening * 100_000) == ([], ["nested too deeply"])
