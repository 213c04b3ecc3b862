"""Profile: the plugins that one schedulerName runs, an extension point at a time, in order."""

from __future__ import annotations

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
from scheduler.framework.status import SUCCESS, Code, Status
from scheduler.profile.failure import PluginFailure, Stage

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
    pre_score: tuple[PreScorePlugin, ...] = ()
    score: tuple[WeightedScore, ...] = ()
    reserve: tuple[ReservePlugin, ...] = ()
    permit: tuple[PermitPlugin, ...] = ()
    pre_bind: tuple[PreBindPlugin, ...] = ()
    post_bind: tuple[PostBindPlugin, ...] = ()

    def run_pre_enqueue(self, pod: PodInfo) -> Status:
        """The first plugin that keeps the pod out of the active queue, or success. A plugin that fails keeps it out too."""
        for plugin in self.pre_enqueue:
            try:
                status = plugin.pre_enqueue(pod)
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

    def watched_kinds(self) -> tuple[str, ...]:
        """Kinds of storage objects that plugins read or wait for, sorted."""
        plugins = (*self.pre_enqueue, *self.deciding_plugins(), *self.binding_plugins)
        return tuple(sorted({kind for plugin in plugins for kind in plugin.watches}))

    def patched_kinds(self) -> tuple[str, ...]:
        """Kinds of objects that PreBind plugins write, sorted."""
        return tuple(sorted({kind for plugin in self.pre_bind for kind in plugin.patches}))

    def events_of(self, plugin_name: str) -> tuple[ClusterEvent, ...]:
        """What the named plugin registered for; nothing for one that is not of this profile.

        One that says nothing about it hears of everything (kube-scheduler 1.37: fillEventToPluginMap).
        """
        for plugin in (*self.pre_enqueue, *self.pre_filter, *self.filter, *self.reserve, *self.permit):
            if plugin.name == plugin_name:
                return plugin.events_to_register() if isinstance(plugin, EnqueueExtensions) else _ANYTHING
        return ()
