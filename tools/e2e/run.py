"""One run of the checks: what they share, how each is told about, and what a failure shows."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tools.e2e.cluster import CheckFailure, Cluster

NAMESPACE = "reprise-e2e"  # of the release
RELEASE = "reprise"
WORK = "reprise-e2e-work"  # the namespace of everything that is scheduled
SCHEDULER = "reprise"
RESOURCE = "reprise-e2e"  # the SchedulerConfiguration that the release obeys
LOG_LINES = 40


@dataclass
class Run:
    """What is checked, with what, and how it went."""

    cluster: Cluster
    chart: Path
    repository: str
    tag: str
    workload_image: str
    audit_log: Path | None = None
    failed: list[str] = field(default_factory=list)

    @property
    def user(self) -> str:
        """Who the scheduler is to the API server."""
        return f"system:serviceaccount:{NAMESPACE}:{RELEASE}"

    def check(self, name: str, function: Callable[["Run"], str]) -> bool:
        """Do one check and print its time and what it found; a failure prints what there is to see."""
        began = time.monotonic()
        try:
            found = function(self)
        except CheckFailure as failure:
            self.failed.append(name)
            _say(f"FAILED  {time.monotonic() - began:6.1f} s  {name}: {failure}")
            self._show_all()
            return False
        _say(f"ok      {time.monotonic() - began:6.1f} s  {name}{found and f': {found}'}")
        return True

    def scheduler_pods(self) -> list[str]:
        """The names of the scheduler's pods that are not going away."""
        selector = f"app.kubernetes.io/instance={RELEASE},app.kubernetes.io/component=scheduler"
        pods = self.cluster.all("pods", namespace=NAMESPACE, selector=selector)
        return sorted(pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"])

    def _show_all(self) -> None:
        self._show("--- the scheduler's pods", "describe", "pods", f"--namespace={NAMESPACE}")
        for pod in self._names(NAMESPACE):
            self._show(f"--- log of {pod}", "logs", pod, f"--namespace={NAMESPACE}", f"--tail={LOG_LINES}")
            self._show(
                "--- its log before", "logs", pod, f"--namespace={NAMESPACE}", f"--tail={LOG_LINES}", "--previous"
            )
        self._show(
            "--- pods", "get", "pods", "--all-namespaces", "-o", "wide", "--field-selector=status.phase!=Running"
        )
        unbound = "--field-selector=spec.nodeName=,status.phase=Pending"
        self._show("--- pods without a node", "describe", "pods", f"--namespace={WORK}", unbound)
        for namespace in (NAMESPACE, WORK):
            self._show("--- warnings", "get", "events", f"--namespace={namespace}", "--field-selector=type=Warning")

    def _names(self, namespace: str) -> list[str]:
        try:
            return self.cluster.kubectl("get", "pods", f"--namespace={namespace}", "-o", "name").split()
        except CheckFailure:
            return []

    def _show(self, heading: str, *arguments: str) -> None:
        try:
            lines = self.cluster.kubectl(*arguments).splitlines()
        except CheckFailure as failure:
            lines = [str(failure)] if "previous terminated" not in str(failure) else []
        if lines:
            _say("\n".join([heading, *lines[-2 * LOG_LINES :]]))


def _say(text: str) -> None:
    print(text, file=sys.stdout, flush=True)
