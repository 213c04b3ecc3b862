"""``reprise debug compare``: ask a running scheduler whether what it knows is what there is."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import msgspec

from scheduler.core.comparison import Comparison

EXIT_DIFFERENT = 1
EXIT_BAD_INPUT = 2
PAGE = "/debug/compare"
ANSWER_SECONDS = 120.0

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
        body = _ask(options.url)
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


def _ask(url: str) -> bytes:
    """The page's body.

    Raises:
        ValueError: the address is none, or the answer is not the page; the text says what to do.
        OSError: there is no answer.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError(f"--url {url}: expected an address such as http://127.0.0.1:10259")
    try:
        with urllib.request.urlopen(url.rstrip("/") + PAGE, timeout=ANSWER_SECONDS) as answer:  # noqa: S310 - checked
            body: bytes = answer.read()
            return body
    except urllib.error.HTTPError as error:
        if error.code == 404:
            raise ValueError(
                f"{url} has no page {PAGE}: it takes `serving.debug: true` in its configuration"
            ) from error
        said = error.read(1000).decode(errors="replace").strip()
        raise ValueError(f"{url}{PAGE} answers {error.code}: {said}") from error
    except urllib.error.URLError as error:
        raise OSError(f"{url} does not answer: {error.reason}") from error


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
