"""Profiles: from what a document says about plugins to plugins with their arguments, in the order they run."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from scheduler.api.field_errors import child, duplicate, element, invalid, not_supported, required
from scheduler.config.decoding import decode, described
from scheduler.config.kube_document import (
    API_VERSION,
    KubeSchedulerProfile,
    PluginConfig,
    Plugins,
    PluginSelection,
)
from scheduler.config.report import Report
from scheduler.framework.plugin import Plugin
from scheduler.profile.plugin_set import (
    ALL,
    EXTENSION_POINTS,
    MULTI_POINT,
    Enabled,
    PluginSet,
    Selection,
    check_counts,
    expand,
    merge,
)
from scheduler.profile.profile import Profile
from scheduler.profile.registry import (
    REMOVED,
    Registry,
    default_selection,
    is_known,
    is_missing,
    missing_defaults,
)

_GROUP = API_VERSION.partition("/")[0]
_INTERFACES = {MULTI_POINT: "PreFilterPlugin", **{point.key: point.interface for point in EXTENSION_POINTS}}
_FIT = "NodeResourcesFit"
# The first version is that of another API group; upstream prints it all the same.
_WAS_REMOVED = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'


@dataclass(frozen=True, kw_only=True)
class ProfileConfiguration(Profile):
    """A profile as it was configured.

    Attributes:
        plugins: the plugins of every extension point, in order, and the weights of those that score.
        percentage_of_nodes_to_score: the profile's own, else the one for all; 0 means every node here.
        selections: what is enabled and disabled, the defaults merged in, by the key under ``plugins``.
        plugin_config: the arguments of each plugin, by name; a struct, or what was written for a plugin that is not here.
    """

    plugins: PluginSet = field(compare=False)
    percentage_of_nodes_to_score: int
    selections: Mapping[str, Selection] = field(repr=False, compare=False)
    plugin_config: Mapping[str, Any] = field(repr=False, compare=False)


_POINTS = msgspec.structs.fields(Plugins)


class ProfileReader:
    """Reads profiles, one after the other.

    Args:
        ignored_resources: resources that some extender takes off Fit's hands. If there are any, they take the place of
            Fit's own ``ignoredResources`` (kube-scheduler 1.37: buildExtenders).
    """

    def __init__(self, registry: Registry, report: Report, ignored_resources: tuple[str, ...] = ()) -> None:
        self._registry = registry
        self._report = report
        self._ignored_resources = ignored_resources

    def read(self, document: KubeSchedulerProfile, path: str, percentage: int) -> ProfileConfiguration | None:
        """The profile, or None when there are errors, here or before."""
        at = child(path, "plugins")
        selections = self._selections(document.plugins, at)
        enabled = dict.fromkeys(one.name for selection in selections.values() for one in selection.enabled)
        arguments = self._arguments(document.plugin_config, child(path, "pluginConfig"), enabled)
        plugins = {name: self._make(name, arguments) for name in enabled}
        plugin_set = expand(selections, plugins, at, self._report.error)
        name = document.scheduler_name or ""
        check_counts(plugin_set, name, at, self._report.error)
        if self._report.errors:
            return None
        self._warn_of_missing(document.plugins, at)
        own = document.percentage_of_nodes_to_score
        return ProfileConfiguration(
            **_fields(plugin_set.profile(name)),
            plugins=plugin_set,
            percentage_of_nodes_to_score=percentage if own is None else own,
            selections=selections,
            plugin_config=arguments,
        )

    def _selections(self, plugins: Plugins, path: str) -> dict[str, Selection]:
        selections = {
            point.encode_name: self._selection(point.encode_name, getattr(plugins, point.name), path)
            for point in _POINTS
        }
        selections[MULTI_POINT] = merge(default_selection(self._registry), selections[MULTI_POINT])
        return selections

    def _selection(self, key: str, chosen: PluginSelection, path: str) -> Selection:
        at = child(path, key)
        enabled = []
        for index, reference in enumerate(chosen.enabled):
            entry = element(child(at, "enabled"), index)
            problem = self._problem(key, reference.name, entry)
            if problem is not None:
                self._report.error(problem)
            elif not self._report.is_unread(child(entry, "name")):
                enabled.append(Enabled(reference.name, reference.weight or 0, entry))
        for index, reference in enumerate(chosen.disabled):
            name = reference.name
            if name not in (ALL, *REMOVED) and not is_known(name, self._registry):
                self._report.warn(element(child(at, "disabled"), index), f'there is no plugin "{name}" to disable')
        return Selection(tuple(enabled), tuple(one.name for one in chosen.disabled))

    def _problem(self, key: str, name: str, path: str) -> str | None:
        if not name:
            return required(child(path, "name"), "the name of a plugin")
        if name in REMOVED:
            return invalid(path, name, _WAS_REMOVED)
        if is_missing(name, self._registry):
            return f"{path}: {name} is not implemented yet; disable it or remove it"
        if name not in self._registry:
            return f'{path}: {_INTERFACES[key]} "{name}" does not exist'
        if (key, name) == ("placementScore", _FIT):
            return f"{path}: {name} is not implemented at placementScore yet; remove it"
        return None

    def _arguments(self, configs: Sequence[PluginConfig], path: str, enabled: Container[str]) -> dict[str, Any]:
        """The arguments of every plugin that is configured or enabled. Arguments with an error count as not given."""
        arguments: dict[str, Any] = {}
        for index, config in enumerate(configs):
            at = element(path, index)
            name = config.name
            if not name:
                self._report.error(required(child(at, "name"), "the name of a plugin"))
            elif name in arguments:
                self._report.error(duplicate(at, name))
            elif name in REMOVED:
                self._report.error(invalid(at, name, _WAS_REMOVED))
            else:
                arguments[name] = self._read_arguments(config, at, is_enabled=name in enabled)
        for name, registration in self._registry.items():
            if name in enabled and registration.args is not None:
                arguments.setdefault(name, registration.args())
        return arguments

    def _read_arguments(self, config: PluginConfig, path: str, *, is_enabled: bool) -> Any:
        name, given = config.name, config.args
        at = child(path, "args")
        registration = self._registry.get(name)
        if registration is None or registration.args is None:
            self._warn_of_unused(name, path)
            if is_missing(name, self._registry):
                self._without_type(name, given, at)
            return given
        before = len(self._report.errors)
        arguments = decode(self._without_type(name, given, at), registration.args, at, self._report)
        if not is_enabled:
            self._report.warn(path, f"{name} is not enabled, so these arguments have no effect")
        # kube-scheduler looks at Fit's arguments when it makes the plugin, and at the others' whether it does or not.
        if registration.validate is not None and (is_enabled or name != _FIT):
            self._report.error(*registration.validate(arguments, at))
        return arguments if len(self._report.errors) == before else registration.args()

    def _without_type(self, name: str, given: Any, path: str) -> Any:
        """The arguments without their optional apiVersion and kind, which must be those of the plugin."""
        if given is None:
            return {}
        if not isinstance(given, dict):
            self._report.unread(path, f"expected an object, got {described(given)}")
            return {}
        kind = given.get("kind") or f"{name}Args"
        version = given.get("apiVersion") or API_VERSION
        if version != API_VERSION:
            self._report.error(not_supported(child(path, "apiVersion"), version, [API_VERSION]))
        elif kind != f"{name}Args":
            wanted = f"args for plugin {name} were not of type {name}Args.{_GROUP}, got {kind}.{_GROUP}"
            self._report.error(f"{child(path, 'kind')}: {wanted}")
        return {key: value for key, value in given.items() if key not in ("kind", "apiVersion")}

    def _warn_of_unused(self, name: str, path: str) -> None:
        if name in self._registry:
            reason = f"{name} takes no arguments"
        elif is_missing(name, self._registry):
            reason = f"{name} is not implemented yet"
        else:
            reason = f'there is no plugin "{name}"'
        self._report.warn(path, f"{reason}, so these arguments have no effect")

    def _warn_of_missing(self, plugins: Plugins, path: str) -> None:
        disabled = {one.name for one in plugins.multi_point.disabled}
        missing = [name for name in missing_defaults(self._registry) if name not in disabled and ALL not in disabled]
        if missing:
            self._report.warn(
                path,
                f"not implemented yet and left out of the default plugins: {', '.join(missing)}; "
                "pods that need one of their hard rules are refused, soft rules are ignored",
            )

    def _make(self, name: str, arguments: Mapping[str, Any]) -> Plugin:
        registration = self._registry[name]
        if registration.args is None:
            return registration.make()
        own = arguments[name]
        if name == _FIT and self._ignored_resources:
            own = msgspec.structs.replace(own, ignored_resources=self._ignored_resources)
        return registration.make(own)


def _fields(profile: Profile) -> dict[str, Any]:
    return {one.name: getattr(profile, one.name) for one in dataclasses.fields(profile)}
