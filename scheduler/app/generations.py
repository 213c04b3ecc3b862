"""From a configuration to what the core works with."""

from __future__ import annotations

import hashlib

import msgspec

from scheduler.config.configuration import Configuration
from scheduler.config.restart import document_of
from scheduler.core.generation import Generation
from scheduler.core.stimulus import ConfigurationChanged


def generation_of(configuration: Configuration, number: int) -> Generation:
    """What the configuration makes of the core."""
    return Generation(
        number=number,
        profiles={profile.scheduler_name: profile for profile in configuration.profiles},
        backoff=configuration.backoff,
        batching=configuration.batching,
        typo_warnings=configuration.reprise.typo_warnings.enabled,
    )


def change_to(configuration: Configuration, number: int, now: float) -> ConfigurationChanged:
    """What tells the core of it, and a story how to build it again."""
    return ConfigurationChanged(
        now=now,
        generation=number,
        configuration=configuration.as_kube_document(),
        batching=configuration.batching,
        typo_warnings=configuration.reprise.typo_warnings.enabled,
    )


def hash_of(configuration: Configuration) -> str:
    """Equal for configurations that come to the same, whatever their documents leave to defaults; twelve letters."""
    text = msgspec.json.encode(document_of(configuration), order="sorted")
    return hashlib.sha256(text).hexdigest()[:12]
