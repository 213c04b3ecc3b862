"""Events of the cluster as stimuli bring them: who may be helped is woken, and how long that took is noted."""

from __future__ import annotations

from typing import Any

from scheduler.core.state import State
from scheduler.framework.cluster_event import ClusterEvent


def heard(state: State, event: ClusterEvent, now: float, *, old: Any = None, new: Any = None) -> None:
    """Wake whom the event may help; ``old`` is the object as it was, and ``new`` as it is."""
    state.queue.move_all(event, now, old=old, new=new)
    state.measurements.event_handled(event)
