"""What holds at the end of every story."""

from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest

from scheduler.core.state import State

KEPT = 20
"""Drawn stories make many schedulers, and look at each themselves."""


@pytest.fixture(autouse=True)
def _what_is_kept_is_what_it_is_made_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No story forgets to look: whatever a scheduler's cache has counted is counted anew when the test ends."""
    states: deque[State] = deque(maxlen=KEPT)
    make = State.__init__

    def made(self: State, *given: Any, **named: Any) -> None:
        make(self, *given, **named)
        states.append(self)

    monkeypatch.setattr(State, "__init__", made)
    yield
    for state in states:
        state.cache.validate()
