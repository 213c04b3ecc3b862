"""The state that the core owns: what the cluster looks like, who waits, and what is on its way to the API server."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from scheduler.api.objects import ObjectMeta, key_of
from scheduler.batch.options import BatchOptions
from scheduler.cache.cache import Cache
from scheduler.core.batching import Batching, Signer
from scheduler.core.binding_cycles import BindingCycle, BindingCycles
from scheduler.core.budgets import Budgets
from scheduler.core.changes import ASSIGNED_POD_DELETE
from scheduler.core.clock import Ticks
from scheduler.core.extenders import EXTENDER, EXTENDER_EVENTS, ExtenderFault, Extenders
from scheduler.core.generation import Generation, Reload
from scheduler.core.kubelet_rejections import COOLING, COOLING_EVENTS, KubeletRejection, KubeletRejections
from scheduler.core.measurements import Measurements
from scheduler.core.observing import EVERY, Observers
from scheduler.core.preemptions import Preemptions
from scheduler.core.unserved import Unserved
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.queueing_hint import Hint
from scheduler.framework.status import Code, Status
from scheduler.profile.failure import PluginFailure, Stage
from scheduler.profile.profile import Profile
from scheduler.queue.backoff import Backoff
from scheduler.queue.hearing import Hearing
from scheduler.queue.queued_pod import QueuedPod
from scheduler.queue.scheduling_queue import SchedulingQueue

if TYPE_CHECKING:
    from scheduler.core.extend_preemption import Consulting  # which work on a State
    from scheduler.core.extending import Extending

MISSING_RULE = "MissingRule"
"""Stands where a rejecting plugin stands, for pods that need a rule which is not there yet."""

_MISSING_RULE_EVENTS = (
    # Not on any update of the pod itself: the answer's own status patch comes back as one.
    ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_SCALE_DOWN),
    ClusterEvent(EventResource.DEVICE_CLASS, ActionType.ALL),
)
_OWN_EVENTS = {MISSING_RULE: _MISSING_RULE_EVENTS, COOLING: COOLING_EVENTS}
"""Of what stands where a rejecting plugin stands and is none."""


class Binding(msgspec.Struct):
    """A pod that was assumed on a node and whose bind has not been answered.

    ``latest`` is the pod as the watch last showed it, still without a node; None once it was deleted. ``seen`` is the
    table's position up to which the node is known to have room for the pod. ``cycle`` is there when plugins take part in
    the pod's binding cycle. ``profile`` is the one that the node was chosen under.
    """

    queued: QueuedPod
    node_name: str
    started: float
    latest: PodInfo | None
    seen: int
    cycle: BindingCycle | None = None
    profile: Profile | None = None


@dataclass(frozen=True, kw_only=True)
class BadObject:
    """An object that could not be understood, for the log."""

    kind: str
    key: str
    error: str


@dataclass(frozen=True, kw_only=True)
class PluginFault:
    """A plugin that failed, for the log: at which extension point, and for which pod."""

    plugin: str
    stage: str
    pod: str
    error: str


Complaint: TypeAlias = BadObject | PluginFault | ExtenderFault | KubeletRejection
"""What is wrong and shows in no decision."""


class State:
    """Everything that handlers and the cycle work on."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        cache: Cache,
        backoff: Backoff,
        batching: BatchOptions,
        chance: Callable[[], float],
        extenders: Extenders,
    ) -> None:
        self.profiles = profiles
        self.generation = 1
        self.offered: Generation | None = None
        """Built, and to be in force at the ConfigurationChanged that is to come."""
        self.reload = Reload(1)
        """What became of the last one."""
        self.cache = cache
        self.extenders = extenders
        self.extending: Extending | Consulting | None = None
        """The decision that waits for extenders; no other pod is decided on meanwhile."""
        self.bindings: dict[str, Binding] = {}
        self.binding_cycles = BindingCycles()
        self.ticks = Ticks()
        self.preemptions = Preemptions()
        self.unserved = Unserved()
        self.budgets = Budgets()
        self.chance = chance
        self.measurements = Measurements()
        self.observers = Observers(self.measurements)
        self._until_timed = 0
        """So many pods go through PreEnqueue until it is timed."""
        self._signer = Signer(profiles, self.plugin_failed, self.observers)
        sign = self._signer.sign
        self.kubelet_rejections = KubeletRejections(sign)
        self.complaints: list[Complaint] = []
        """New since the application last took them."""
        self._bad: dict[tuple[str, str], str] = {}
        self._failing: set[tuple[str, Stage]] = set()
        first = next(iter(profiles.values()))
        self.queue = SchedulingQueue(
            sort_key=first.queue_sort.sort_key,
            pre_enqueue=self._pre_enqueue,
            hearing=Hearing(self._events_of, self._hint, self._likeness, self._is_of_interest),
            backoff=backoff,
            sign=sign,
        )
        self.batching = Batching(
            profiles,
            cache,
            self.queue,
            batching,
            chance,
            self.plugin_failed,
            self.kubelet_rejections.cooling,
            observers=self.observers,
        )
        self._events: dict[tuple[str, str], tuple[ClusterEvent, ...]] = {}
        self._interest: dict[ClusterEvent, bool] = {}

    def take(self, offered: Generation, now: float) -> None:
        """Put a generation in the place of the one in force; who is in the queue stays where it is.

        Args:
            now: when, for those who look at the batch cache later.
        """
        before, after = (next(iter(profiles.values())).queue_sort for profiles in (self.profiles, offered.profiles))
        self.profiles = offered.profiles
        self.generation = offered.number
        self._signer.change(offered.profiles)
        self.kubelet_rejections.signed_anew(self._signer.counterpart)
        self._events.clear()
        self._interest.clear()
        self._failing.clear()
        # Plugins hold their arguments and nothing else.
        sorts_alike = type(before) is type(after) and vars(before) == vars(after)
        self.queue.change(sort_key=after.sort_key, sorts_alike=sorts_alike, backoff=offered.backoff)
        self.batching.change(offered.profiles, offered.batching, now)
        self.unserved.warn_for(offered.profiles if offered.typo_warnings else ())

    def plugin_failed(self, failure: PluginFailure, pod: PodInfo) -> None:
        """Count a failure that no cycle ends with. It is reported once for each plugin and extension point."""
        self.measurements.plugin_failures[failure.plugin] += 1
        if (failure.plugin, failure.stage) not in self._failing:
            self._failing.add((failure.plugin, failure.stage))
            fault = PluginFault(plugin=failure.plugin, stage=failure.stage.value, pod=pod.key, error=str(failure))
            self.complaints.append(fault)

    def profile_of(self, pod: PodInfo) -> Profile | None:
        return self.profiles.get(pod.pod.spec.scheduler_name)

    def tries(self, uid: str) -> bool:
        """Whether the pod waits here, is being decided on, or its bind is under way."""
        is_asked_about = self.extending is not None and self.extending.uid == uid
        return is_asked_about or uid in self.bindings or self.queue.get(uid) is not None

    def release_nomination(self, nominated: PodInfo, now: float) -> None:
        """The room that was kept for this pod on its nominated node is free for those who had to leave it."""
        # Among them the pod itself, as with kube-scheduler.
        self.queue.move_all(ASSIGNED_POD_DELETE, now, old=nominated, up_to_priority=nominated.priority)

    def report_bad(self, kind: str, metadata: ObjectMeta, error: str) -> None:
        """Count an object that cannot be understood. It is reported once for as long as the error stays the same."""
        self.measurements.bad_objects[kind] += 1
        key = key_of(metadata)
        if self._bad.get((kind, key)) != error:
            self._bad[kind, key] = error
            self.complaints.append(BadObject(kind=kind, key=key, error=error))

    @property
    def bad_objects(self) -> set[tuple[str, str]]:
        """Objects that cannot be understood, by kind and ``namespace/name``."""
        return set(self._bad)

    def report_good(self, kind: str, metadata: ObjectMeta) -> None:
        """The object can be understood now, or it is gone."""
        if self._bad:
            self._bad.pop((kind, key_of(metadata)), None)

    def _pre_enqueue(self, pod: PodInfo) -> Status:
        profile = self.profiles[pod.pod.spec.scheduler_name]
        status = self._run_pre_enqueue(profile, pod)
        if status.code is Code.ERROR:
            self.plugin_failed(PluginFailure(", ".join(status.reasons), status.plugin, Stage.PRE_ENQUEUE), pod)
        if self.preemptions.running and status.code is Code.SUCCESS and profile.gates_preemptors:
            return self.preemptions.gate(pod.uid, self.cache)
        return status

    def _run_pre_enqueue(self, profile: Profile, pod: PodInfo) -> Status:
        if self._until_timed:
            self._until_timed -= 1
            return profile.run_pre_enqueue(pod)
        self._until_timed = EVERY - 1
        observer = self.observers[profile.scheduler_name]
        with observer.timing():
            return observer.point(Stage.PRE_ENQUEUE, profile.run_pre_enqueue)(pod, observer)

    def _events_of(self, pod: PodInfo, plugin: str) -> tuple[ClusterEvent, ...]:
        if plugin == EXTENDER:
            return EXTENDER_EVENTS
        if plugin in _OWN_EVENTS:
            return _OWN_EVENTS[plugin]
        key = (pod.pod.spec.scheduler_name, plugin)
        if key not in self._events:
            profile = self.profile_of(pod)
            self._events[key] = () if profile is None else profile.events_of(plugin)
        return self._events[key]

    def _is_of_interest(self, event: ClusterEvent) -> bool:
        """Whether an event can help any pod at all."""
        found = self._interest.get(event)
        if found is None:
            registered = [each for events in _OWN_EVENTS.values() for each in events]
            registered += EXTENDER_EVENTS if self.extenders else ()
            for profile in self.profiles.values():
                for plugin in profile.rejecting:
                    registered += profile.events_of(plugin)
            found = self._interest[event] = event.is_wildcard or any(each.matches(event) for each in registered)
        return found

    def _hint(self, pod: PodInfo, plugin: str, event: ClusterEvent, old: Any, new: Any) -> Hint:
        """A plugin that fails is not believed: the pod is tried again (kube-scheduler 1.37: isPodWorthRequeuing)."""
        profile = self.profile_of(pod)
        if plugin in _OWN_EVENTS or profile is None:
            return Hint.QUEUE
        began = self.measurements.stopwatch()
        try:
            answer = profile.queueing_hint(plugin, pod, event, old, new, self.cache.table)
        except PluginFailure as failure:
            self.plugin_failed(failure, pod)
            answer, word = Hint.QUEUE, "Error"
        else:
            word = answer.value
        self.measurements.hint_answered(plugin, event.label, word, began)
        return answer

    def _likeness(self, queued: QueuedPod) -> Hashable:
        profile = self.profile_of(queued.pod)
        if profile is None:
            return queued.pod.uid
        return profile.likeness(queued.pod, self.queue.signature_of(queued), queued.unschedulable_plugins)
