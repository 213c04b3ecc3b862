"""How much is kept for reuse, and how much of the reuse is checked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class BatchOptions:
    """``batching`` of the configuration.

    Attributes:
        max_signatures: entries kept at once.
        max_age_seconds: of an entry, since all of its nodes were evaluated; 0 for no limit.
        verify_fraction: share of the reused decisions that is checked against an evaluation from scratch.
    """

    enabled: bool = True
    max_signatures: int = 16
    max_age_seconds: float = 0.5
    verify_fraction: float = 0.01
