"""``reprise replay``: run a story again and show what came out differently."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

import msgspec

from scheduler.app.generations import generation_of
from scheduler.config.configuration import ConfigurationError, from_object
from scheduler.core.generation import Generation
from scheduler.core.scheduler import Scheduler
from scheduler.core.stimulus import ConfigurationChanged
from scheduler.core.story import Header, StoryError, replay

EXIT_DIFFERENT = 1
EXIT_BAD_INPUT = 2


def build(header: Header) -> Scheduler:
    """The scheduler that a story was recorded from, in its first state.

    Raises:
        ConfigurationError: the recorded configuration is not accepted.
    """
    configuration = from_object(header.configuration, any_scheduler_name=True)
    profiles = {one.scheduler_name: one for one in configuration.profiles}
    return Scheduler(
        profiles,
        seed=header.seed,
        backoff=configuration.backoff,
        batching=header.batching,
        extenders=configuration.kube.extenders,
        typo_warnings=header.typo_warnings,
    )


def build_generation(stimulus: ConfigurationChanged) -> Generation:
    """What a later configuration of the story put in force.

    Raises:
        ConfigurationError: it is not accepted.
    """
    configuration = from_object(stimulus.configuration, any_scheduler_name=True)
    return replace(
        generation_of(configuration, stimulus.generation),
        batching=stimulus.batching,
        typo_warnings=stimulus.typo_warnings,
    )


def run(options: argparse.Namespace) -> int:
    """Exit code 1 when a step differs, 2 when the story cannot be read."""
    differences = 0
    try:
        with options.file.open("rb") as lines:
            for difference in replay(lines, build, build_generation):
                differences += 1
                print(f"line {difference.line}:")
                print(f"  recorded {msgspec.json.encode(difference.recorded).decode()}")
                print(f"  replayed {msgspec.json.encode(difference.replayed).decode()}")
    except (OSError, StoryError, ConfigurationError) as error:
        print(f"reprise replay: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    print(f"{differences} steps differ")
    return EXIT_DIFFERENT if differences else 0
