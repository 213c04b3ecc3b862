"""Arithmetic that is the same for a column (int64 or bool array) and for one row (a Python int or bool).

A rule is written once, with comparisons, ``&``, ``|``, ``abs`` and these functions. Integers wrap in 64 bits as Go's
do, and divide toward zero. One row on Python ints is about a hundred times as fast as on an array of length one.

Sums, differences and products can also be made with ``+``, ``-`` and ``*`` and wrapped once, before they are compared or
handed on: ``wrap((capacity - used) * 100)`` is what wrapping after each step gives, and for one row much cheaper.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
MaskArray: TypeAlias = npt.NDArray[np.uint64]
IdArray: TypeAlias = npt.NDArray[np.int32]

Ints: TypeAlias = IntArray | int
Floats: TypeAlias = FloatArray | float
Bools: TypeAlias = BoolArray | bool
Masks: TypeAlias = MaskArray | int
Ids: TypeAlias = IdArray | int

_INT64_MIN = -(1 << 63)
_INT64_MAX = (1 << 63) - 1
_MODULUS = 1 << 64
_FLOAT_LIMIT = 2.0**63
_Column = np.ndarray


def _wrap(value: int) -> int:
    return ((value - _INT64_MIN) % _MODULUS) + _INT64_MIN


# For a row the test of the kind is a good part of the cost: `is` takes a fifth of what an isinstance that fails takes.


def wrap(a: Ints) -> Ints:
    """What ``+``, ``-`` and ``*`` made of int64 values, as int64. Columns of int64 have wrapped on the way."""
    if type(a) is int:
        return a if _INT64_MIN <= a <= _INT64_MAX else _wrap(a)
    return a


def add(a: Ints, b: Ints) -> Ints:
    """``a + b``, wrapping in int64."""
    if isinstance(a, int) and isinstance(b, int):
        total = a + b
        return total if _INT64_MIN <= total <= _INT64_MAX else _wrap(total)
    return np.add(a, b, dtype=np.int64)


def sub(a: Ints, b: Ints) -> Ints:
    """``a - b``, wrapping in int64."""
    if isinstance(a, int) and isinstance(b, int):
        difference = a - b
        return difference if _INT64_MIN <= difference <= _INT64_MAX else _wrap(difference)
    return np.subtract(a, b, dtype=np.int64)


def mul(a: Ints, b: Ints) -> Ints:
    """``a * b``, wrapping in int64."""
    if isinstance(a, int) and isinstance(b, int):
        product = a * b
        return product if _INT64_MIN <= product <= _INT64_MAX else _wrap(product)
    return np.multiply(a, b, dtype=np.int64)


def div_trunc(a: Ints, b: Ints) -> Ints:
    """``a / b`` toward zero; 0 where ``b`` is 0, so that rows a rule leaves out need no guard of their own.

    ``a`` is wrapped first.
    """
    if type(a) is not int or type(b) is not int:
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return _divide_columns(a, b)
        a, b = int(a), int(b)
    if 0 <= a <= _INT64_MAX and b > 0:
        return a // b
    if b == 0:
        return 0
    a = _wrap(a)
    quotient = abs(a) // abs(b)
    return _wrap(quotient if (a < 0) == (b < 0) else -quotient)


def _divide_columns(a: Ints, b: Ints) -> IntArray:
    if _lowest(b) > 0:
        if _lowest(a) < 0:
            # Rounded up where it is negative: the sum of numbers of different signs does not wrap.
            a = np.add(a, np.multiply(np.less(a, 0), np.subtract(b, 1)))
        floor: IntArray = np.floor_divide(a, b, dtype=np.int64)
        return floor
    with np.errstate(divide="ignore", over="ignore"):  # by 0 gives 0; the lowest int64 by -1 wraps to itself
        quotient: IntArray = np.floor_divide(a, b, dtype=np.int64)
    # Floor and truncation differ by one where the signs differ and the division is not exact.
    inexact = np.not_equal(np.multiply(quotient, b), a) & (np.less(a, 0) != np.less(b, 0)) & np.not_equal(b, 0)
    truncated: IntArray = quotient + inexact
    return truncated


def _lowest(a: Ints) -> int:
    if isinstance(a, np.ndarray):
        return int(a.min()) if a.size else 0
    return a


def not_(condition: Bools) -> Bools:
    """Logical not: ``~`` on a Python bool would be arithmetic."""
    if condition is False:
        return True
    if condition is True:
        return False
    return ~condition


def nowhere(condition: Bools) -> bool:
    """Whether the condition holds for no row: a rule can leave out what would change nothing."""
    if condition is False:
        return True
    if condition is True:
        return False
    return not condition.any()


def everywhere(condition: Bools) -> bool:
    """Whether the condition holds for every row: one value then does for all of them."""
    if condition is True or condition is False:
        return condition
    return bool(condition.all())


def where(condition: Bools, a: Any, b: Any) -> Any:
    """``a`` where the condition holds, else ``b``."""
    if type(condition) is _Column or type(a) is _Column or type(b) is _Column:
        return np.where(condition, a, b)
    return a if condition else b


# `min` and `max` take three times as long as the comparison.


def minimum(a: Any, b: Any) -> Any:
    if type(a) is _Column or type(b) is _Column:
        return np.minimum(a, b)
    return a if a <= b else b  # noqa: FURB136


def maximum(a: Any, b: Any) -> Any:
    if type(a) is _Column or type(b) is _Column:
        return np.maximum(a, b)
    return a if a >= b else b  # noqa: FURB136


def to_float(a: Ints) -> Floats:
    """int64 to float64, rounding to nearest as Go does."""
    return a.astype(np.float64) if type(a) is _Column else float(a)


def to_int(a: Any) -> Ints:
    """float64 to int64, toward zero; what does not fit becomes the lowest int64, as Go's conversion does on amd64."""
    if type(a) is _Column:
        fits = np.abs(a) < _FLOAT_LIMIT
        return (a if fits.all() else np.where(fits, a, -_FLOAT_LIMIT)).astype(np.int64)
    return int(a) if -_FLOAT_LIMIT < a < _FLOAT_LIMIT else _INT64_MIN


def divide(a: Ints | Floats, b: Ints | Floats) -> Floats:
    """float64 division; 0 where ``b`` is 0. Integers are made float64 first."""
    if type(a) is _Column or type(b) is _Column:
        zero = np.equal(b, 0)
        if not zero.any():
            return np.true_divide(a, b)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(zero, 0.0, np.true_divide(a, b))
    return float(a) / float(b) if b else 0.0


def fraction(part: Ints, whole: Ints) -> Floats:
    """``divide``, and 1.0 where that is more."""
    if type(part) is _Column or type(whole) is _Column:
        return np.minimum(divide(part, whole), 1.0)
    quotient = float(part) / float(whole) if whole else 0.0
    return quotient if quotient < 1.0 else 1.0  # noqa: FURB136


def sqrt(a: Floats) -> Floats:
    return np.sqrt(a) if isinstance(a, np.ndarray) else math.sqrt(a)


def round_half_away(a: Floats) -> Ints:
    """The nearest int64, halves away from zero (Go's math.Round; Python's and NumPy's round go to even)."""
    if isinstance(a, np.ndarray):
        whole = np.rint(a)
        # Halves went to even, and are hardly ever there.
        halves = np.abs(a - whole) == 0.5
        return to_int(np.where(halves, np.trunc(a) + np.sign(a), whole) if halves.any() else whole)
    whole_row = float(math.trunc(a))
    return to_int(whole_row + (math.copysign(1.0, a) if abs(a - whole_row) >= 0.5 else 0.0))


def bit(condition: Bools, number: int) -> Masks:
    """The mask with bit ``number`` set where the condition holds."""
    if condition is False:
        return 0
    if condition is True:
        return 1 << number
    return condition.astype(np.uint64) << np.uint64(number)


def merge(a: Masks, b: Masks) -> Masks:
    """The bits of both masks."""
    merged: Masks = a | b  # type: ignore[assignment]
    return merged


def gather(table: Any, ids: Ids) -> Any:
    """``table[id]`` for each row; ``table`` is an array, or for one row also a list."""
    if type(ids) is _Column:
        return table.take(ids)  # half of the time of an index
    value = table[ids]
    return value.item() if isinstance(value, np.generic) else value
