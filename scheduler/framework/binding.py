"""What the plugins of the binding cycle are given and answer (kube-scheduler 1.37: Reserve, Permit, PreBind, PostBind).

They are pure like all others: time is in ``Handle.now``, writes are values, and what upstream waits for in a goroutine is a
step that says what it waits for and is asked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol, TypeAlias

import msgspec

from scheduler.api.objects import Node
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Status
from scheduler.framework.storage import AssumingStorage

LONGEST_WAIT_SECONDS = 15 * 60.0
"""Permit can ask for no longer wait than this (kube-scheduler 1.37: maxTimeout)."""


class ObjectKey(NamedTuple):
    """An object by its kind (``PersistentVolumeClaim``), namespace ("" when it has none) and name."""

    kind: str
    namespace: str
    name: str


class ObjectPatch(msgspec.Struct, frozen=True, kw_only=True):
    """A JSON merge patch of one object, as a plain value.

    Attributes:
        kind: one of the kinds that the plugin declares in ``patches``.
        namespace: "" when objects of the kind have none.
        uid: of the object that is meant; another one of the same name is left alone.
        resource_version: the state that the patch was made for: the API server refuses it when the object has changed since.
            "" patches whatever the object has become.
        patch: the fields to change; None takes a field away.
    """

    kind: str
    name: str
    uid: str
    patch: dict[str, Any]
    namespace: str = ""
    resource_version: str = ""

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.kind, self.namespace, self.name)


class PatchAnswer(NamedTuple):
    """How a patch ended: the object's new ``resource_version``, or the ``error`` of the API server."""

    resource_version: str = ""
    error: str = ""


class PreBindDone(NamedTuple):
    """Nothing is left to do before the pod is bound."""


class PreBindFailed(NamedTuple):
    """The pod is not bound; ``status`` is not a success. Unless it is a rejection it is told as an error of the plugin."""

    status: Status


class PreBindWrites(NamedTuple):
    """Objects to patch, one after the other, until one fails. PreBind is asked again with the answers, at most one for each.

    They are of the kinds that the plugin has in its ``patches``.
    """

    patches: tuple[ObjectPatch, ...]


class PreBindWaits(NamedTuple):
    """PreBind is asked again when one of the objects comes, changes or goes, and when ``Handle.now`` has reached the deadline.

    Objects are nodes, and those of the kinds of storage that the plugin has in its ``watches``.
    ``deadline``: seconds since the epoch; None for never.
    """

    objects: tuple[ObjectKey, ...]
    deadline: float | None = None


PreBindStep: TypeAlias = PreBindDone | PreBindFailed | PreBindWrites | PreBindWaits


class PreFlight(NamedTuple):
    """SUCCESS when PreBind has work for the pod, SKIP when it has none; nothing else but ERROR is an answer.

    ``allow_parallel``: PreBind may be under way together with that of the plugins before and after, if they allow it too.
    """

    status: Status = SUCCESS
    allow_parallel: bool = False


class PermitAnswer(NamedTuple):
    """SUCCESS, WAIT, a rejection or an error. ``timeout_seconds``: how long to wait until the pod is rejected, at most 15 minutes."""

    status: Status = SUCCESS
    timeout_seconds: float = 0.0


class WaitingPod(Protocol):
    """A pod that Permit has told to wait. What was said first, a rejection or the last missing permission, holds."""

    @property
    def pod(self) -> PodInfo: ...

    @property
    def node_name(self) -> str: ...

    @property
    def pending_plugins(self) -> tuple[str, ...]:
        """The plugins that have not allowed it yet, in the order in which they asked to wait."""
        ...

    def allow(self, plugin: str) -> None:
        """The plugin waits no longer; when none is left the pod goes on."""
        ...

    def reject(self, plugin: str, message: str) -> bool:
        """The pod is unschedulable; False when that comes too late."""
        ...


class Handle(Protocol):
    """What a plugin of the binding cycle may look at, and act on, besides its pod."""

    @property
    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def node(self, name: str) -> Node | None:
        """The node as the API server last showed it; None when there is none of this name."""
        ...

    @property
    def storage(self) -> AssumingStorage:
        """Claims, volumes and drivers. What is assumed of them here is seen by every later decision."""
        ...

    def activate(self, uids: Iterable[str]) -> None:
        """Let pods of these UIDs that wait for an event or a back-off be tried now (kube-scheduler 1.37: podsToActivate)."""
        ...

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        """None when the pod does not wait."""
        ...

    def waiting_pods(self) -> Iterator[WaitingPod]:
        """In the order in which they began to wait."""
        ...
