"""Which fields take effect only when a process starts: they decide what it is connected to, listens on and is a candidate for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from scheduler.api.field_errors import child
from scheduler.config.configuration import Configuration
from scheduler.config.decoding import encode

KUBE_FIELDS = ("leaderElection", "clientConnection", "delayCacheUntilActive", "extenders")
"""Of the KubeSchedulerConfiguration. Extenders are told of whole objects, which are kept from the first list on, and only for them."""

REPRISE_FIELDS = ("serving", "logging")
"""Of the RepriseConfiguration."""


def restart_fields(running: Configuration, wanted: Configuration) -> list[str]:
    """The fields that differ and that no running process takes over, each with its path; values are in no text."""
    changed: list[str] = []
    for before, after, names in (
        (running.kube, wanted.kube, KUBE_FIELDS),
        (running.reprise, wanted.reprise, REPRISE_FIELDS),
    ):
        old, new = encode(before), encode(after)
        for name in names:
            changed += _differences(old[name], new[name], name)
    if wanted.kube.extenders and not changed:
        known = {profile.scheduler_name for profile in running.profiles}
        changed += [
            f"profiles[{index}].schedulerName"
            for index, profile in enumerate(wanted.profiles)
            if profile.scheduler_name not in known
        ]
    return changed


def _differences(before: Any, after: Any, path: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before:
            yield from _differences(before[key], after.get(key), child(path, key))
    elif before != after:
        yield path


def process_sections(running: Configuration) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a process was started with, of both documents, as JSON values: for documents that do not say."""
    kube, reprise = encode(running.kube), encode(running.reprise)
    return {name: kube[name] for name in KUBE_FIELDS}, {name: reprise[name] for name in REPRISE_FIELDS}


def document_of(configuration: Configuration) -> dict[str, Any]:
    """Both documents, defaults filled in, as they are compared: without what makes no difference."""
    return {
        "kube": configuration.as_kube_document(),
        "reprise": msgspec.to_builtins(encode(configuration.reprise)),
    }
