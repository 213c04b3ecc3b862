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

_SIGN = 1 << 63
_MODULUS = 1 << 64


def _wrap(value: int) -> int:
    return ((value + _SIGN) % _MODULUS) - _SIGN


def _is_column(*values: Any) -> bool:
    return any(isinstance(value, np.ndarray) for value in values)


def add(a: Ints, b: Ints) -> Ints:
    """``a + b``, wrapping in int64."""
    if _is_column(a, b):
        return np.add(a, b, dtype=np.int64)
    return _wrap(a + b)  # type: ignore[arg-type]


def sub(a: Ints, b: Ints) -> Ints:
    """``a - b``, wrapping in int64."""
    if _is_column(a, b):
        return np.subtract(a, b, dtype=np.int64)
    return _wrap(a - b)  # type: ignore[arg-type]


def mul(a: Ints, b: Ints) -> Ints:
    """``a * b``, wrapping in int64."""
    if _is_column(a, b):
        return np.multiply(a, b, dtype=np.int64)
    return _wrap(a * b)  # type: ignore[arg-type]


def div_trunc(a: Ints, b: Ints) -> Ints:
    """``a / b`` toward zero; 0 where ``b`` is 0, so that rows a rule leaves out need no guard of their own."""
    if _is_column(a, b):
        divisor = np.asarray(b, dtype=np.int64)
        dividend = np.asarray(a, dtype=np.int64)
        zero = divisor == 0
        safe = np.where(zero, 1, divisor)
        quotient = np.floor_divide(dividend, safe)
        # Floor and truncation differ by one where the signs differ and the division is not exact.
        inexact = (quotient * safe != dividend) & ((dividend < 0) != (safe < 0))
        return np.where(zero, 0, quotient + inexact)
    assert isinstance(a, int) and isinstance(b, int)
    if b == 0:
        return 0
    quotient = abs(a) // abs(b)
    return _wrap(quotient if (a < 0) == (b < 0) else -quotient)


def not_(condition: Bools) -> Bools:
    """Logical not: ``~`` on a Python bool would be arithmetic."""
    return ~condition if isinstance(condition, np.ndarray) else not condition


def where(condition: Bools, a: Any, b: Any) -> Any:
    """``a`` where the condition holds, else ``b``."""
    if _is_column(condition, a, b):
        return np.where(condition, a, b)
    return a if condition else b


def minimum(a: Any, b: Any) -> Any:
    return np.minimum(a, b) if _is_column(a, b) else min(a, b)


def maximum(a: Any, b: Any) -> Any:
    return np.maximum(a, b) if _is_column(a, b) else max(a, b)


def to_float(a: Ints) -> Floats:
    """int64 to float64, rounding to nearest as Go does."""
    return a.astype(np.float64) if isinstance(a, np.ndarray) else float(a)


def to_int(a: Floats) -> Ints:
    """float64 to int64, toward zero."""
    return np.trunc(a).astype(np.int64) if isinstance(a, np.ndarray) else math.trunc(a)


def divide(a: Floats, b: Floats) -> Floats:
    """float64 division; 0 where ``b`` is 0."""
    if _is_column(a, b):
        zero = np.equal(b, 0.0)
        return np.divide(a, np.where(zero, 1.0, b)) * np.where(zero, 0.0, 1.0)
    return a / b if b else 0.0


def sqrt(a: Floats) -> Floats:
    return np.sqrt(a) if isinstance(a, np.ndarray) else math.sqrt(a)


def absolute(a: Any) -> Any:
    return np.abs(a) if isinstance(a, np.ndarray) else abs(a)


def round_half_away(a: Floats) -> Ints:
    """The nearest int64, halves away from zero (Go's math.Round; Python's and NumPy's round go to even)."""
    if isinstance(a, np.ndarray):
        whole = np.trunc(a)
        return (whole + np.where(np.abs(a - whole) >= 0.5, np.sign(a), 0.0)).astype(np.int64)
    whole_row = math.trunc(a)
    return whole_row + ((1 if a > 0 else -1) if abs(a - whole_row) >= 0.5 else 0)


def bit(condition: Bools, number: int) -> Masks:
    """The mask with bit ``number`` set where the condition holds."""
    if isinstance(condition, np.ndarray):
        return condition.astype(np.uint64) << np.uint64(number)
    return (1 << number) if condition else 0


def gather(table: Any, ids: Ids) -> Any:
    """``table[id]`` for each row; ``table`` is an array, or a list when one row is asked."""
    return table[ids]
