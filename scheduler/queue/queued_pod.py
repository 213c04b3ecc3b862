"""QueuedPod: a pod with its history in the queue."""

from __future__ import annotations

import enum

import msgspec

from scheduler.framework.pod_info import PodInfo
from scheduler.framework.signature import Signature


class Room(enum.StrEnum):
    """Where a pod waits; the values are the words of the metrics."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in flight"


class QueuedPod(msgspec.Struct):
    """Owned by the queue; others read it.

    Attributes:
        timestamp: when the pod came, or last failed; orders pods of one priority and starts the back-off.
        initial_attempt_timestamp: when the pod first entered the active queue; None while it was always gated.
        unschedulable_count: attempts that ended in a rejection; an error does not reset it.
        consecutive_errors: attempts that ended in an error since the last rejection.
        unschedulable_plugins: who rejected it last; a change has to convince one of them. Empty after an error.
        pending_plugins: those of them that wait for something certain (status Pending): what helps one skips the back-off.
        gating_plugin: who keeps it out of the active queue, or "".
        signature: the pod's part of the key of the batch cache; None when its decision is not to be reused.
        edition: of the queue's configuration, with which the pod was signed.
        was_flushed: its last wake-up was the five-minute flush.
    """

    pod: PodInfo
    timestamp: float
    attempts: int = 0
    initial_attempt_timestamp: float | None = None
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    unschedulable_plugins: tuple[str, ...] = ()
    pending_plugins: tuple[str, ...] = ()
    gating_plugin: str = ""
    signature: Signature | None = None
    edition: int = 0
    was_flushed: bool = False
    flushed_at: float = 0.0
    room: Room = Room.ACTIVE

    def set_back(self, seconds: float) -> None:
        """Move all that has happened back in time."""
        self.timestamp -= seconds
        if self.initial_attempt_timestamp is not None:
            self.initial_attempt_timestamp -= seconds
        if self.flushed_at:
            self.flushed_at -= seconds
