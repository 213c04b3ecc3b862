"""Kubernetes quantities, exactly: ``100m``, ``1.5Gi``, ``1e3``, ``0.5``.

A quantity is read once per distinct text and turned into an int64 of its unit; both conversions round away from zero, as
the API's ``Value()`` and ``MilliValue()`` do (kube-scheduler 1.37: apimachinery resource.Quantity). A value beyond int64
saturates, where upstream's result is undefined.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

Quantity: TypeAlias = str | int | float

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)

_FORM = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_MAX_EXPONENT = 1000  # bounds the work that one object can ask for; int64 ends at 19 digits


class QuantityError(ValueError):
    """A text that is not a Kubernetes quantity."""


def _divide_away_from_zero(numerator: int, divisor: int) -> int:
    return -(-numerator // divisor) if numerator >= 0 else numerator // divisor


def _saturate(value: int) -> int:
    return max(INT64_MIN, min(INT64_MAX, value))


@lru_cache(maxsize=65_536)
def _nano(text: str) -> int:
    match = _FORM.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise QuantityError(
            f"{text!r} is not a quantity: write a number with an optional suffix, such as 100m, 1.5Gi or 1e3"
        )
    sign, whole, fraction, suffix = match[1], match[2], match[3] or "", match[4]
    unscaled = int(whole + fraction or "0")
    exponent = -len(fraction)
    if suffix in _BINARY:
        unscaled <<= _BINARY[suffix]
    elif suffix in _DECIMAL:
        exponent += _DECIMAL[suffix]
    elif suffix[0] in "eE" and suffix[1:].lstrip("+-").isdecimal():
        exponent += max(-_MAX_EXPONENT, min(_MAX_EXPONENT, int(suffix[1:])))
    else:
        raise QuantityError(
            f"{text!r} is not a quantity: the suffix {suffix!r} is unknown; use one of n u m k M G T P E, Ki to Ei, or an exponent"
        )
    nano: int
    if exponent >= -9:
        nano = unscaled * 10 ** (exponent + 9)
    else:
        nano = _divide_away_from_zero(unscaled, 10 ** (-9 - exponent))
    return -nano if sign == "-" else nano


def _text(quantity: Quantity) -> str:
    return quantity.strip() if isinstance(quantity, str) else repr(quantity)


def nano(quantity: Quantity) -> int:
    """Units of 10**-9, rounded away from zero: no quantity is finer. Sums are made of these and rounded once, at the end.

    Raises:
        QuantityError: the text is not a quantity.
    """
    return _nano(_text(quantity))


def nano_amount(resource: str, nano_units: int) -> int:
    """A sum of ``nano`` as the scheduler counts the resource: milli-CPU for ``cpu``, whole units for every other."""
    return _saturate(_divide_away_from_zero(nano_units, 10**6 if resource == "cpu" else 10**9))


def value(quantity: Quantity) -> int:
    """Whole units (bytes, pods, devices), rounded away from zero.

    Raises:
        QuantityError: the text is not a quantity.
    """
    return nano_amount("", nano(quantity))


def milli_value(quantity: Quantity) -> int:
    """Thousandths of the unit (milli-CPU), rounded away from zero.

    Raises:
        QuantityError: the text is not a quantity.
    """
    return nano_amount("cpu", nano(quantity))


def amount(resource: str, quantity: Quantity) -> int:
    """The quantity of a resource as the scheduler counts it: milli-CPU for ``cpu``, whole units for every other."""
    return nano_amount(resource, nano(quantity))
