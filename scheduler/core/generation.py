"""A generation: what one loaded configuration makes of the core, built as a whole before anything is changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from scheduler.batch.options import BatchOptions
from scheduler.profile.profile import Profile
from scheduler.queue.backoff import Backoff


@dataclass(frozen=True, kw_only=True)
class Generation:
    """One loaded configuration, ready to be in force.

    Attributes:
        number: grows with each that is built; the first one is 1.
        profiles: by schedulerName, in the order of the configuration; at least one.
        typo_warnings: whether pods are told of whose schedulerName is nearly one of these.
    """

    number: int
    profiles: Mapping[str, Profile]
    backoff: Backoff
    batching: BatchOptions
    typo_warnings: bool = False


class Reload(NamedTuple):
    """What became of a generation: in force, or ``refused`` with the reason as it is told to people."""

    number: int
    refused: str = ""
