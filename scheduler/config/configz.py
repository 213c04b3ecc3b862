"""A KubeSchedulerConfiguration as it took effect, in the form of a document (kube-scheduler 1.37: /configz)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from scheduler.config.decoding import encode
from scheduler.config.extenders import hide_secrets
from scheduler.config.kube_document import API_VERSION, KIND, KubeSchedulerConfiguration
from scheduler.config.profiles import ProfileConfiguration
from scheduler.profile.plugin_set import Selection


def as_kube_document(kube: KubeSchedulerConfiguration, profiles: Sequence[ProfileConfiguration]) -> dict[str, Any]:
    """JSON values: every field has its default, profiles their merged plugins and the arguments of each of them."""
    document = encode(kube)
    for shown, profile in zip(document["profiles"], profiles, strict=True):
        shown["plugins"] = {key: _selection(selection) for key, selection in profile.selections.items()}
        shown["pluginConfig"] = [
            {"name": name, "args": _arguments(name, arguments)} for name, arguments in profile.plugin_config.items()
        ]
    for extender in document["extenders"]:
        hide_secrets(extender)
    if not kube.extenders:
        del document["extenders"]
    return {"apiVersion": API_VERSION, "kind": KIND, **_without_nulls(document)}


def _selection(selection: Selection) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    if selection.enabled:
        shown["enabled"] = [{"name": one.name, "weight": one.weight} for one in selection.enabled]
    if selection.disabled:
        shown["disabled"] = [{"name": name} for name in selection.disabled]
    return shown


def _arguments(name: str, arguments: Any) -> Any:
    if not isinstance(arguments, msgspec.Struct):
        return arguments  # of a plugin that is not here: as it was written
    return {"apiVersion": API_VERSION, "kind": f"{name}Args", **_without_nulls(encode(arguments))}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value
