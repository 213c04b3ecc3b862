"""What a scheduler watches, and the rights that it asks for: what its plugins read, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.app.rights import rights_needed
from scheduler.app.runtime import Runtime
from scheduler.config.configuration import from_documents, from_object
from scheduler.kube.access import RIGHTS_TO_WARN
from scheduler.kube.resources import DISRUPTION_BUDGETS, SELECTING, STORAGE, WATCHED
from tests.edge.kube.scripted import ScriptedTransport
from tests.support.scheduler_configurations import HEADER

VOLUME_PLUGINS = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")


def runtime_of(*enabled: str) -> Runtime:
    """A scheduler whose one profile has these of the volume plugins."""
    disabled = [{"name": name} for name in VOLUME_PLUGINS if name not in enabled]
    profile: dict[str, Any] = {"schedulerName": "reprise", "plugins": {"multiPoint": {"disabled": disabled}}}
    configuration = from_object({**HEADER, "profiles": [profile]})
    return Runtime(configuration, ScriptedTransport(), hostname="host", seed=1)


@pytest.mark.parametrize(
    ("enabled", "kinds"),
    [
        ((), set()),
        (("VolumeRestrictions",), {"PersistentVolumeClaim"}),
        (("VolumeZone",), {"PersistentVolumeClaim", "PersistentVolume", "StorageClass"}),
        (
            ("NodeVolumeLimits",),
            {
                "PersistentVolumeClaim",
                "PersistentVolume",
                "StorageClass",
                "CSINode",
                "CSIDriver",
                "VolumeAttachment",
            },
        ),
        (
            ("VolumeBinding",),
            {
                "PersistentVolumeClaim",
                "PersistentVolume",
                "StorageClass",
                "CSINode",
                "CSIDriver",
                "CSIStorageCapacity",
            },
        ),
        (VOLUME_PLUGINS, {resource.kind.__name__ for resource in STORAGE}),
    ],
)
def test_only_what_an_enabled_plugin_reads_is_watched(enabled: tuple[str, ...], kinds: set[str]) -> None:
    runtime = runtime_of(*enabled)

    watched = {reflector.resource for reflector in runtime.reflectors}
    expected = {resource for resource in STORAGE if resource.kind.__name__ in kinds}
    assert watched == {*WATCHED, *SELECTING, DISRUPTION_BUDGETS, *expected}
    listed = {right.resource for right in runtime.rights if right.verb == "list"} - {"events"}
    assert listed == {resource.name for resource in watched}


def test_what_any_profile_needs_is_watched() -> None:
    first = {"schedulerName": "a", "plugins": {"multiPoint": {"disabled": [{"name": name} for name in VOLUME_PLUGINS]}}}
    configuration = from_object({**HEADER, "profiles": [first, {"schedulerName": "b"}]})
    runtime = Runtime(configuration, ScriptedTransport(), hostname="host", seed=1)

    assert {reflector.resource for reflector in runtime.reflectors} == {
        *WATCHED,
        *SELECTING,
        DISRUPTION_BUDGETS,
        *STORAGE,
    }


def test_without_spread_nobody_asks_what_services_and_controllers_select() -> None:
    plugins = {"multiPoint": {"disabled": [{"name": "PodTopologySpread"}]}}
    first: dict[str, Any] = {"schedulerName": "reprise", "plugins": plugins}
    runtime = Runtime(from_object({**HEADER, "profiles": [first]}), ScriptedTransport(), hostname="host", seed=1)

    assert {reflector.resource for reflector in runtime.reflectors} == {*WATCHED, DISRUPTION_BUDGETS, *STORAGE}


@pytest.mark.parametrize("disabled", ["DefaultPreemption", "*"])
def test_who_preempts_nobody_watches_no_budgets_and_asks_for_no_right_to_delete(disabled: str) -> None:
    plugins = {"postFilter": {"disabled": [{"name": disabled}]}, "preEnqueue": {"disabled": [{"name": disabled}]}}
    first: dict[str, Any] = {"schedulerName": "reprise", "plugins": plugins}
    runtime = Runtime(from_object({**HEADER, "profiles": [first]}), ScriptedTransport(), hostname="host", seed=1)

    assert DISRUPTION_BUDGETS not in {reflector.resource for reflector in runtime.reflectors}
    assert "delete" not in {right.verb for right in runtime.rights}
    assert "delete" in {right.verb for right in runtime_of().rights}


def test_events_are_listed_only_by_one_that_warns_of_mistyped_names() -> None:
    silent = from_documents({"RepriseConfiguration": {"typoWarnings": {"enabled": False}}}, defaults={})
    assert RIGHTS_TO_WARN[0] in rights_needed(from_object(None))
    assert RIGHTS_TO_WARN[0] not in rights_needed(silent)
