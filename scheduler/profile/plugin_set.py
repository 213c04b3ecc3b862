"""Which plugins run where: the user's choices merged into the default set, and that expanded to each extension point.

Both steps follow kube-scheduler 1.37 (config/v1 mergePlugins; framework/runtime expandMultiPointPlugins) to the order of the
result. Everything that is wrong is reported, in upstream's words; what is wrong is left out and the rest goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, cast

from scheduler.framework.plugin import (
    MAX_NODE_SCORE,
    BindPlugin,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PodGroupPostFilterPlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)
from scheduler.profile.profile import Profile, WeightedScore

MULTI_POINT = "multiPoint"
ALL = "*"
HIGHEST_TOTAL = 2**31
"""Totals must stay below this on either side of zero: selection packs a total and a 31-bit key into one int64."""

ReportError: TypeAlias = Callable[[str], None]


class ExtensionPoint(NamedTuple):
    """A key of ``plugins``, upstream's name for what it lists, and the class that a plugin inherits to extend it."""

    key: str
    interface: str
    extended_by: type[Plugin] | None


EXTENSION_POINTS = (
    ExtensionPoint("preEnqueue", "PreEnqueuePlugin", PreEnqueuePlugin),
    ExtensionPoint("queueSort", "QueueSortPlugin", QueueSortPlugin),
    ExtensionPoint("preFilter", "PreFilterPlugin", PreFilterPlugin),
    ExtensionPoint("filter", "FilterPlugin", FilterPlugin),
    ExtensionPoint("postFilter", "PostFilterPlugin", PostFilterPlugin),
    ExtensionPoint("preScore", "PreScorePlugin", PreScorePlugin),
    ExtensionPoint("score", "ScorePlugin", ScorePlugin),
    ExtensionPoint("reserve", "ReservePlugin", ReservePlugin),
    ExtensionPoint("permit", "PermitPlugin", PermitPlugin),
    ExtensionPoint("preBind", "PreBindPlugin", PreBindPlugin),
    ExtensionPoint("bind", "BindPlugin", BindPlugin),
    ExtensionPoint("postBind", "PostBindPlugin", PostBindPlugin),
    ExtensionPoint("placementGenerate", "PlacementGeneratePlugin", None),
    ExtensionPoint("placementScore", "PlacementScorePlugin", None),
    ExtensionPoint("podGroupPostFilter", "PodGroupPostFilterPlugin", PodGroupPostFilterPlugin),
)


class Enabled(NamedTuple):
    """A plugin that is switched on. Weight 0 is 1. ``path``: where the user wrote it, "" for a default."""

    name: str
    weight: int = 0
    path: str = ""


class Selection(NamedTuple):
    """What is enabled, in order, and disabled at one extension point or at ``multiPoint``."""

    enabled: tuple[Enabled, ...] = ()
    disabled: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PluginSet:
    """Plugins by the key of their extension point, in the order they run, and the weights of those that score."""

    points: Mapping[str, tuple[Plugin, ...]]
    weights: Mapping[str, int]

    def names(self, point: str) -> tuple[str, ...]:
        return tuple(plugin.name for plugin in self.points[point])

    def profile(self, scheduler_name: str) -> Profile:
        """The set as something that runs."""
        points = self.points
        (queue_sort,) = cast(tuple[QueueSortPlugin, ...], points["queueSort"])
        return Profile(
            scheduler_name=scheduler_name,
            queue_sort=queue_sort,
            pre_enqueue=cast(tuple[PreEnqueuePlugin, ...], points["preEnqueue"]),
            pre_filter=cast(tuple[PreFilterPlugin, ...], points["preFilter"]),
            filter=cast(tuple[FilterPlugin, ...], points["filter"]),
            post_filter=cast(tuple[PostFilterPlugin, ...], points["postFilter"]),
            pre_score=cast(tuple[PreScorePlugin, ...], points["preScore"]),
            score=tuple(
                WeightedScore(plugin=plugin, weight=self.weights[plugin.name])
                for plugin in cast(tuple[ScorePlugin, ...], points["score"])
            ),
            reserve=cast(tuple[ReservePlugin, ...], points["reserve"]),
            permit=cast(tuple[PermitPlugin, ...], points["permit"]),
            pre_bind=cast(tuple[PreBindPlugin, ...], points["preBind"]),
            post_bind=cast(tuple[PostBindPlugin, ...], points["postBind"]),
        )


def merge(defaults: Selection, chosen: Selection) -> Selection:
    """The user's choice at one key merged into the defaults there.

    A default that is enabled again keeps its place and takes the new weight, unless it is disabled too: then it moves to
    the end. Of a name enabled twice the last one takes the place; expansion reports the other.
    """
    disabled = (*chosen.disabled, *defaults.disabled)
    last = {one.name: index for index, one in enumerate(chosen.enabled)}
    enabled: list[Enabled] = []
    in_place: set[int] = set()
    for default in defaults.enabled if ALL not in disabled else ():
        if default.name in disabled:
            continue
        index = last.get(default.name)
        if index is None:
            enabled.append(default)
        else:
            enabled.append(chosen.enabled[index])
            in_place.add(index)
    enabled.extend(one for index, one in enumerate(chosen.enabled) if index not in in_place)
    return Selection(tuple(enabled), disabled)


def expand(
    selections: Mapping[str, Selection], plugins: Mapping[str, Plugin], path: str, error: ReportError
) -> PluginSet:
    """The plugins of each extension point.

    Args:
        selections: by key, ``multiPoint`` among them and already merged with the defaults.
        plugins: an instance for each name that is enabled somewhere; a name without one is passed over.
        path: of the ``plugins`` object, for errors that no single entry causes.
        error: is told what is wrong, as ``path: message``.
    """
    multi_point = selections.get(MULTI_POINT, Selection()).enabled
    points: dict[str, tuple[Plugin, ...]] = {}
    reported: set[str] = set()
    for point in EXTENSION_POINTS:
        selection = selections.get(point.key, Selection())
        explicit = _explicit(point, selection.enabled, plugins, error)
        if ALL in selection.disabled:
            points[point.key] = tuple(explicit.values())
            continue
        overriding: set[str] = set()
        expanded: dict[str, Plugin] = {}
        for entry in multi_point:
            plugin = plugins.get(entry.name)
            if plugin is None or not _extends(plugin, point) or entry.name in selection.disabled:
                continue
            if entry.name in explicit:
                overriding.add(entry.name)
            elif entry.name in expanded:
                if entry.path not in reported:
                    error(_registered_twice(entry, point))
                reported.add(entry.path)
            else:
                expanded[entry.name] = plugin
        points[point.key] = (
            *(plugin for name, plugin in explicit.items() if name in overriding),
            *expanded.values(),
            *(plugin for name, plugin in explicit.items() if name not in overriding),
        )
    scored = (*selections.get("score", Selection()).enabled, *multi_point)
    weights = _weights(scored, plugins, path, error)
    return PluginSet(points=points, weights={one.name: weights.get(one.name, 1) for one in points["score"]})


def check_counts(plugin_set: PluginSet, scheduler_name: str, path: str, error: ReportError) -> None:
    """A profile orders its queue in exactly one way, and has some way to bind."""
    sorters = len(plugin_set.points["queueSort"])
    if sorters != 1:
        error(
            f"{path}.queueSort: only one queue sort plugin required for profile with scheduler name "
            f'"{scheduler_name}", but got {sorters}'
        )
    if not plugin_set.points["bind"]:
        error(f'{path}.bind: at least one bind plugin is needed for profile with scheduler name "{scheduler_name}"')


def _explicit(
    point: ExtensionPoint, enabled: Sequence[Enabled], plugins: Mapping[str, Plugin], error: ReportError
) -> dict[str, Plugin]:
    found: dict[str, Plugin] = {}
    for entry in enabled:
        plugin = plugins.get(entry.name)
        if plugin is None:
            continue
        if not _extends(plugin, point):
            error(f'{entry.path}: plugin "{entry.name}" does not extend {point.interface} plugin')
        elif entry.name in found:
            error(_registered_twice(entry, point))
        else:
            found[entry.name] = plugin
    return found


def _weights(
    entries: Sequence[Enabled], plugins: Mapping[str, Plugin], path: str, error: ReportError
) -> dict[str, int]:
    """The weight of everything that can score.

    The first entry of a name counts: those at ``score`` come before those of ``multiPoint``, also without a weight. As
    upstream, plugins that are disabled at ``score`` count too, and nothing may follow when the sum is negative.
    """
    (score,) = (point for point in EXTENSION_POINTS if point.key == "score")
    weights: dict[str, int] = {}
    total = 0
    for entry in entries:
        plugin = plugins.get(entry.name)
        if plugin is None or entry.name in weights or not _extends(plugin, score):
            continue
        weights[entry.name] = entry.weight or 1
        highest = total + weights[entry.name] * MAX_NODE_SCORE
        if total < 0 or abs(highest) >= HIGHEST_TOTAL:
            error(
                f"{path}.score: total score of Score plugins could overflow: the weights up to that of {entry.name} add up "
                f"to {highest // MAX_NODE_SCORE}; only the last can be negative, and {MAX_NODE_SCORE} times the sum must "
                f"stay below {HIGHEST_TOTAL}"
            )
            break
        total = highest
    return weights


def _registered_twice(entry: Enabled, point: ExtensionPoint) -> str:
    return f'{entry.path}: plugin "{entry.name}" already registered as "{point.interface}"'


def _extends(plugin: Plugin, point: ExtensionPoint) -> bool:
    return point.extended_by is not None and isinstance(plugin, point.extended_by)
