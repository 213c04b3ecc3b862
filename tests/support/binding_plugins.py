"""Plugins of the binding cycle that answer what a test tells them to, and write down what they are asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from scheduler.framework.binding import (
    Handle,
    ObjectPatch,
    PatchAnswer,
    PermitAnswer,
    PreBindDone,
    PreBindStep,
    PreFlight,
)
from scheduler.framework.plugin import CycleState, PermitPlugin, PostBindPlugin, PreBindPlugin, ReservePlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SKIP, SUCCESS, Status

NO_WORK = PreFlight(SKIP)
DONE = PreBindDone()


class Asked(NamedTuple):
    """One call of a plugin; ``notes`` is what the plugin had noted for the binding before it."""

    point: str
    plugin: str
    pod: str
    node: str
    now: float
    answers: tuple[PatchAnswer, ...] = ()

    def __str__(self) -> str:
        return f"{self.point} {self.plugin}"


class Scripted(ReservePlugin, PermitPlugin, PreBindPlugin, PostBindPlugin):
    """At all points. ``does`` has a function of the pod and the Handle by point, called before the plugin answers.

    Attributes:
        steps: what ``pre_bind`` answers, one after the other for each binding; with any, the pre-flight is a SUCCESS.
        raises: points at which the plugin raises ``RuntimeError("boom")``.
    """

    name = "Scripted"
    diary: list[Asked]
    reserved: Status = SUCCESS
    permitted: PermitAnswer = PermitAnswer()
    flight: PreFlight | None = None
    steps: tuple[PreBindStep, ...] = ()
    raises: tuple[str, ...] = ()
    patches: ClassVar[tuple[str, ...]] = ("PersistentVolumeClaim",)
    does: Mapping[str, Callable[[PodInfo, Handle], object]]
    only: str = ""
    """The one pod, by name, in which the plugin takes part; "" for all."""

    def takes_part(self, pod: PodInfo) -> bool:
        if "takes_part" in self.raises:
            raise RuntimeError("boom")
        return self.only in ("", pod.pod.metadata.name)

    def _asked(
        self, point: str, pod: PodInfo, node_name: str, handle: Handle, answers: tuple[PatchAnswer, ...] = ()
    ) -> None:
        self.diary.append(Asked(point, self.name, pod.pod.metadata.name, node_name, handle.now, answers))
        if point in self.does:
            self.does[point](pod, handle)
        if point in self.raises:
            raise RuntimeError("boom")

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str, handle: Handle) -> Status:
        self._asked("reserve", pod, node_name, handle)
        return self.reserved

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str, handle: Handle) -> None:
        self._asked("unreserve", pod, node_name, handle)

    def permit(self, state: CycleState, pod: PodInfo, node_name: str, handle: Handle) -> PermitAnswer:
        self._asked("permit", pod, node_name, handle)
        return self.permitted

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str, handle: Handle) -> PreFlight:
        self._asked("pre_flight", pod, node_name, handle)
        if self.flight is not None:
            return self.flight
        return PreFlight() if self.steps else NO_WORK

    def pre_bind(
        self, state: CycleState, pod: PodInfo, node_name: str, handle: Handle, answers: tuple[PatchAnswer, ...]
    ) -> PreBindStep:
        self._asked("pre_bind", pod, node_name, handle, answers)
        number: int = state.get("steps", 0)
        state["steps"] = number + 1
        return self.steps[number]

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str, handle: Handle) -> None:
        self._asked("post_bind", pod, node_name, handle)


def scripted(name: str, diary: list[Asked], **answers: Any) -> Any:
    """A plugin of this name; attributes of Scripted by name."""
    return type(name, (Scripted,), {"name": name, "diary": diary, "does": {}, **answers})()


def claim_patch(name: str = "data", node: str = "n1") -> ObjectPatch:
    """What tells a provisioner the node of a claim's first consumer."""
    annotations = {"volume.kubernetes.io/selected-node": node}
    return ObjectPatch(
        kind="PersistentVolumeClaim",
        namespace="default",
        name=name,
        uid=f"{name}-uid",
        resource_version="5",
        patch={"metadata": {"annotations": annotations}},
    )
