"""Kubernetes quantities, exactly: ``100m``, ``1.5Gi``, ``1e3``, ``0.5``.

A quantity is read once per distinct text and turned into an int64 of its unit; both conversions round away from zero, as
the API's ``Value()`` and ``MilliValue()`` do (kube-scheduler 1.37: apimachinery resource.Quantity). What is beyond int64
becomes what it becomes there, where it depends on the form in which the API holds the number: the kubelet counts alike.
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
# These bound the work that one object can ask for; int64 ends at 19 digits.
_MAX_EXPONENT = 1000
_MAX_DIGITS = 1200
_MAX_SUFFIX = 20


_MOST_DIGITS = 18  # of a number that the API holds as an int64 and a power of ten


class QuantityError(ValueError):
    """A text that is not a Kubernetes quantity."""


class _BigDecimal(int):
    """Units of 10**-9 that the API holds as a big decimal; so is every sum with them."""

    def __add__(self, other: int) -> _BigDecimal:
        return _BigDecimal(int(self) + int(other))

    __radd__ = __add__


def _divide_away_from_zero(numerator: int, divisor: int) -> int:
    return -(-numerator // divisor) if numerator >= 0 else numerator // divisor


def _wrap(value: int) -> int:
    """The lowest 64 bits."""
    return (value - INT64_MIN) % 2**64 + INT64_MIN


def _without_thousands(units: int) -> tuple[int, int]:
    """Without its factors of 1000, and how many there are."""
    factors = 0
    while units and not units % 1000:
        units, factors = units // 1000, factors + 1
    return units, factors


def _is_big_decimal(units: int, *, is_binary: bool) -> bool:
    """Whether the API reads the number, as it writes it, into a big decimal (kube-scheduler 1.37: ParseQuantity)."""
    units = abs(units)
    whole, fraction = divmod(units, 10**9)
    if is_binary and whole >= 1024 and not fraction:
        power = 0
        while power < len(_BINARY) and not whole % 1024:
            whole, power = whole // 1024, power + 1
        if power:
            return len(str(whole)) + 3 * power > 14
    return len(str(_without_thousands(units)[0])) > _MOST_DIGITS


@lru_cache(maxsize=65_536)
def _nano(text: str) -> int:
    match = _FORM.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise QuantityError(
            f"{text!r} is not a quantity: write a number with an optional suffix, such as 100m, 1.5Gi or 1e3"
        )
    sign, whole, fraction, suffix = match[1], match[2].lstrip("0"), match[3] or "", match[4]
    if len(whole) > _MAX_DIGITS or len(suffix) > _MAX_SUFFIX:
        raise QuantityError(f"a quantity of {len(text)} characters that begins with {text[:20]!r} is too long")
    if len(fraction) > _MAX_DIGITS:
        # What comes so far behind only tells that it is rounded up.
        fraction = fraction[:_MAX_DIGITS] + ("1" if fraction[_MAX_DIGITS:].strip("0") else "")
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
    if suffix in _BINARY:
        nano = min(nano, INT64_MAX * 10**9)
    is_big = _is_big_decimal(nano, is_binary=suffix in _BINARY)
    nano = -nano if sign == "-" else nano
    return _BigDecimal(nano) if is_big else nano


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
    divisor = 10**6 if resource == "cpu" else 10**9
    if isinstance(nano_units, _BigDecimal):
        return _big_amount(int(nano_units), divisor)
    rounded = _divide_away_from_zero(nano_units, divisor)
    if INT64_MIN <= rounded <= INT64_MAX:
        return rounded
    # Held as an int64 of a unit that is more than 10**9 times as large it counts as nothing, and else it wraps.
    held, factors = _without_thousands(nano_units)
    is_nothing = abs(held) <= INT64_MAX and 1000**factors > 10**9 * divisor
    return 0 if is_nothing else _wrap(rounded)


def _big_amount(nano_units: int, divisor: int) -> int:
    """As for a big decimal with nine places: up to int64 its lowest 64 bits are divided, also of a number far below zero."""
    if nano_units >= INT64_MAX:
        return _wrap(-(-nano_units // divisor))
    low = _wrap(nano_units)
    whole = abs(low) // divisor * (1 if low >= 0 else -1)
    return whole + (low % divisor != 0)


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
