"""Durations as Go writes them: ``15s``, ``1m30s``, ``500ms``. Inside the program they are seconds."""

from __future__ import annotations

import re

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "\N{MICRO SIGN}s": 10**3,
    "\N{GREEK SMALL LETTER MU}s": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|\N{MICRO SIGN}s|\N{GREEK SMALL LETTER MU}s|ms|s|m|h)")
_LONGEST_NS = 2**63 - 1


def parse_duration(text: str) -> float:
    """Seconds, as Go's ``time.ParseDuration`` reads them, to the nanosecond.

    Raises:
        ValueError: when the text is no duration, or one of more than 2**63 - 1 nanoseconds.
    """
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text.startswith(("-", "+")) else text
    if rest == "0":
        return 0.0
    total = position = 0
    while position < len(rest):
        part = _PART.match(rest, position)
        if part is None or not (part[1] or part[2]):
            break
        unit = _UNITS[part[3]]
        fraction = part[2] or ""
        total += int(part[1] or "0") * unit + int(fraction or "0") * unit // 10 ** len(fraction)
        position = part.end()
    if not rest or position < len(rest):
        raise ValueError(f'invalid duration "{text}": write numbers with units, as in "15s", "1m30s" or "500ms"')
    if total > _LONGEST_NS:
        raise ValueError(f'invalid duration "{text}": longer than 292 years')
    return sign * total / 10**9


def format_duration(seconds: float) -> str:
    """The duration as Go's ``Duration.String`` writes it."""
    nanoseconds = round(seconds * 10**9)
    sign = "-" if nanoseconds < 0 else ""
    nanoseconds = abs(nanoseconds)
    if nanoseconds == 0:
        return "0s"
    for unit, size in (("ns", 1), ("\N{MICRO SIGN}s", 10**3), ("ms", 10**6)):
        if nanoseconds < size * 1000:
            return f"{sign}{_decimal(nanoseconds, size)}{unit}"
    minutes, rest = divmod(nanoseconds, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, 10**9)}s"
    if hours:
        text = f"{hours}h{minutes}m{text}"
    elif minutes:
        text = f"{minutes}m{text}"
    return sign + text


def _decimal(value: int, size: int) -> str:
    whole, rest = divmod(value, size)
    if not rest:
        return str(whole)
    digits = len(str(size)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0")
