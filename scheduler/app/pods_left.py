"""``reprise pods-left``: the pods that still ask for a scheduler that is about to be removed."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import msgspec

from scheduler.app.own_namespace import own_namespace
from scheduler.config.configuration import ConfigurationError, load
from scheduler.kube.asking_pods import AskingPod, list_asking_pods
from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import CredentialsError, load_credentials
from scheduler.kube.scheduler_configurations import ConfigurationClient, Unavailable
from scheduler.kube.transport import ApiError, TransportFailure

EXIT_FAILURE = 1
EXIT_BAD_INPUT = 2
MOST_SHOWN = 50


def run(options: argparse.Namespace) -> int:
    """Exit code 0 whether pods are left or not, 1 when nobody could be asked, 2 for input that cannot be used."""
    code = _run(options)
    return 0 if options.always_succeed else code


def _run(options: argparse.Namespace) -> int:
    try:
        configuration = load(options.config, replace_kube_scheduler=True, own_namespace=own_namespace())
        named = configuration.kube.client_connection.kubeconfig
        kubeconfig = options.kubeconfig or (Path(named) if named else None)
        of_file = [profile.scheduler_name for profile in configuration.profiles]
        names, left = asyncio.run(_ask(kubeconfig, of_file, options.config_resource))
    except ConfigurationError as error:
        for line in error.errors:
            print(f"reprise pods-left: {line}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except CredentialsError as error:
        print(f"reprise pods-left: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except (ApiError, TransportFailure, Unavailable, msgspec.DecodeError, OSError) as error:
        print(f"reprise pods-left: the pods cannot be listed: {error}", file=sys.stderr)
        return EXIT_FAILURE
    if options.output == "json":
        print(msgspec.json.encode([pod._asdict() for pod in left]).decode())
    else:
        print(text_of(names, left))
        if options.config_resource:
            print(_STAYS.format(name=options.config_resource))
    return 0


_STAYS = (
    "The SchedulerConfiguration {name} stays, and the kind of it; when no other release obeys it: "
    "kubectl delete schedulerconfiguration {name}"
)


async def _ask(kubeconfig: Path | None, names: Sequence[str], resource: str) -> tuple[list[str], list[AskingPod]]:
    """The names of the file and of the resource, and the pods that ask for one of them."""
    credentials = load_credentials(kubeconfig, monotonic=time.monotonic)
    async with ApiClient(credentials, version=version("reprise-scheduler")) as client:
        found = await ConfigurationClient(client, client).get(resource) if resource else None
        # What it asks for may have been refused; its status says what is in force.
        served = ((found or {}).get("status") or {}).get("profiles") or ""
        wanted = list(dict.fromkeys([*names, *filter(None, served.split(", "))]))
        return wanted, [pod for name in wanted for pod in await list_asking_pods(client, name)]


def text_of(names: Sequence[str], left: Sequence[AskingPod]) -> str:
    """For people: who asks, those that wait first, and what becomes of them."""
    wanted = " or ".join(names)
    if not left:
        return f"no pod asks for {wanted}"
    waiting = sum(1 for pod in left if not pod.node_name)
    lines = [
        f"{len(left)} pods still ask for {wanted}; {waiting} of them wait for a node, until a scheduler of that name runs.",
        "The others stay where they are, and what replaces them will wait too. Change spec.schedulerName of what makes them:",
    ]
    ordered = sorted(left, key=lambda pod: (bool(pod.node_name), pod.namespace, pod.name))
    lines += [f"  {_line(pod)}" for pod in ordered[:MOST_SHOWN]]
    if len(ordered) > MOST_SHOWN:
        lines.append(f"  and {len(ordered) - MOST_SHOWN} more")
    return "\n".join(lines)


def _line(pod: AskingPod) -> str:
    place = f"on {pod.node_name}" if pod.node_name else "waiting"
    owner = f", of {pod.owner}" if pod.owner else ""
    return f"{pod.namespace}/{pod.name} ({pod.scheduler_name}): {place}{owner}"
