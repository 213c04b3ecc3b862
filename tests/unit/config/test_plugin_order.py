"""Which plugins run at each extension point, and in which order."""

from __future__ import annotations

import pytest

from scheduler.config.configuration import from_object
from scheduler.config.profiles import ProfileConfiguration
from tests.support.scheduler_configurations import DEFAULT_POINTS, SAMPLES, Sample, plugins_document


def order(profile: ProfileConfiguration) -> dict[str, tuple[str, ...]]:
    """The plugins of each point that has any, with their weights where they score."""
    weights = profile.plugins.weights
    shown = {
        point: tuple(f"{name}*{weights[name]}" if point == "score" else name for name in profile.plugins.names(point))
        for point in profile.plugins.points
    }
    return {point: names for point, names in shown.items() if names}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_plugins_run_in_kube_schedulers_order(sample: Sample) -> None:
    configuration = from_object(plugins_document(**sample.plugins))

    expected = {point: names for point, names in {**DEFAULT_POINTS, **sample.expected}.items() if names}
    assert order(configuration.profiles[0]) == expected


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_what_configz_shows_comes_to_the_same_plugins(sample: Sample) -> None:
    configuration = from_object(plugins_document(**sample.plugins))

    again = from_object(configuration.as_kube_document())

    assert order(again.profiles[0]) == order(configuration.profiles[0])


def test_the_profile_that_runs_has_the_same_order() -> None:
    sample = plugins_document(
        score={"enabled": [{"name": "ImageLocality", "weight": 10}]}, filter={"disabled": [{"name": "NodePorts"}]}
    )

    profile = from_object(sample).profiles[0]

    assert [(scored.plugin.name, scored.weight) for scored in profile.score] == [
        ("ImageLocality", 10),
        ("TaintToleration", 3),
        ("NodeAffinity", 2),
        ("NodeResourcesFit", 1),
        ("VolumeBinding", 1),
        ("PodTopologySpread", 2),
        ("InterPodAffinity", 2),
        ("NodeResourcesBalancedAllocation", 1),
    ]
    assert [plugin.name for plugin in profile.filter] == [
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "NodeDeclaredFeatures",
    ]
    assert profile.queue_sort.name == "PrioritySort"
    assert [plugin.name for plugin in profile.pre_enqueue] == ["SchedulingGates", "DefaultPreemption"]
    assert [plugin.name for plugin in profile.post_filter] == ["DefaultPreemption"]


def test_a_plugin_is_one_instance_at_all_its_points() -> None:
    points = from_object(None).profiles[0].plugins.points

    instances = {
        id(plugin)
        for point in ("preFilter", "filter", "preScore", "score")
        for plugin in points[point]
        if plugin.name == "NodeAffinity"
    }

    assert len(instances) == 1
