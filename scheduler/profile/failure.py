"""A plugin that raised or answered nonsense: the cycle of that pod fails with an error, and nobody else's."""

from __future__ import annotations

import enum


class Stage(enum.Enum):
    """Where a plugin failed."""

    PRE_ENQUEUE = "PreEnqueue"
    PRE_FILTER = "PreFilter"
    FILTER = "Filter"
    POST_FILTER = "PostFilter"
    PRE_SCORE = "PreScore"
    SCORE = "Score"
    NORMALIZE = "NormalizeScore"
    SIGN = "Sign"
    QUEUEING_HINT = "QueueingHint"
    RESERVE = "Reserve"
    UNRESERVE = "Unreserve"
    PERMIT = "Permit"
    PRE_BIND_PRE_FLIGHT = "PreBindPreFlight"
    PRE_BIND = "PreBind"
    POST_BIND = "PostBind"


class PluginFailure(Exception):
    """An extension point failed; the text is the one that users see. ``plugin`` names the culprit."""

    def __init__(self, message: str, plugin: str, stage: Stage) -> None:
        super().__init__(message)
        self.plugin = plugin
        self.stage = stage
