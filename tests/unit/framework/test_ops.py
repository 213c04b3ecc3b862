"""Arithmetic for columns and rows: Go's results, the same in both forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.framework import ops

LOWEST, HIGHEST = -(2**63), 2**63 - 1
INT64 = st.integers(LOWEST, HIGHEST) | st.sampled_from([LOWEST, LOWEST + 1, -1, 0, 1, HIGHEST - 1, HIGHEST])
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def column(*values: int) -> ops.IntArray:
    return np.array(values, dtype=np.int64)


def both(function: Any, *arguments: Any) -> Any:
    """The answer for one row, after checking that a column of it, in every mixture with scalars, has the same."""
    row = function(*arguments)
    assert not isinstance(row, np.generic)
    columns = [np.array([argument]) for argument in arguments]
    mixtures = [columns]
    if len(arguments) == 2:
        mixtures += [[columns[0], arguments[1]], [arguments[0], columns[1]]]
    for mixture in mixtures:
        answer = function(*mixture)
        assert answer.shape == (1,)
        assert answer.tolist() == [row]
    return row


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (7, 2, 3),
        (-7, 2, -3),
        (7, -2, -3),
        (-7, -2, 3),
        (-100 * 33, 70, -47),  # the shape function of NodeResourcesFit
        (-6, 2, -3),
        (5, 0, 0),
        (-5, 0, 0),
        (LOWEST, -1, LOWEST),
        (LOWEST, 1, LOWEST),
        (HIGHEST, -1, -HIGHEST),
        (LOWEST, HIGHEST, -1),
    ],
)
def test_division_truncates_toward_zero(a: int, b: int, expected: int) -> None:
    assert both(ops.div_trunc, a, b) == expected


@given(INT64, INT64)
def test_division_is_gos(a: int, b: int) -> None:
    exact = 0 if b == 0 else (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)
    assert both(ops.div_trunc, a, b) == (LOWEST if exact == 2**63 else exact)


def test_division_of_a_column_mixes_signs_and_zeros() -> None:
    quotient = ops.div_trunc(column(7, -7, 7, -7, 0, -3), column(2, 2, -2, -2, 5, 0))
    assert quotient.tolist() == [3, -3, -3, 3, 0, 0]  # type: ignore[union-attr]


@given(st.lists(INT64, min_size=1), st.integers(1, HIGHEST))
def test_division_of_a_column_by_positive_numbers_is_that_of_each_row(dividends: list[int], b: int) -> None:
    expected = [ops.div_trunc(a, b) for a in dividends]
    assert ops.div_trunc(column(*dividends), b).tolist() == expected  # type: ignore[union-attr]
    assert ops.div_trunc(column(*dividends), column(*[b] * len(dividends))).tolist() == expected  # type: ignore[union-attr]


def test_division_of_no_rows_is_no_rows() -> None:
    assert ops.div_trunc(column(), column()).shape == (0,)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("function", "a", "b", "expected"),
    [
        (ops.add, HIGHEST, 1, LOWEST),
        (ops.add, LOWEST, -1, HIGHEST),
        (ops.sub, LOWEST, 1, HIGHEST),
        (ops.sub, 0, LOWEST, LOWEST),
        (ops.mul, HIGHEST, 2, -2),
        (ops.mul, 2**62, 4, 0),
        (ops.mul, 100, 2**60, 100 * 2**60 - 6 * 2**64),
    ],
)
def test_arithmetic_wraps_in_64_bits(function: Any, a: int, b: int, expected: int) -> None:
    assert both(function, a, b) == expected


@given(INT64, INT64)
def test_sums_and_products_are_those_of_64_bits(a: int, b: int) -> None:
    for function, exact in ((ops.add, a + b), (ops.sub, a - b), (ops.mul, a * b)):
        assert both(function, a, b) == (exact + 2**63) % 2**64 - 2**63


@given(INT64, INT64, INT64)
def test_a_chain_of_sums_and_products_can_be_wrapped_once(a: int, b: int, c: int) -> None:
    step_by_step = ops.mul(ops.add(ops.sub(a, b), c), 100)
    assert ops.wrap((a - b + c) * 100) == step_by_step
    chained = (column(a) - column(b) + column(c)) * 100
    assert ops.wrap(chained).tolist() == [step_by_step]  # type: ignore[union-attr]


@given(INT64, INT64, INT64)
def test_division_wraps_its_dividend(a: int, b: int, c: int) -> None:
    assert ops.div_trunc(a * b, c) == ops.div_trunc(ops.wrap(a * b), c)
    assert ops.div_trunc(a - b, c) == ops.div_trunc(ops.sub(a, b), c)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (ops.add, 2),
        (ops.sub, 0),
        (ops.mul, 1),
        (ops.div_trunc, 1),
        (ops.minimum, 1),
    ],
)
def test_bools_of_a_row_count_as_numbers(function: Any, expected: int) -> None:
    answer = function(True, True)
    assert (answer, isinstance(answer, int)) == (expected, True)


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        (1, 4, 0.25),
        (4, 4, 1.0),
        (5, 4, 1.0),
        (0, 4, 0.0),
        (-1, 4, -0.25),
        (5, 0, 0.0),
        (2**62 + 1, 2**62, 1.0),
        (2**62 + 2**9 + 2**8 + 1, 2**63 - 1, (2.0**62 + 2.0**10) / 2.0**63),
    ],
)
def test_a_fraction_is_at_most_1_and_0_of_nothing(part: int, whole: int, expected: float) -> None:
    assert both(ops.fraction, part, whole) == expected


@pytest.mark.parametrize("function", [ops.minimum, ops.maximum])
@given(a=INT64, b=INT64)
def test_extremes_of_a_row_are_those_of_a_column(function: Any, a: int, b: int) -> None:
    assert both(function, a, b) == (min(a, b) if function is ops.minimum else max(a, b))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2.5, 3),
        (-2.5, -3),
        (52.5, 53),
        (0.49999999999999994, 0),
        (-0.5, -1),
        (0.0, 0),
        (2.4, 2),
        (1e15 + 0.5, 10**15 + 1),
    ],
)
def test_halves_round_away_from_zero(value: float, expected: int) -> None:
    assert both(ops.round_half_away, value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (64.99999999999999, 64),
        (-0.9, 0),
        (-1.5, -1),
        (2.0**62, 2**62),
        (-(2.0**63), LOWEST),
        (2.0**63, LOWEST),
        (1e300, LOWEST),
    ],
)
def test_conversion_to_int_truncates_and_has_one_answer_for_what_does_not_fit(value: float, expected: int) -> None:
    assert both(ops.to_int, value) == expected


@given(FLOATS)
def test_conversions_of_a_row_are_those_of_a_column(value: float) -> None:
    both(ops.round_half_away, value)
    both(ops.to_int, value)


@given(st.floats(-1e100, 1e100), st.floats(-1e100, 1e100).filter(lambda b: b == 0 or abs(b) > 1e-100))
def test_float_division_by_zero_is_zero(a: float, b: float) -> None:
    assert both(ops.divide, a, b) == (a / b if b else 0.0)


def test_integers_are_made_floats_before_they_are_divided() -> None:
    a, b = 2**62 + 2**9 + 2**8 + 1, 2**53 + 1
    assert both(ops.divide, a, b) == float(a) / float(b) != a / b
    assert both(ops.divide, a, 0) == 0.0


def test_a_condition_can_hold_nowhere_and_everywhere() -> None:
    for rows, nowhere, everywhere in (([], True, True), ([False, True], False, False), ([True, True], False, True)):
        condition = np.array(rows, dtype=np.bool_)
        assert (ops.nowhere(condition), ops.everywhere(condition)) == (nowhere, everywhere)
    assert (ops.nowhere(True), ops.everywhere(True)) == (False, True)
    assert (ops.nowhere(False), ops.everywhere(False)) == (True, False)


def test_a_condition_turns_around() -> None:
    assert (ops.not_(True), ops.not_(False)) == (False, True)
    assert ops.not_(np.array([True, False])).tolist() == [False, True]  # type: ignore[union-attr]


def test_a_column_chosen_by_one_bool_stays_a_column() -> None:
    assert ops.where(False, column(1, 2), 0).tolist() == [0, 0]
    assert ops.where(True, 7, column(1, 2)).tolist() == [7, 7]


def test_the_highest_bit_of_a_mask_is_usable() -> None:
    assert ops.bit(True, 63) == 2**63
    assert ops.bit(np.array([True, False]), 63).tolist() == [2**63, 0]  # type: ignore[union-attr]


def test_gathering_for_one_row_gives_a_python_scalar() -> None:
    assert type(ops.gather(column(4, 5), 1)) is int
    assert type(ops.gather([4, 5], 1)) is int
    assert ops.gather(column(4, 5), np.array([1, 1, 0], dtype=np.int32)).tolist() == [5, 5, 4]
