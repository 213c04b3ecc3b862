"""What a plugin answers when it is asked whether an event can help a pod that it rejected (kube-scheduler 1.37: QueueingHint)."""

from __future__ import annotations

import enum


class Hint(enum.Enum):
    """The values are the words of the metrics."""

    QUEUE = "Queue"
    """The pod may be schedulable now: it is to be tried again."""
    SKIP = "QueueSkip"
    """The event does not help it, as far as this plugin can tell."""
