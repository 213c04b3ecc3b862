"""Observing plugins at work: how many rows they look at, and, while somebody times them, how long they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from scheduler.framework.status import Code, Status
from scheduler.profile.failure import Stage

CallT = TypeVar("CallT", bound=Callable[..., Any])


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

    is_timing = False

    def plugin(self, plugin: str, stage: Stage, call: CallT) -> CallT:
        """What is to be called in place of this method of the plugin as long as ``is_timing`` stays what it is."""
        return call

    def point(self, stage: Stage, call: CallT) -> CallT:
        """The same in place of what does all of an extension point."""
        return call


class Method(Generic[CallT]):
    """A method of a plugin as it is, and as it is called while it is timed: made once, for that takes as long as the call."""

    __slots__ = ("_observer", "_plain", "_plugin", "_stage", "_timed")

    def __init__(self, observer: Observer, plugin: str, stage: Stage, call: CallT) -> None:
        self._observer, self._plugin, self._stage = observer, plugin, stage
        self._plain = call
        self._timed: CallT | None = None

    def now(self) -> CallT:
        """What is to be called as long as the observer's ``is_timing`` stays what it is."""
        if not self._observer.is_timing:
            return self._plain
        if self._timed is None:
            self._timed = self._observer.plugin(self._plugin, self._stage, self._plain)
        return self._timed


NOBODY = Observer()


def code_of(answer: object) -> Code:
    """What an extension point has answered; an answer without a status, such as masks or scores, is a success."""
    status = getattr(answer, "status", answer)
    if not isinstance(status, Status):
        return Code.SUCCESS
    code: object = status.code
    return code if isinstance(code, Code) else Code.ERROR  # what answers nonsense has failed
