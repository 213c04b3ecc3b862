"""When each pod was bound and when its Event was there, as the API server's own watches tell: no contestant is asked."""

from __future__ import annotations

import threading
from collections.abc import Collection
from contextlib import ExitStack
from typing import Self

import msgspec

from bench.stream import Stream
from tests.support.control_plane import ControlPlane
from tests.support.resources import EVENTS, PODS


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str
    uid: str = ""


class _PodSpec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _PodSpec


class _PodLine(msgspec.Struct):
    """A watch event that has no such object, as ERROR has none, cannot be decoded: that ends the watch, and the run."""

    object: _Pod


class _Regarding(msgspec.Struct):
    uid: str = ""


class _Event(msgspec.Struct):
    metadata: _Metadata
    regarding: _Regarding


class _EventLine(msgspec.Struct):
    object: _Event


_POD_LINE = msgspec.json.Decoder(_PodLine)
_EVENT_LINE = msgspec.json.Decoder(_EventLine)


class ObserverError(Exception):
    """A watch ended, so what it would have told is not known."""


class Record:
    """What was seen of some pods. All times are of the monotonic clock, in seconds; 0 is never."""

    def __init__(self, uids: Collection[str]) -> None:
        self.nodes: dict[str, list[str]] = {}
        """By uid, the nodes that the pod was seen on, one after the other; only pods that were seen on one."""
        self.told: set[str] = set()
        """Pods with a Scheduled Event."""
        self.first_bind_at = self.last_bind_at = self.last_event_at = 0.0
        self._uids = frozenset(uids)

    @property
    def bound_twice(self) -> int:
        """Pods that were seen on more than one node."""
        return sum(len(nodes) > 1 for nodes in self.nodes.values())

    def saw(self, uid: str, node: str, at: float) -> None:
        """A pod was seen on a node, or on none."""
        if not node or uid not in self._uids:
            return
        nodes = self.nodes.setdefault(uid, [])
        if node in nodes[-1:]:
            return
        nodes.append(node)
        if len(nodes) == 1:
            self.first_bind_at = self.first_bind_at or at
            self.last_bind_at = at

    def take_pods(self, lines: list[bytes], at: float) -> str:
        """Lines of a watch of pods, DELETED ones included: their last state counts like any other. Returns the last version."""
        version = ""
        for line in lines:
            pod = _POD_LINE.decode(line).object
            self.saw(pod.metadata.uid, pod.spec.node_name, at)
            version = pod.metadata.resource_version
        return version

    def take_events(self, lines: list[bytes], at: float) -> str:
        """Lines of a watch of Scheduled Events. Returns the last version."""
        version = ""
        for line in lines:
            event = _EVENT_LINE.decode(line).object
            uid, version = event.regarding.uid, event.metadata.resource_version
            if uid in self._uids and uid not in self.told:
                self.told.add(uid)
                self.last_event_at = at
        return version


class Observer:
    """Keeps a Record up to date from two watches; use it in a `with`."""

    def __init__(self, control_plane: ControlPlane, uids: Collection[str]) -> None:
        self.record = Record(uids)
        self._changed = threading.Condition()
        with ExitStack() as stack:
            self._streams = [
                stack.enter_context(Stream(control_plane, PODS, "spec.nodeName!=", self._take_pods)),
                stack.enter_context(Stream(control_plane, EVENTS, "reason=Scheduled", self._take_events)),
            ]
            self._stack = stack.pop_all()

    def wait(self, seconds: float) -> tuple[int, int]:
        """Wait until anything was seen, at most so long: how many pods were bound, and how many have an Event.

        Raises:
            ObserverError: a watch has ended.
        """
        with self._changed:
            self._changed.wait(seconds)
            for stream in self._streams:
                if stream.failure is not None:
                    raise ObserverError(f"a watch broke off: {stream.failure}") from stream.failure
            return len(self.record.nodes), len(self.record.told)

    def _take_pods(self, lines: list[bytes], at: float) -> str:
        with self._changed:
            version = self.record.take_pods(lines, at)
            self._changed.notify_all()
        return version

    def _take_events(self, lines: list[bytes], at: float) -> str:
        with self._changed:
            version = self.record.take_events(lines, at)
            self._changed.notify_all()
        return version

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
