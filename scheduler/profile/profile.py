"""Profile: the plugins that one schedulerName runs, an extension point at a time, in order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scheduler.cache.node_table import NodeTable
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.plugin import (
    BindingCyclePlugin,
    ClusterSignPlugin,
    EnqueueExtensions,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
    SignPlugin,
    Unsignable,
)
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.queueing_hint import Hint
from scheduler.framework.signature import Signature
from scheduler.framework.status import SUCCESS, Code, Status, check_status
from scheduler.profile.failure import PluginFailure, Stage
from scheduler.profile.observing import NOBODY, Observer

_ANYTHING = (
    ClusterEvent(EventResource.POD, ActionType.ALL),
    ClusterEvent(EventResource.NODE, ActionType.ALL),
    ClusterEvent(EventResource.DEVICE_CLASS, ActionType.ALL),
    ClusterEvent(EventResource.PERSISTENT_VOLUME, ActionType.ALL),
    ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ALL),
    ClusterEvent(EventResource.STORAGE_CLASS, ActionType.ALL),
    ClusterEvent(EventResource.CSI_NODE, ActionType.ALL),
    ClusterEvent(EventResource.CSI_DRIVER, ActionType.ALL),
    ClusterEvent(EventResource.CSI_STORAGE_CAPACITY, ActionType.ALL),
)


def _gives_hints(plugin: EnqueueExtensions) -> bool:
    """Whether the plugin looks at pods when it is asked."""
    return type(plugin).queueing_hint is not EnqueueExtensions.queueing_hint


@dataclass(frozen=True, kw_only=True)
class WeightedScore:
    plugin: ScorePlugin
    weight: int


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One profile of the configuration, ready to run. Plugins hold their arguments and no state of their own."""

    scheduler_name: str
    queue_sort: QueueSortPlugin
    pre_enqueue: tuple[PreEnqueuePlugin, ...] = ()
    pre_filter: tuple[PreFilterPlugin, ...] = ()
    filter: tuple[FilterPlugin, ...] = ()
    post_filter: tuple[PostFilterPlugin, ...] = ()
    pre_score: tuple[PreScorePlugin, ...] = ()
    score: tuple[WeightedScore, ...] = ()
    reserve: tuple[ReservePlugin, ...] = ()
    permit: tuple[PermitPlugin, ...] = ()
    pre_bind: tuple[PreBindPlugin, ...] = ()
    post_bind: tuple[PostBindPlugin, ...] = ()

    def run_pre_enqueue(self, pod: PodInfo, observer: Observer = NOBODY) -> Status:
        """The first plugin that keeps the pod out of the active queue, or success. A plugin that fails keeps it out too."""
        for plugin in self.pre_enqueue:
            try:
                status = observer.plugin(plugin.name, Stage.PRE_ENQUEUE, plugin.pre_enqueue)(pod)
                check_status(status)
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything, and must not stop the others' pods
                status = Status(Code.ERROR, (str(error),))
            if status.code is not Code.SUCCESS:
                return status._replace(plugin=plugin.name)
        return SUCCESS

    def sign(self, pod: PodInfo) -> tuple[Any, ...] | Unsignable:
        """The pod's signature: pods with equal ones get equal verdicts and scores on every node (KEP-5598).

        Fragments come from every plugin that takes part in filtering or scoring, each under its own name, so that none
        can overwrite another.

        Raises:
            PluginFailure: a plugin failed, or returned what cannot be hashed.
        """
        if unsigned := self.unsigned_plugin():
            return Unsignable(f"plugin {unsigned} does not sign pods")
        fragments: list[tuple[str, Any]] = [("schedulerName", self.scheduler_name)]
        for plugin in self._signing:
            try:
                fragment = plugin.sign(pod)
                frozenset((fragment,))  # what cannot be hashed fails here, where the plugin is known
            except Exception as error:
                raise PluginFailure(f'running Sign plugin "{plugin.name}": {error}', plugin.name, Stage.SIGN) from error
            if isinstance(fragment, Unsignable):
                return fragment
            fragments.append((plugin.name, fragment))
        return tuple(fragments)

    @cached_property
    def _signing(self) -> tuple[SignPlugin, ...]:
        return tuple(plugin for plugin in self.deciding_plugins() if isinstance(plugin, SignPlugin))

    @cached_property
    def _signing_names(self) -> frozenset[str]:
        return frozenset(plugin.name for plugin in self._signing)

    @cached_property
    def _cluster_sign(self) -> tuple[ClusterSignPlugin, ...]:
        return tuple(plugin for plugin in self.deciding_plugins() if isinstance(plugin, ClusterSignPlugin))

    def sign_cluster(self, pod: PodInfo, table: NodeTable) -> tuple[Any, ...]:
        """What other objects make of the pod now, as far as a plugin looks at them: a part of the key of its decision.

        Raises:
            PluginFailure: a plugin failed.
        """
        fragments = []
        for plugin in self._cluster_sign:
            try:
                fragment = plugin.sign_cluster(pod, table.columns(plugin))
                if fragment != ():
                    frozenset((fragment,))  # what cannot be hashed fails here, where the plugin is known
            except Exception as error:
                raise PluginFailure(f'running Sign plugin "{plugin.name}": {error}', plugin.name, Stage.SIGN) from error
            fragments.append(fragment)
        return tuple(fragments)

    def unsigned_plugin(self) -> str:
        """The name of a plugin that does not sign pods, so that no decision of this profile can be reused; "" if all do."""
        return self._unsigned

    @cached_property
    def _unsigned(self) -> str:
        return next((one.name for one in self.deciding_plugins() if not isinstance(one, SignPlugin)), "")

    def deciding_plugins(self) -> tuple[Plugin, ...]:
        """Plugins that take part in PreFilter, Filter, PreScore or Score, each once, in order."""
        return self._deciding

    @cached_property
    def _deciding(self) -> tuple[Plugin, ...]:
        found: dict[str, Plugin] = {}
        for plugin in (*self.pre_filter, *self.filter, *self.pre_score, *(scored.plugin for scored in self.score)):
            found.setdefault(plugin.name, plugin)
        return tuple(found.values())

    @cached_property
    def binding_plugins(self) -> tuple[BindingCyclePlugin, ...]:
        """Plugins that take part in Reserve, Permit, PreBind or PostBind, each once, in order."""
        found: dict[str, BindingCyclePlugin] = {}
        for plugin in (*self.reserve, *self.permit, *self.pre_bind, *self.post_bind):
            found.setdefault(plugin.name, plugin)
        return tuple(found.values())

    def taking_part(self, pod: PodInfo) -> tuple[BindingCyclePlugin, ...]:
        """The plugins of the binding cycle that may have something to do for the pod.

        Raises:
            PluginFailure: a plugin failed.
        """
        found: tuple[BindingCyclePlugin, ...] = ()  # and so it stays for nearly all pods
        for plugin in self.binding_plugins:
            try:
                if plugin.takes_part(pod):
                    found = (*found, plugin)
            except Exception as error:
                text = f'asking plugin "{plugin.name}" whether it takes part in binding: {error}'
                raise PluginFailure(text, plugin.name, Stage.RESERVE) from error
        return tuple(found)

    @cached_property
    def gates_preemptors(self) -> bool:
        """Whether a pod waits outside the active queue until its victims are deleted (kube-scheduler 1.37: DefaultPreemption)."""
        return any(isinstance(plugin, PostFilterPlugin) for plugin in self.pre_enqueue)

    def watched_kinds(self) -> tuple[str, ...]:
        """Kinds of objects that plugins read or wait for, beyond those that are always watched; sorted."""
        plugins = (*self.pre_enqueue, *self.deciding_plugins(), *self.post_filter, *self.binding_plugins)
        return tuple(sorted({kind for plugin in plugins for kind in plugin.watches}))

    def patched_kinds(self) -> tuple[str, ...]:
        """Kinds of objects that PreBind plugins write, sorted."""
        return tuple(sorted({kind for plugin in self.pre_bind for kind in plugin.patches}))

    def events_of(self, plugin_name: str) -> tuple[ClusterEvent, ...]:
        """What the named plugin registered for; nothing for one that is not of this profile.

        One that says nothing about it hears of everything (kube-scheduler 1.37: fillEventToPluginMap).
        """
        plugin = self.rejecting.get(plugin_name)
        if plugin is None:
            return ()
        return plugin.events_to_register() if isinstance(plugin, EnqueueExtensions) else _ANYTHING

    @cached_property
    def rejecting(self) -> dict[str, Plugin]:
        """The plugins that can reject a pod, or keep it out of the active queue, by name."""
        found: dict[str, Plugin] = {}
        for plugin in (*self.pre_enqueue, *self.pre_filter, *self.filter, *self.reserve, *self.permit):
            found.setdefault(plugin.name, plugin)
        return found

    def queueing_hint(
        self, plugin_name: str, pod: PodInfo, event: ClusterEvent, old: Any, new: Any, table: NodeTable
    ) -> Hint:
        """Whether the event, for which the named plugin registered, helps the pod.

        Raises:
            PluginFailure: the plugin failed, or did not answer with a Hint.
        """
        plugin = self.rejecting.get(plugin_name)
        if not isinstance(plugin, EnqueueExtensions):
            return Hint.QUEUE
        try:
            answer = plugin.queueing_hint(pod, event, old, new, table.columns(plugin))
            if not isinstance(answer, Hint):
                raise TypeError(f"{answer!r} is not a Hint: return Hint.QUEUE or Hint.SKIP")
        except Exception as error:
            text = f'asking plugin "{plugin_name}" whether {event.label} helps: {error}'
            raise PluginFailure(text, plugin_name, Stage.QUEUEING_HINT) from error
        return answer

    def likeness(self, pod: PodInfo, signature: Signature | None, plugin_names: Iterable[str]) -> Hashable:
        """Pods of which this is equal get equal hints from these plugins, save for changes of the pod itself.

        ``signature``: the pod's part of its signature, if it has one.
        """
        parts: list[Hashable] = []
        for name in plugin_names:
            plugin = self.rejecting.get(name)
            if not isinstance(plugin, EnqueueExtensions) or not _gives_hints(plugin):
                continue
            try:
                # What has no signature may still be alike in what this one plugin signs it by.
                by = signature if name in self._signing_names else None
                signed = by or (plugin.sign(pod) if isinstance(plugin, SignPlugin) else Unsignable(""))
                if isinstance(signed, Unsignable):
                    return pod.uid
                part = (signed, plugin.hint_key(pod))
                frozenset((part,))  # what cannot be hashed fails here
                parts.append(part)
            except Exception:  # noqa: BLE001 - it will say so when it is asked for a hint; until then no pod answers for another
                return pod.uid
        return tuple(parts)
