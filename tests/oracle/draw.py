"""Seeded chance for the generator, and the many ways to write one quantity."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

Json = dict[str, Any]
T = TypeVar("T")

KI, MI, GI = 1024, 1024**2, 1024**3


@dataclass(frozen=True)
class Setting:
    """What a case is about: a theme makes one area frequent; on a roomy cluster most nodes fit, so that scores matter.

    Attributes:
        families: The themes of rules that look beyond the node that this case has something of (families.py).
        gaps: How often a node lacks a topology key.
    """

    theme: str
    roomy: bool
    families: frozenset[str] = frozenset()
    gaps: float = 0.0

    @property
    def looks_beyond(self) -> bool:
        """Whether pods, topologies and namespaces matter, so that there should be few of each and often the same."""
        return bool(self.families - {"features"})


class Draw:
    """One case's chance: everything that varies is asked of it, so a seed and an index name a case for good."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def whole(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return self._random.randint(low, high)

    def pick(self, items: Sequence[T]) -> T:
        return self._random.choice(items)

    def weighted(self, items: dict[T, float]) -> T:
        return self._random.choices(list(items), weights=list(items.values()))[0]

    def some(self, items: Sequence[T], low: int, high: int) -> list[T]:
        """Between `low` and `high` different items, in random order."""
        return self._random.sample(items, min(len(items), self.whole(low, high)))

    def several(self, low: int, high: int, make: Callable[[], T]) -> list[T]:
        return [make() for _ in range(self.whole(low, high))]


def plain(value: Decimal) -> str:
    """The number without an exponent and without useless zeros."""
    text = f"{value:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def milli(draw: Draw, value: int) -> str | int | float:
    """About `value` thousandths (a CPU), in one of the forms that the API accepts.

    The `u` and `n` forms may lie a little below the value, so that it is reached only by rounding up.
    """
    cores = Decimal(value) / 1000
    match draw.weighted({"m": 50, "decimal": 20, "number": 8, "u": 10, "n": 4, "exponent": 4, "odd": 4}):
        case "decimal":
            return plain(cores)
        case "number":
            return value // 1000 if value % 1000 == 0 else float(cores)
        case "u":
            return f"{max(0, value * 1000 - draw.pick([0, 1, 500, 999]))}u"
        case "n":
            return f"{max(0, value * 1_000_000 - draw.pick([0, 1, 999_999]))}n"
        case "exponent":
            return draw.pick([f"{value}e-3", f"{plain(cores)}e0", f"{plain(Decimal(value) / 10)}E-2"])
        case "odd":
            return draw.pick(
                [f"+{value}m", f"{plain(cores)}000" if "." in plain(cores) else f"{plain(cores)}.", f"0{value}m"]
            )
    return f"{value}m"


def amount(draw: Draw, value: int) -> str | int | float:
    """About `value` units (bytes, or pieces), in one of the forms that the API accepts; `m` and `u` round up."""
    forms: dict[str, float] = {"plain": 18, "binary": 50, "decimal": 10, "number": 8, "m": 6, "u": 3, "exponent": 5}
    match draw.weighted(forms):
        case "binary":
            for suffix, size in (("Ti", 1024**4), ("Gi", GI), ("Mi", MI), ("Ki", KI)):
                if value >= size:
                    whole, rest = divmod(value, size)
                    return f"{whole}{suffix}" if rest == 0 or draw.chance(0.5) else f"{value / size:.3f}{suffix}"
        case "decimal":
            for suffix, size in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 1000)):
                if value >= size:
                    return f"{value // size}{suffix}" if draw.chance(0.6) else f"{value / size:.2f}{suffix}"
        case "number":
            return value
        case "m":
            return f"{max(0, value * 1000 - draw.pick([0, 1, 500, 999]))}m"
        case "u":
            return f"{max(0, value * 1_000_000 - draw.pick([0, 1, 999_999]))}u" if value < 10**12 else str(value)
        case "exponent":
            return draw.pick([f"{value}e0", f"{plain(Decimal(value) / 1000)}e3", f"{plain(Decimal(value) / 100)}E2"])
    return str(value)


def quantity(draw: Draw, resource: str, value: int) -> str | int | float:
    """A quantity of a resource whose value is in milli-CPU for `cpu` and in units for all others."""
    return milli(draw, value) if resource == "cpu" else amount(draw, value)
