"""Expected values: Go's time.ParseDuration and Duration.String."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.config.duration import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("15s", 15.0),
        ("1m30s", 90.0),
        ("500ms", 0.5),
        ("1.5h", 5400.0),
        (".5s", 0.5),
        ("1.s", 1.0),
        ("-2s", -2.0),
        ("+2s", 2.0),
        ("0", 0.0),
        ("-0", 0.0),
        ("10us", 0.00001),
        ("10\N{MICRO SIGN}s", 0.00001),
        ("10\N{GREEK SMALL LETTER MU}s", 0.00001),
        ("3ns", 3e-9),
        ("2h45m", 9900.0),
        ("1s1h", 3601.0),
    ],
)
def test_a_duration_is_read_as_go_reads_it(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "15", "1d", "s", ".s", "1 s", "1s ", "-", "one", "1s2", "1e3s", "0x1s", "1,5s"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="invalid duration"):
        parse_duration(text)


def test_a_duration_has_to_fit_into_63_bits_of_nanoseconds() -> None:
    assert parse_duration("2562047h") == 2562047 * 3600
    with pytest.raises(ValueError, match="longer than 292 years"):
        parse_duration("2562048h")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0s"),
        (15.0, "15s"),
        (90.0, "1m30s"),
        (3600.0, "1h0m0s"),
        (5400.5, "1h30m0.5s"),
        (0.5, "500ms"),
        (0.0015, "1.5ms"),
        (0.00001, "10\N{MICRO SIGN}s"),
        (3e-9, "3ns"),
        (-2.0, "-2s"),
    ],
)
def test_a_duration_is_written_as_go_writes_it(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.integers(min_value=-(10**15), max_value=10**15))
def test_what_is_written_is_read_again(nanoseconds: int) -> None:
    assert round(parse_duration(format_duration(nanoseconds / 10**9)) * 10**9) == nanoseconds
