"""``reprise debug compare``: ask a running scheduler whether what it knows is what there is."""

from __future__ import annotations

import argparse
import os
import signal
import sys

import msgspec

from scheduler.app.debug_pages import ask
from scheduler.core.comparison import Comparison

EXIT_DIFFERENT = 1
EXIT_BAD_INPUT = 2
PAGE = "/debug/compare"

_WORDS = {
    "missed_nodes": "nodes that the scheduler does not know",
    "redundant_nodes": "nodes that only the scheduler knows",
    "missed_pods": "pods that the scheduler does not know",
    "redundant_pods": "pods that only the scheduler knows",
    "misplaced_pods": "pods that the scheduler has on another node",
}


def run(options: argparse.Namespace) -> int:
    """Exit code 0 when nothing differs, 1 when something does, 2 when it could not be asked."""
    if options.pid is not None:
        return _signal(options.pid)
    try:
        body = ask(options, PAGE, setting="serving.debug: true")
        found = msgspec.json.decode(body, type=Comparison)
    except (OSError, ValueError) as error:
        print(f"reprise debug compare: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    print(body.decode() if options.output == "json" else _text(found))
    return 0 if found.is_same else EXIT_DIFFERENT


def _signal(pid: int) -> int:
    try:
        os.kill(pid, signal.SIGUSR2)
    except OSError as error:
        print(f"reprise debug compare: process {pid} cannot be sent SIGUSR2: {error.strerror}", file=sys.stderr)
        return EXIT_BAD_INPUT
    print(f"process {pid} writes the comparison to its log: look for `cache compared` and `cache mismatch`")
    return 0


def _text(found: Comparison) -> str:
    lines = [f"{found.nodes} nodes and {found.pods} pods listed"]
    for name, texts in found.differences().items():
        lines += [f"{len(texts)} {_WORDS[name]}:", *(f"  {text}" for text in texts)]
    if found.left_out:
        lines += [f"{len(found.left_out)} left out because they cannot be understood:"]
        lines += [f"  {text}" for text in found.left_out]
    if found.is_same:
        lines.append("what the scheduler knows is what there is")
    return "\n".join(lines)
