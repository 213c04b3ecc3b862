"""Arithmetic that is the same for a column (int64 or bool array) and for one row (a Python int or bool).

A rule is written once, with comparisons, ``&``, ``|`` and these functions. Integers wrap in 64 bits as Go's do, and
divide toward zero. One row on Python ints is about a hundred times as fast as on an array of length one.
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


def _wrap(value: int) -> int:
    return ((value - _INT64_MIN) % _MODULUS) + _INT64_MIN


# Rows come first in each function: for them the test of the type is a good part of the cost.


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
    """``a / b`` toward zero; 0 where ``b`` is 0, so that rows a rule leaves out need no guard of their own."""
    if isinstance(a, int) and isinstance(b, int):
        if a >= 0 and b > 0:
            return a // b
        if b == 0:
            return 0
        quotient = abs(a) // abs(b)
        return _wrap(quotient if (a < 0) == (b < 0) else -quotient)
    return _divide_columns(a, b)


def _divide_columns(a: Ints, b: Ints) -> IntArray:
    with np.errstate(divide="ignore", over="ignore"):  # by 0 gives 0; the lowest int64 by -1 wraps to itself
        quotient: IntArray = np.floor_divide(a, b, dtype=np.int64)
    if _is_negative_somewhere(a) or _is_negative_somewhere(b):
        # Floor and truncation differ by one where the signs differ and the division is not exact.
        inexact = np.not_equal(np.multiply(quotient, b), a) & (np.less(a, 0) != np.less(b, 0)) & np.not_equal(b, 0)
        quotient = quotient + inexact
    return quotient


def _is_negative_somewhere(a: Ints) -> bool:
    if isinstance(a, np.ndarray):
        return bool(a.size) and bool(a.min() < 0)
    return a < 0


def not_(condition: Bools) -> Bools:
    """Logical not: ``~`` on a Python bool would be arithmetic."""
    return ~condition if isinstance(condition, np.ndarray) else not condition


def nowhere(condition: Bools) -> bool:
    """Whether the condition holds for no row: a rule can leave out what would change nothing."""
    return not condition.any() if isinstance(condition, np.ndarray) else not condition


def everywhere(condition: Bools) -> bool:
    """Whether the condition holds for every row: one value then does for all of them."""
    return bool(condition.all()) if isinstance(condition, np.ndarray) else condition


def where(condition: Bools, a: Any, b: Any) -> Any:
    """``a`` where the condition holds, else ``b``."""
    if isinstance(condition, np.ndarray) or isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.where(condition, a, b)
    return a if condition else b


def minimum(a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.minimum(a, b)
    return min(a, b)


def maximum(a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.maximum(a, b)
    return max(a, b)


def to_float(a: Ints) -> Floats:
    """int64 to float64, rounding to nearest as Go does."""
    return a.astype(np.float64) if isinstance(a, np.ndarray) else float(a)


def to_int(a: Floats) -> Ints:
    """float64 to int64, toward zero; what does not fit becomes the lowest int64, as Go's conversion does on amd64."""
    if isinstance(a, np.ndarray):
        fits = np.abs(a) < _FLOAT_LIMIT
        return (a if fits.all() else np.where(fits, a, -_FLOAT_LIMIT)).astype(np.int64)
    return math.trunc(a) if abs(a) < _FLOAT_LIMIT else _INT64_MIN


def divide(a: Ints | Floats, b: Ints | Floats) -> Floats:
    """float64 division; 0 where ``b`` is 0. Integers are made float64 first."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        with np.errstate(divide="ignore", invalid="ignore"):
            quotient: FloatArray = np.true_divide(a, b)
        zero = np.equal(b, 0)
        return np.where(zero, 0.0, quotient) if zero.any() else quotient
    return float(a) / float(b) if b else 0.0


def sqrt(a: Floats) -> Floats:
    return np.sqrt(a) if isinstance(a, np.ndarray) else math.sqrt(a)


def absolute(a: Floats) -> Floats:
    return np.abs(a) if isinstance(a, np.ndarray) else abs(a)


def round_half_away(a: Floats) -> Ints:
    """The nearest int64, halves away from zero (Go's math.Round; Python's and NumPy's round go to even)."""
    if isinstance(a, np.ndarray):
        whole = np.trunc(a)
        return to_int(whole + np.where(np.abs(a - whole) >= 0.5, np.sign(a), 0.0))
    whole_row = float(math.trunc(a))
    return to_int(whole_row + (math.copysign(1.0, a) if abs(a - whole_row) >= 0.5 else 0.0))


def bit(condition: Bools, number: int) -> Masks:
    """The mask with bit ``number`` set where the condition holds."""
    if isinstance(condition, np.ndarray):
        return condition.astype(np.uint64) << np.uint64(number)
    return (1 << number) if condition else 0


def merge(a: Masks, b: Masks) -> Masks:
    """The bits of both masks."""
    merged: Masks = a | b  # type: ignore[assignment]
    return merged


def gather(table: Any, ids: Ids) -> Any:
    """``table[id]`` for each row; ``table`` is an array, or for one row also a list."""
    value = table[ids]
    return value.item() if isinstance(value, np.generic) else value
