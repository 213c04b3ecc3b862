"""Makes a case that differs as small as it stays one: fewer lines, objects and fields."""

import copy
import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.oracle.draw import Json
from tests.oracle.generate import Case, encode

Path = tuple[str | int, ...]
# Says for each candidate whether it still shows what the case shows.
StillDiffers = Callable[[Sequence[Case]], list[bool]]

# What makes a line an object or a line at all; taking it away would change what the case is about.
KEPT = {("pod",), ("objects",), ("config",), ("pod", "metadata"), ("pod", "metadata", "name")}
KEPT_KEYS = {"apiVersion", "kind", "metadata", "name", "namespace", "uid"}
MOST_CUTS = 500  # of one round, the heaviest first


def shrink(case: Case, still_differs: StillDiffers, *, seconds: float = 120.0) -> Case:
    """Try ever smaller cuts, all of one size at once, and keep those that still differ; ends when no cut does, or in time."""
    deadline = time.monotonic() + seconds
    try:
        lines = [json.loads(line) for line in case.lines]
    except ValueError:
        return case
    if not all(isinstance(line, dict) for line in lines):
        return case
    lines = _fewer_lines(case, lines, still_differs)
    for possible in (_object_cuts, _field_cuts, _object_cuts):
        while time.monotonic() < deadline:
            cuts = sorted(possible(lines), key=lambda cut: -_weight(lines, cut))[:MOST_CUTS]
            made = [_case(case, _without(lines, cut)) for cut in cuts]
            good = [cut for cut, differs in zip(cuts, still_differs(made), strict=True) if differs] if made else []
            if not good:
                break
            lines = _together(case, lines, good, still_differs)
    return _case(case, lines)


def _case(case: Case, lines: list[Json]) -> Case:
    return Case(case.name, tuple(encode(line) for line in lines), case.expect)


def _fewer_lines(case: Case, lines: list[Json], still_differs: StillDiffers) -> list[Json]:
    """Cut what comes after the first difference, then each step before it."""
    ends = [lines[:end] for end in range(1, len(lines))]
    for end, differs in zip(ends, still_differs([_case(case, end) for end in ends]), strict=True):
        if differs:
            lines = end
            break
    position = len(lines) - 2
    while position > 0:
        without = lines[:position] + lines[position + 1 :]
        if still_differs([_case(case, without)])[0]:
            lines = without
        position -= 1
    return lines


def _object_cuts(lines: list[Json]) -> Iterator[list[Path]]:
    """Halves, quarters and so on of the objects, then each single one, and the configuration."""
    for number, line in enumerate(lines):
        for key in ("objects", "apply", "delete"):
            count = len(line.get(key) or [])
            size = count
            while size >= 1:
                for start in range(0, count, size):
                    yield [(number, key, index) for index in range(start, min(start + size, count))]
                size //= 2


def _field_cuts(lines: list[Json]) -> Iterator[list[Path]]:
    for number, line in enumerate(lines):
        for path in _paths(line, ()):
            if path not in KEPT and path[-1] not in KEPT_KEYS:
                yield [(number, *path)]
        if line.get("config") is not None:
            yield [(number, "config")]


def _paths(value: Any, path: Path) -> Iterator[Path]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        here = (*path, key)
        if len(here) > 2 or here[0] not in ("objects", "apply", "delete"):
            yield here
        yield from _paths(inner, here)


def _weight(lines: list[Json], cut: Sequence[Path]) -> int:
    """How much text a cut takes away."""
    total = 0
    for path in cut:
        inner: Any = lines
        for part in path:
            inner = inner[part]
        total += len(json.dumps(inner))
    return total


def _without(lines: list[Json], cut: Sequence[Path]) -> list[Json]:
    made = copy.deepcopy(lines)
    # Later items of a list go first, so that earlier ones keep their place.
    for path in sorted(
        cut, key=lambda path: [(isinstance(part, int), str(part).zfill(6)) for part in path], reverse=True
    ):
        inner: Any = made
        try:
            for part in path[:-1]:
                inner = inner[part]
            if path[1:] == ("config",):
                inner["config"] = None
            else:
                del inner[path[-1]]
        except (KeyError, IndexError, TypeError):
            pass  # a longer cut took it already
    return made


def _together(case: Case, lines: list[Json], cuts: list[list[Path]], still_differs: StillDiffers) -> list[Json]:
    """All good cuts at once if that still differs, else the largest part of them that does."""
    size = len(cuts)
    while size > 1:
        parts = [cuts[start : start + size] for start in range(0, len(cuts), size)]
        made = [_without(lines, [path for cut in part for path in cut]) for part in parts]
        for one, differs in zip(made, still_differs([_case(case, one) for one in made]), strict=True):
            if differs:
                return one
        size //= 2
    return _without(lines, cuts[0])
