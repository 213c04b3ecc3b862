"""What a configuration takes in rights: the self-check at the start asks for these, and the chart's roles grant them."""

from __future__ import annotations

from scheduler.app.leadership import Candidacy
from scheduler.config.configuration import Configuration
from scheduler.kube.access import (
    REQUIRED,
    RIGHTS_TO_ASK_WHO,
    RIGHTS_TO_PREEMPT,
    RIGHTS_TO_WARN,
    Right,
    rights_to_patch,
    rights_to_watch,
)
from scheduler.kube.resources import AnyResource, watched_resources


def resources_watched(configuration: Configuration) -> tuple[AnyResource, ...]:
    """What is watched, in the order in which it is listed: what every scheduler reads, and what an enabled plugin names."""
    return watched_resources({kind for profile in configuration.profiles for kind in profile.watched_kinds()})


def rights_needed(configuration: Configuration, candidacy: Candidacy | None = None) -> tuple[Right, ...]:
    """The rights without which pods would be seen and not bound, or pages asked for and not shown; those on the Lease are the last.

    Raises:
        ValueError: a plugin patches a kind that cannot be patched.
    """
    patched = sorted({kind for profile in configuration.profiles for kind in profile.patched_kinds()})
    rights = (*REQUIRED, *rights_to_watch(resources_watched(configuration)), *rights_to_patch(patched))
    if any(profile.post_filter for profile in configuration.profiles):
        rights += RIGHTS_TO_PREEMPT
    if configuration.reprise.typo_warnings.enabled:
        rights += RIGHTS_TO_WARN
    if configuration.reprise.serving.port:
        rights += RIGHTS_TO_ASK_WHO
    return rights if candidacy is None else rights + candidacy.rights
