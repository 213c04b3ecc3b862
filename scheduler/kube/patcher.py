"""Patches the objects that a pod needs before it can be bound, such as its claims and volumes.

kube-scheduler 1.37: VolumeBinding, BindPodVolumes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from scheduler.core.instruction import PatchObject
from scheduler.core.stimulus import ObjectPatched, ObjectPatchFailed, Stimulus
from scheduler.framework.binding import ObjectPatch
from scheduler.kube.checked_write import CheckedWrite, Found, Reading, WriteCounters
from scheduler.kube.timing import Timing
from scheduler.kube.transport import MERGE_PATCH, Response, Transport


class PatchedKind(NamedTuple):
    """Where objects of a kind are: the path of the API version, and what they are called there."""

    group: str
    version: str
    plural: str
    is_namespaced: bool


PATCHED_KINDS = {
    "PersistentVolume": PatchedKind("", "v1", "persistentvolumes", is_namespaced=False),
    "PersistentVolumeClaim": PatchedKind("", "v1", "persistentvolumeclaims", is_namespaced=True),
}
"""The kinds that plugins may patch in PreBind."""


def path_of(patch: ObjectPatch) -> str:
    kind = PATCHED_KINDS[patch.kind]
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    namespace = f"/namespaces/{patch.namespace}" if kind.is_namespaced else ""
    return f"{root}{namespace}/{kind.plural}/{patch.name}"


@dataclass(slots=True)
class PatcherCounters(WriteCounters):
    """What happened so far; for metrics."""

    written: int = 0


class _ReadMetadata(msgspec.Struct, frozen=True, rename="camel"):
    uid: str = ""
    resource_version: str = ""


class _ReadObject(msgspec.Struct, frozen=True):
    metadata: _ReadMetadata = _ReadMetadata()


_READ_OBJECT = msgspec.json.Decoder(_ReadObject)


class Patcher:
    """Makes a job of each patch; the job delivers ObjectPatched or ObjectPatchFailed, once."""

    def __init__(self, transport: Transport, deliver: Callable[[Stimulus], None], timing: Timing) -> None:
        self.transport = transport
        self.deliver = deliver
        self.timing = timing
        self.counters = PatcherCounters()
        self.reading = Reading(
            "Cannot read objects whose patch is in doubt; will retry",
            "Objects whose patch is in doubt can be read again",
        )

    def job(self, instruction: PatchObject) -> PatchJob:
        return PatchJob(self, instruction)


class PatchJob(CheckedWrite):
    """One patch, in the order of all that is written for its pod."""

    def __init__(self, patcher: Patcher, instruction: PatchObject) -> None:
        patch = instruction.patch
        super().__init__(
            patcher.transport,
            patcher.timing,
            patcher.counters,
            patcher.reading,
            key=instruction.pod.uid,
            path=path_of(patch),
            name=f"{patch.kind} {patch.namespace}/{patch.name}" if patch.namespace else f"{patch.kind} {patch.name}",
        )
        self._patcher = patcher
        self._number = instruction.number
        self._patch = patch
        metadata = {**patch.patch.get("metadata", {}), "uid": patch.uid}
        if patch.resource_version:
            metadata["resourceVersion"] = patch.resource_version
        self._body = msgspec.json.encode({**patch.patch, "metadata": metadata})

    def send(self) -> Awaitable[Response]:
        return self.transport.patch(self.path, self._body, MERGE_PATCH)

    def find(self, body: bytes) -> Found:
        metadata, patch = _READ_OBJECT.decode(body).metadata, self._patch
        if metadata.uid != patch.uid:
            return Found.OTHERWISE
        if _holds(msgspec.json.decode(body), patch.patch):
            return Found.WRITTEN
        has_changed = patch.resource_version not in ("", metadata.resource_version)
        return Found.OTHERWISE if has_changed else Found.UNWRITTEN

    def written(self, body: bytes) -> None:
        self.outcome = "written"
        self._patcher.counters.written += 1
        version = _READ_OBJECT.decode(body).metadata.resource_version
        now = self._patcher.timing.now()
        self._patcher.deliver(ObjectPatched(now=now, number=self._number, resource_version=version))

    def failed(self, message: str) -> None:
        self.outcome = "failed"
        now = self._patcher.timing.now()
        self._patcher.deliver(ObjectPatchFailed(now=now, number=self._number, error=message))


def _holds(document: Any, patch: Any) -> bool:
    """Whether a merge patch would change nothing of the document."""
    if not isinstance(patch, dict):
        return bool(document == patch)
    if not isinstance(document, dict):
        return False
    return all(
        (document.get(name) is None) if value is None else _holds(document.get(name), value)
        for name, value in patch.items()
    )
