"""What a parked pod costs a scheduler in memory: each in turn on a fresh cluster of the real API server."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import msgspec

from bench import contestants, workload
from bench.process_meter import resident_bytes
from tests.support.control_plane import ControlPlane
from tests.support.resources import PODS, Object

NAMES = ("reprise", "default")
NODES = 100
SHAPES = 100
SETTLED_SECONDS = 10.0
"""Between what was last seen to happen and the look at a scheduler's memory."""

_POLL_SECONDS = 5.0
_PATIENCE_SECONDS = 900.0


class ParkingError(Exception):
    """A scheduler did not park all pods."""


class ParkedMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Resident memory of a scheduler without any pod and with so many parked ones.

    ``parked_seconds``: from the first pod's creation until the last was told that it fits nowhere.
    """

    contestant: str
    pods: int
    before_bytes: int
    after_bytes: int
    parked_seconds: float

    @property
    def bytes_a_pod(self) -> float:
        return (self.after_bytes - self.before_bytes) / self.pods


def measure(control_plane: ControlPlane, name: str, pods: int) -> ParkedMemory:
    """Start the scheduler, give it pods that fit nowhere, and wait until each has been told so.

    Raises:
        DaemonError: it did not start.
        ParkingError: it has not told all pods in time.
    """
    control_plane.reset()
    admin = control_plane.client()
    admin.create_all(workload.nodes(NODES))
    contestant = contestants.make(name, control_plane)
    pause = threading.Event()  # never set: to wait needs an interval
    try:
        contestant.start()
        pause.wait(SETTLED_SECONDS)
        before = resident_bytes(contestant.daemon.pid)
        began = time.monotonic()
        admin.create_all(_pods(pods, contestants.scheduler_name(name)))
        while (told := _told(admin.list_objects(PODS, workload.NAMESPACE))) < pods:
            if time.monotonic() - began > _PATIENCE_SECONDS or not contestant.daemon.running:
                raise ParkingError(f"{name} has parked {told} of {pods} pods\n{contestant.daemon.tail()}")
            pause.wait(_POLL_SECONDS)
        parked_seconds = time.monotonic() - began
        pause.wait(SETTLED_SECONDS)
        after = resident_bytes(contestant.daemon.pid)
    finally:
        contestant.stop()
    return ParkedMemory(
        contestant=name, pods=pods, before_bytes=before, after_bytes=after, parked_seconds=round(parked_seconds, 1)
    )


def _pods(count: int, scheduler_name: str) -> Iterator[Object]:
    """Of as many shapes as ``reprise bench queue`` has: half of them wait for a label, the others for a resource of a node."""
    for index, pod in enumerate(workload.pods(count, scheduler_name)):
        shape = f"shape-{index * SHAPES // count:04}"
        pod["metadata"]["labels"] = {"app": shape}
        if int(shape[-4:]) % 2:
            # All pods of the workload share one container.
            [container] = pod["spec"]["containers"]
            amounts = {**container["resources"]["requests"], f"example.com/{shape}": "1"}
            pod["spec"]["containers"] = [{**container, "resources": {"requests": amounts, "limits": amounts}}]
        else:
            pod["spec"]["nodeSelector"] = {f"example.com/{shape}": "yes"}
        yield pod


def _told(pods: list[Object]) -> int:
    """How many have been told that they fit nowhere."""
    return sum(
        any(condition["type"] == "PodScheduled" and condition["status"] == "False" for condition in conditions)
        for pod in pods
        if (conditions := pod["status"].get("conditions") or [])
    )
