"""``reprise check-config``: everything that is wrong with a configuration file, or what it comes to."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from scheduler.config.configuration import Configuration, load
from scheduler.config.profiles import ProfileConfiguration
from scheduler.config.report import ConfigurationError
from scheduler.profile.plugin_set import EXTENSION_POINTS

EXIT_OK = 0
EXIT_INVALID = 2


def check(path: Path, replace_kube_scheduler: bool) -> list[str]:
    """Every error of the file as ``path: message``; none when a scheduler can run with it."""
    try:
        load(path, replace_kube_scheduler=replace_kube_scheduler)
    except ConfigurationError as error:
        return error.errors
    return []


def run(args: argparse.Namespace) -> int:
    """Print errors and return 2, or print warnings and the plugins of each profile and return 0."""
    try:
        configuration = load(args.file, replace_kube_scheduler=args.replace_kube_scheduler)
    except ConfigurationError as error:
        for line in error.errors:
            print(f"error: {line}")
        count = len(error.errors)
        print(f"{args.file}: {count} error{'s' if count > 1 else ''}", file=sys.stderr)
        return EXIT_INVALID
    for line in summary(configuration):
        print(line)
    return EXIT_OK


def summary(configuration: Configuration) -> list[str]:
    """The warnings, and a line for each profile with its plugins at each extension point, in the order they run."""
    return [
        *(f"warning: {warning}" for warning in configuration.warnings),
        *(f"profile {profile.scheduler_name}: {_plugins(profile)}" for profile in configuration.profiles),
    ]


def _plugins(profile: ProfileConfiguration) -> str:
    points = []
    for point in EXTENSION_POINTS:
        names = profile.plugins.names(point.key)
        if point.key == "score":
            names = tuple(f"{name}*{profile.plugins.weights[name]}" for name in names)
        if names:
            points.append(f"{point.key}={','.join(names)}")
    return " ".join(points)
