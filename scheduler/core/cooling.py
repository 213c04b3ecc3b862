"""Nodes that are kept from pods of a shape for a while, because their kubelet has refused such a pod.

What the kubelet refuses by can be something that the API does not show: sent there again, the next pod of the shape would
meet the same end, and its controller would make pods as fast as they are refused (kubernetes/kubernetes#106419).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import NamedTuple, TypeAlias

FIRST_SECONDS = 10.0
LONGEST_SECONDS = 300.0
FORGOTTEN_SECONDS = 600.0
"""A refusal so long after the last cool-down counts as the first one."""

Shape: TypeAlias = Hashable
"""What pods have in common that are refused alike: their signature, or, without one, their controller."""


class _Cool(NamedTuple):
    until: float
    seconds: float


class Cooling:
    """Cool-downs by shape and node. Each further refusal doubles the time, from 10 seconds to five minutes."""

    def __init__(self) -> None:
        self.active: dict[Shape, dict[str, float]] = {}
        """The end of each cool-down, by node name; a shape without any is not there."""
        self._last: dict[tuple[Shape, str], _Cool] = {}

    def __len__(self) -> int:
        """Cool-downs that are under way, or have not been ended yet."""
        return sum(len(nodes) for nodes in self.active.values())

    def refused(self, shape: Shape, node_name: str, now: float) -> float:
        """The node has refused a pod of the shape: for how many seconds it gets no other one."""
        last = self._last.get((shape, node_name))
        seconds = FIRST_SECONDS
        if last is not None and now < last.until + FORGOTTEN_SECONDS:
            # Several that were sent before the first refusal was known are refused for one and the same cause.
            seconds = last.seconds if now < last.until else min(2 * last.seconds, LONGEST_SECONDS)
        until = now + seconds
        self._last[shape, node_name] = _Cool(until, seconds)
        self.active.setdefault(shape, {})[node_name] = until
        return seconds

    def nodes_of(self, shape: Shape, now: float) -> Iterator[str]:
        """Nodes that pods of the shape are kept from, in the order in which they first refused."""
        return (name for name, until in self.active.get(shape, {}).items() if now < until)

    def translate(self, shape_now: Callable[[Shape], Shape]) -> None:
        """What shapes are told by has changed: each is another one now, or the same."""
        self.active = {shape_now(shape): nodes for shape, nodes in self.active.items()}
        self._last = {(shape_now(shape), name): cool for (shape, name), cool in self._last.items()}

    def set_back(self, seconds: float) -> None:
        """The clock was set back by so many seconds."""
        self.active = {
            shape: {name: until - seconds for name, until in nodes.items()} for shape, nodes in self.active.items()
        }
        self._last = {key: cool._replace(until=cool.until - seconds) for key, cool in self._last.items()}

    def expire(self, now: float) -> bool:
        """Let those go that have cooled down; whether there was any."""
        ended = [(shape, name) for shape, nodes in self.active.items() for name, until in nodes.items() if until <= now]
        for shape, name in ended:
            del self.active[shape][name]
            if not self.active[shape]:
                del self.active[shape]
        if ended:
            self._last = {key: cool for key, cool in self._last.items() if now < cool.until + FORGOTTEN_SECONDS}
        return bool(ended)
