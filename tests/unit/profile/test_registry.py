"""The registry against kube-scheduler 1.37's default set."""

from __future__ import annotations

import pytest

from scheduler.api.storage import STORAGE_KINDS
from scheduler.framework.facet import Input
from scheduler.profile.registry import DEFAULTS, IN_TREE, default_selection, is_known, is_missing, missing_defaults

SELECTING_KINDS = {"Service", "ReplicationController", "ReplicaSet", "StatefulSet"}


def test_the_default_list_is_upstreams() -> None:
    """kube-scheduler 1.37: config/v1 default_plugins.go, with the gates that are on by default applied."""
    assert [(one.name, one.weight) for one in DEFAULTS if one.weight] == [
        ("TaintToleration", 3),
        ("NodeAffinity", 2),
        ("NodeResourcesFit", 1),
        ("PodTopologySpread", 2),
        ("InterPodAffinity", 2),
        ("DynamicResources", 2),
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
    ]
    assert " ".join(one.name for one in DEFAULTS) == (
        "SchedulingGates PrioritySort NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit "
        "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity DynamicResources "
        "DefaultPreemption NodeResourcesBalancedAllocation ImageLocality DefaultBinder NodeDeclaredFeatures"
    )


@pytest.mark.parametrize("name", IN_TREE)
def test_a_plugin_is_registered_under_its_own_name(name: str) -> None:
    registration = IN_TREE[name]
    plugin = registration.make() if registration.args is None else registration.make(registration.args())

    assert plugin.name == name


@pytest.mark.parametrize("name", IN_TREE)
def test_a_plugin_that_reads_storage_or_selectors_names_the_kinds_that_are_to_be_watched(name: str) -> None:
    registration = IN_TREE[name]
    plugin = registration.make() if registration.args is None else registration.make(registration.args())

    assert (Input.SELECTING_OBJECTS in plugin.inputs) == (set(plugin.watches) >= SELECTING_KINDS)
    kinds = set(plugin.watches) - {"PodDisruptionBudget"} - SELECTING_KINDS
    assert (Input.STORAGE in plugin.inputs) == bool(kinds)
    assert kinds <= set(STORAGE_KINDS)


def test_a_default_is_either_there_or_missing() -> None:
    there = [one.name for one in default_selection(IN_TREE).enabled]

    assert sorted([*there, *missing_defaults(IN_TREE)]) == sorted(one.name for one in DEFAULTS)
    assert set(there) == set(IN_TREE)


@pytest.mark.parametrize(
    ("name", "known", "missing"),
    [
        ("NodeName", True, False),
        ("VolumeZone", True, False),
        ("DynamicResources", True, True),
        ("GangScheduling", True, True),
        ("Coscheduling", False, False),
    ],
)
def test_a_name_is_known_missing_or_neither(name: str, known: bool, missing: bool) -> None:
    assert (is_known(name, IN_TREE), is_missing(name, IN_TREE)) == (known, missing)
