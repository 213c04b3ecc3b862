"""Quantities: what `Value()` and `MilliValue()` of apimachinery 0.37 give for them."""

import pytest

from scheduler.api.quantity import (
    INT64_MAX,
    INT64_MIN,
    Quantity,
    QuantityError,
    amount,
    milli_value,
    nano,
    nano_amount,
    value,
)


@pytest.mark.parametrize(
    ("text", "whole", "milli"),
    [
        ("0", 0, 0),
        ("3", 3, 3000),
        ("+3", 3, 3000),
        ("007", 7, 7000),
        ("100m", 1, 100),
        ("2.5", 3, 2500),
        (".5", 1, 500),
        ("5.", 5, 5000),
        ("1500m", 2, 1500),
        ("1500u", 1, 2),
        ("1n", 1, 1),
        ("1k", 1000, 1_000_000),
        ("1M", 10**6, 10**9),
        ("1G", 10**9, 10**12),
        ("1T", 10**12, 10**15),
        ("1P", 10**15, 10**18),
        ("1Ki", 1024, 1_024_000),
        ("1.5Gi", 1_610_612_736, 1_610_612_736_000),
        ("1Ti", 2**40, 2**40 * 1000),
        ("1e3", 1000, 1_000_000),
        ("1E3", 1000, 1_000_000),
        ("1e-3", 1, 1),
        ("12e+2", 1200, 1_200_000),
    ],
)
def test_a_quantity_is_read_exactly_and_rounded_up(text: str, whole: int, milli: int) -> None:
    assert (value(text), milli_value(text)) == (whole, milli)


def test_the_suffix_of_exa_is_ten_to_the_eighteenth_and_an_exponent_only_before_digits() -> None:
    assert (value("1E"), value("1E1"), value("7Ei")) == (10**18, 10, 7 * 2**60)


def test_digits_finer_than_nano_are_rounded_up_when_read() -> None:
    assert nano("0.0000000001") == 1
    assert value("1.0000000001") == 2


@pytest.mark.parametrize(("number", "whole"), [(4, 4), (1.5, 2), (1e3, 1000), (0, 0)])
def test_a_json_number_is_a_quantity(number: Quantity, whole: int) -> None:
    assert value(number) == whole


def test_blanks_around_a_quantity_do_not_matter() -> None:
    assert value(" 1Ki ") == 1024


@pytest.mark.parametrize(
    ("text", "whole", "milli"),
    [
        ("4611686018427387904", 2**62, 0),
        ("4Ei", 2**62, 0),
        ("8Ei", INT64_MAX, -1000),
        ("16Ei", INT64_MAX, -1000),
        ("9223372036854775808", INT64_MIN, 0),
        ("9223372036854775809", INT64_MIN + 1, 1000),
        ("18446744073709551617", 1, 1000),
        ("999999999999999999", 999999999999999999, 3875820019684211736),
        ("9e18", 9 * 10**18, 0),
        ("1E", 10**18, 0),
        ("1e19", 0, 0),
        ("1e100000", 0, 0),
    ],
)
def test_what_is_beyond_an_int64_is_what_the_api_makes_of_it(text: str, whole: int, milli: int) -> None:
    """Binary suffixes end at the highest int64, big decimals wrap, and an int64 of a large power of ten counts as nothing."""
    assert (value(text), milli_value(text)) == (whole, milli)


@pytest.mark.parametrize(
    ("text", "whole"),
    [("-10Gi", -10 * 2**30), ("-10000000000", -(10**10)), ("-4611686018427387904", 0), ("-4Ei", 0)],
)
def test_a_big_decimal_below_zero_is_cut_before_it_is_divided(text: str, whole: int) -> None:
    assert value(text) == whole


@pytest.mark.parametrize(
    ("texts", "whole", "milli"),
    [
        (("4611686018427387904", "4611686018427387904"), INT64_MIN, 0),
        (("4Ei", "4Ei"), INT64_MIN, 0),
        (("1E", "1"), 10**18 + 1, 3875820019684213736),
        (("-4Ei", "5"), 5, 5000),
    ],
)
def test_a_sum_beyond_an_int64_wraps(texts: tuple[str, ...], whole: int, milli: int) -> None:
    total = sum(nano(text) for text in texts)
    assert (nano_amount("memory", total), nano_amount("cpu", total)) == (whole, milli)


@pytest.mark.parametrize(
    ("text", "whole"),
    [("0." + "0" * 5000 + "1", 1), ("1." + "0" * 5000, 1), ("0" * 5000 + "7", 7), ("-1." + "3" * 5000 + "Ki", -1366)],
)
def test_digits_that_decide_nothing_do_no_harm_however_many_there_are(text: str, whole: int) -> None:
    assert value(text) == whole


@pytest.mark.parametrize("text", ["9" * 5000, "1" + "0" * 5000, "1e" + "1" * 5000, "1e-" + "9" * 5000])
def test_a_quantity_of_thousands_of_digits_is_refused_and_told_by_its_beginning(text: str) -> None:
    with pytest.raises(QuantityError, match=rf"a quantity of {len(text)} characters .* is too long") as error:
        value(text)
    assert len(str(error.value)) < 100


@pytest.mark.parametrize(
    "text",
    ["", "abc", "1.5.2", "1KB", "Mi", "1 Gi", "--1", "1e", "1e+", ".", "0x10", "1_000", "1e1.5", "1ki", "1K", "\u0661"],
)
def test_what_is_no_quantity_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(QuantityError, match="is not a quantity") as caught:
        value(text)
    assert repr(text) in str(caught.value)


def test_an_unknown_suffix_is_named() -> None:
    with pytest.raises(QuantityError, match="the suffix 'ki' is unknown"):
        value("1ki")


def test_cpu_is_counted_in_milli_and_everything_else_in_whole_units() -> None:
    assert [amount(name, "1500m") for name in ("cpu", "memory", "pods", "example.com/gpu")] == [1500, 2, 2, 2]


def test_a_sum_is_rounded_once() -> None:
    """Two thirds of a milli-CPU thrice are two milli-CPU, not three."""
    assert nano_amount("cpu", 3 * nano("666666n")) == 2
