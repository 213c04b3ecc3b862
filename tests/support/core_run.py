"""A core to play with: short names for what happens to it, and where it has each pod."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from scheduler.api.objects import Node, Pod
from scheduler.batch.options import BatchOptions
from scheduler.config.configuration import from_object
from scheduler.core.cycle import CycleResult
from scheduler.core.instruction import Instruction, PodReference
from scheduler.core.scheduler import Scheduler
from scheduler.core.stimulus import (
    BindFailed,
    NodeApplied,
    NodeDeleted,
    ObjectPatched,
    ObjectPatchFailed,
    PodApplied,
    PodBound,
    PodDeleted,
    PodRead,
    Tick,
)
from scheduler.framework.plugin import PostFilterPlugin
from scheduler.profile.profile import Profile
from scheduler.queue.backoff import Backoff

BINDING = "binding"
ON_NODE = "on node"


def default_profiles(configuration: dict[str, Any] | None = None) -> dict[str, Profile]:
    """The profiles of a KubeSchedulerConfiguration.

    Without one it is the default profile but for preemption, which has something to say of every failure: see
    ``tests.support.preemption``.
    """
    profiles: dict[str, Profile] = {one.scheduler_name: one for one in from_object(configuration).profiles}
    if configuration is not None:
        return profiles
    return {name: without_preemption(profile) for name, profile in profiles.items()}


def without_preemption(profile: Profile) -> Profile:
    gates = tuple(plugin for plugin in profile.pre_enqueue if not isinstance(plugin, PostFilterPlugin))
    return replace(profile, pre_enqueue=gates, post_filter=())


class Core:
    """A scheduler at a time that the test says. ``rooms`` tells where it has a pod."""

    def __init__(
        self, profiles: Iterable[Profile] | None = None, seed: int = 1, batching: BatchOptions | None = None
    ) -> None:
        made = default_profiles() if profiles is None else {profile.scheduler_name: profile for profile in profiles}
        self.scheduler = Scheduler(made, seed=seed, backoff=Backoff(), batching=batching or BatchOptions())
        self.state = self.scheduler.state

    def nodes(self, *nodes: Node, at: float = 0.0) -> list[Instruction]:
        return [done for node in nodes for done in self.scheduler.handle(NodeApplied(now=at, node=node))]

    def node_gone(self, name: str, *, uid: str | None = None, at: float = 0.0) -> list[Instruction]:
        return self.scheduler.handle(NodeDeleted(now=at, name=name, uid=f"{name}-uid" if uid is None else uid))

    def pods(self, *pods: Pod, at: float = 0.0) -> list[Instruction]:
        return [done for pod in pods for done in self.scheduler.handle(PodApplied(now=at, pod=pod))]

    def pod_gone(self, pod: Pod, *, at: float = 0.0) -> list[Instruction]:
        metadata = pod.metadata
        return self.scheduler.handle(
            PodDeleted(now=at, namespace=metadata.namespace, name=metadata.name, uid=metadata.uid)
        )

    def bound(self, pod: Pod, node: str, *, at: float = 0.0) -> list[Instruction]:
        return self.scheduler.handle(PodBound(now=at, uid=pod.metadata.uid, node_name=node))

    def bind_failed(self, pod: Pod, node: str, error: str = "refused", *, at: float = 0.0) -> list[Instruction]:
        return self.scheduler.handle(BindFailed(now=at, uid=pod.metadata.uid, node_name=node, error=error))

    def patched(self, number: int, version: str = "6", *, at: float = 0.0) -> list[Instruction]:
        return self.scheduler.handle(ObjectPatched(now=at, number=number, resource_version=version))

    def patch_failed(self, number: int, error: str = "refused", *, at: float = 0.0) -> list[Instruction]:
        return self.scheduler.handle(ObjectPatchFailed(now=at, number=number, error=error))

    def pod_read(self, pod: Pod, phase: str = "", reason: str = "", *, at: float = 0.0) -> list[Instruction]:
        found = PodRead(now=at, uid=pod.metadata.uid, phase=phase, reason=reason, message="kubelet's words")
        return self.scheduler.handle(found)

    def tick(self, at: float) -> list[Instruction]:
        return self.scheduler.handle(Tick(now=at))

    def decide(self, at: float = 0.0) -> CycleResult:
        """One decision; somebody has to wait for it."""
        result = self.scheduler.schedule_one(at)
        assert result is not None
        return result

    def rooms(self, pod: Pod) -> list[str]:
        """Every place where the core has the pod: rooms of the queue, "binding", "on node" (assumed ones too)."""
        uid = pod.metadata.uid
        queued = self.state.queue.get(uid)
        found = [] if queued is None else [str(queued.room)]
        found += [BINDING] if uid in self.state.bindings else []
        found += [ON_NODE] if self.state.cache.pod(uid) is not None else []
        return found

    def validate(self) -> None:
        """The books agree at the end of a story: nobody waits twice, and only what is being tried keeps events."""
        state = self.state
        state.cache.validate()
        waiting = [queued.pod.uid for queued in state.queue.waiting()]
        assert sum(state.queue.counts().values()) == len(waiting)
        assert state.bindings.keys().isdisjoint(waiting)
        cycles = state.binding_cycles.before_bind
        assert cycles.keys() <= state.bindings.keys()
        tried = {uid for uid, cycle in cycles.items() if cycle.wait is not None}
        tried |= set() if state.extending is None else {state.extending.uid}
        in_flight = state.queue._in_flight
        assert set(in_flight._started) == tried
        assert tried or not in_flight.event_count
        assert not tried.intersection(waiting)


def changed(pod: Pod, *, version: str = "", metadata: dict[str, Any] | None = None, **spec: Any) -> Pod:
    """A later state of the pod."""
    fields = {"resource_version": version, **(metadata or {})}
    return msgspec.structs.replace(
        pod,
        metadata=msgspec.structs.replace(pod.metadata, **fields),
        spec=msgspec.structs.replace(pod.spec, **spec),
    )


def on_node(pod: Pod, node: str, *, version: str = "bound") -> Pod:
    """The pod as the watch shows it once it is bound."""
    return changed(pod, version=version, node_name=node)


def reference(pod: Pod) -> PodReference:
    metadata = pod.metadata
    return PodReference(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )
