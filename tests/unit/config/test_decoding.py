"""Values to structs: what Go's strict JSON decoder refuses is refused, each with its path."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest

from scheduler.config.decoding import Int32, Seconds, decode, encode
from scheduler.config.report import Report


class Inner(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    max_skew: Int32 = 1


class Outer(msgspec.Struct, frozen=True, rename="camel"):
    enabled: bool = True
    count: int = 7
    share: float = 0.5
    lease_duration_seconds: Seconds = msgspec.field(name="leaseDuration", default=15.0)
    timeout_seconds: Seconds | None = msgspec.field(name="timeout", default=None)
    level: Literal["info", "debug"] = "info"
    inner: Inner = Inner()
    maybe: Inner | None = None
    items: tuple[Inner, ...] = ()
    words: list[str] | None = None
    labels: dict[str, str] | None = None
    anything: Any = None


def read(value: Any) -> tuple[Outer, list[str]]:
    report = Report()
    return decode(value, Outer, "", report), report.errors


def test_absent_and_null_fields_have_their_defaults() -> None:
    assert read({"count": None, "inner": None, "level": None}) == (Outer(), [])


def test_every_kind_of_field_is_read() -> None:
    value = {
        "enabled": False,
        "count": -3,
        "share": 2,
        "leaseDuration": "1m30s",
        "timeout": "500ms",
        "level": "debug",
        "inner": {"name": "a", "maxSkew": 2},
        "maybe": {},
        "items": [{"name": "x"}, None],
        "words": ["a", None],
        "labels": {"k": "v"},
        "anything": {"free": [1]},
    }

    found, errors = read(value)

    assert errors == []
    assert found == Outer(
        enabled=False,
        count=-3,
        share=2.0,
        lease_duration_seconds=90.0,
        timeout_seconds=0.5,
        level="debug",
        inner=Inner("a", 2),
        maybe=Inner(),
        items=(Inner("x"), Inner()),
        words=["a", ""],
        labels={"k": "v"},
        anything={"free": [1]},
    )


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"enabled": "true"}, 'enabled: expected true or false, got the string "true"'),
        ({"enabled": 1}, "enabled: expected true or false, got 1"),
        ({"count": "4"}, 'count: expected an integer, got the string "4"'),
        ({"count": True}, "count: expected an integer, got true"),
        ({"count": 1.5}, "count: expected an integer, got 1.5"),
        ({"count": 2**63}, f"count: {2**63} is out of range: expected an integer from {-(2**63)} to {2**63 - 1}"),
        (
            {"inner": {"maxSkew": 2**31}},
            "inner.maxSkew: 2147483648 is out of range: expected an integer from -2147483648 to 2147483647",
        ),
        ({"share": "half"}, 'share: expected a number, got the string "half"'),
        ({"share": True}, "share: expected a number, got true"),
        ({"share": float("inf")}, "share: expected a number, got Infinity"),
        ({"leaseDuration": 15}, 'leaseDuration: expected a duration such as "15s", got 15'),
        (
            {"timeout": "soon"},
            'timeout: invalid duration "soon": write numbers with units, as in "15s", "1m30s" or "500ms"',
        ),
        ({"level": "INFO"}, 'level: expected "debug" or "info", got the string "INFO"'),
        ({"inner": []}, "inner: expected an object, got a list"),
        ({"inner": "x"}, 'inner: expected an object, got the string "x"'),
        ({"inner": {"name": 5}}, "inner.name: expected a string, got 5"),
        ({"items": {}}, "items: expected a list, got an object"),
        ({"items": [{}, 3]}, "items[1]: expected an object, got 3"),
        ({"items": [{}, {"maxSkew": "x"}]}, 'items[1].maxSkew: expected an integer, got the string "x"'),
        ({"words": [1]}, "words[0]: expected a string, got 1"),
        ({"labels": {"a.b/c": 1}}, "labels[a.b/c]: expected a string, got 1"),
        ({"labels": ["a"]}, "labels: expected an object, got a list"),
        ({"Count": 1}, "Count: unknown field; did you mean count?"),
        ({"inner": {"max_skew": 1}}, "inner.max_skew: unknown field; did you mean maxSkew?"),
        ({"zzz": 1}, "zzz: unknown field"),
        ([], "expected an object, got a list"),
    ],
)
def test_a_value_of_the_wrong_kind_is_an_error_with_its_path(value: Any, error: str) -> None:
    assert read(value)[1] == [error]


def test_one_bad_field_does_not_hide_another_nor_spoil_the_good_ones() -> None:
    found, errors = read(
        {"count": "x", "items": [{"name": 1}, {"maxSkew": []}, {"name": "kept"}], "share": 0.25, "no": 1}
    )

    assert errors == [
        'count: expected an integer, got the string "x"',
        "items[0].name: expected a string, got 1",
        "items[1].maxSkew: expected an integer, got a list",
        "no: unknown field",
    ]
    assert (found.share, found.items[2].name) == (0.25, "kept")


def test_rules_are_silent_about_what_could_not_be_read() -> None:
    report = Report()
    decode({"items": [{"name": 1}, 5]}, Outer, "", report)
    before = len(report.errors)

    report.error("items[0].name: Required value: a name")
    report.error("items[1].name: Required value: a name")
    assert len(report.errors) == before

    report.error("items[10]: Invalid value: 1: another item")
    report.error("items[0].maxSkew: Invalid value: 0: another field")
    assert len(report.errors) == before + 2


def test_a_struct_is_written_with_all_its_fields_in_the_documents_form() -> None:
    value = Outer(lease_duration_seconds=90.0, items=(Inner("x"),), labels={"k": "v"})

    assert encode(value) == {
        "enabled": True,
        "count": 7,
        "share": 0.5,
        "leaseDuration": "1m30s",
        "timeout": None,
        "level": "info",
        "inner": {"name": "", "maxSkew": 1},
        "maybe": None,
        "items": [{"name": "x", "maxSkew": 1}],
        "words": None,
        "labels": {"k": "v"},
        "anything": None,
    }


def test_what_is_written_is_read_again() -> None:
    value = Outer(count=3, timeout_seconds=0.25, maybe=Inner("y", 4), words=["a"])

    assert read(encode(value)) == (value, [])
