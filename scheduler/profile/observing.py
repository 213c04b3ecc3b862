"""Observing plugins at work: how many rows they look at, and, while somebody times them, how long they take."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from scheduler.framework.status import Code, Status
from scheduler.profile.failure import Stage

Run: TypeAlias = Callable[..., Any]
"""Calls what it is given first with all that follows, and gives back the answer."""

UNTIMED: Run = operator.call
"""Adds some 40 ns to a call, where a function of ours would add more than some plugins take."""


class Rows:
    """How many rows one plugin has looked at, at one extension point."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Observer:
    """Who is told of the plugins of an evaluation. This one keeps nothing."""

    def rows_of(self, plugin: str, stage: Stage) -> Rows:
        """Where the rows are counted that the plugin looks at."""
        return Rows()

    def plugin(self, plugin: str, stage: Stage) -> Run:
        """How the plugin is to be called until this is asked again."""
        return UNTIMED

    def point(self, stage: Stage) -> Run:
        """How all that an extension point does is to be called until this is asked again."""
        return UNTIMED


NOBODY = Observer()


def code_of(answer: object) -> Code:
    """What an extension point has answered; an answer without a status, such as masks or scores, is a success."""
    status = getattr(answer, "status", answer)
    return status.code if isinstance(status, Status) else Code.SUCCESS
