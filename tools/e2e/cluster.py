"""A cluster as its administrator sees it: through kubectl and helm, as a user would."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Object = dict[str, Any]

LOOK_SECONDS = 0.5
COMMAND_SECONDS = 180.0


class CheckFailure(Exception):
    """Something in the cluster is not as it has to be; the message says what."""


@dataclass(frozen=True)
class Cluster:
    """One cluster, and the programs to speak to it with."""

    kubeconfig: Path
    kubectl_program: Path
    helm_program: Path

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """What kubectl prints.

        Raises:
            CheckFailure: it failed.
        """
        return _run([str(self.kubectl_program), f"--kubeconfig={self.kubeconfig}", *arguments], stdin=stdin)

    def helm(self, *arguments: str) -> str:
        """What helm prints, on both of its outputs.

        Raises:
            CheckFailure: it failed.
        """
        return _run([str(self.helm_program), f"--kubeconfig={self.kubeconfig}", *arguments])

    def apply(self, *documents: Mapping[str, Any]) -> None:
        """Create or change objects."""
        if documents:
            items = {"apiVersion": "v1", "kind": "List", "items": list(documents)}
            self.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(items))

    def create(self, *documents: Mapping[str, Any]) -> None:
        """Create objects, with the status that they name: a node's is taken only so."""
        items = {"apiVersion": "v1", "kind": "List", "items": list(documents)}
        self.kubectl("create", "-f", "-", stdin=json.dumps(items))

    def delete(self, *documents: Mapping[str, Any]) -> None:
        """Delete objects and wait until they are gone."""
        items = {"apiVersion": "v1", "kind": "List", "items": list(documents)}
        self.kubectl("delete", "--ignore-not-found", "--timeout=120s", "-f", "-", stdin=json.dumps(items))

    def get(self, kind: str, name: str, *, namespace: str = "default") -> Object | None:
        """One object, or nothing when it is not there."""
        text = self.kubectl("get", kind, name, f"--namespace={namespace}", "--ignore-not-found", "-o", "json")
        return json.loads(text) if text else None

    def all(self, kinds: str, *, namespace: str | None = None, selector: str = "", fields: str = "") -> list[Object]:
        """All objects of some kinds, of one namespace or of all."""
        where = "--all-namespaces" if namespace is None else f"--namespace={namespace}"
        chosen = [f"--selector={selector}", f"--field-selector={fields}"]
        items: list[Object] = json.loads(self.kubectl("get", kinds, where, *chosen, "-o", "json"))["items"]
        return items


def wait_until(what: str, reached: Callable[[], bool], *, seconds: float) -> float:
    """Look until it is so; returns the seconds that took.

    Raises:
        CheckFailure: it was not so in time.
    """
    began = time.monotonic()
    while not reached():
        if time.monotonic() - began > seconds:
            raise CheckFailure(f"after {seconds:.0f} s it is still not so: {what}")
        time.sleep(LOOK_SECONDS)
    return time.monotonic() - began


def require(condition: bool, problem: str) -> None:
    """Fail the check with `problem` unless the condition holds.

    Raises:
        CheckFailure: it does not.
    """
    if not condition:
        raise CheckFailure(problem)


def _run(command: Sequence[str], *, stdin: str | None = None) -> str:
    # Nothing that the user's own environment says about another cluster may come in between.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HELM_", "KUBE"))}
    try:
        done = subprocess.run(
            command,
            input=stdin or "",
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            timeout=COMMAND_SECONDS,
        )
    except subprocess.TimeoutExpired as timeout:
        raise CheckFailure(f"{_words(command)} took more than {COMMAND_SECONDS:.0f} s") from timeout
    if done.returncode:
        raise CheckFailure(
            f"{_words(command)} failed with code {done.returncode}: {(done.stderr or done.stdout).strip()}"
        )
    return done.stdout + (done.stderr if Path(command[0]).name == "helm" else "")


def _words(command: Sequence[str]) -> str:
    return " ".join([Path(command[0]).name, *(word for word in command[1:] if not word.startswith("--kubeconfig="))])
