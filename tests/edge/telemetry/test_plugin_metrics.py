"""Metrics of plugins by kube-scheduler 1.37's names, labels and buckets (pkg/scheduler/metrics), read back from the exposition text."""

from __future__ import annotations

import pytest

from scheduler.core.changes import NODE_ADD
from scheduler.core.scheduler import Scheduler
from scheduler.core.stimulus import NodeApplied, PodApplied
from scheduler.framework.status import Code
from scheduler.profile.failure import Stage
from tests.edge.telemetry.test_metrics import make_scheduler, samples
from tests.support.builders import make_node, make_pod

# Doubled from 0.1 ms, 12 of them; and multiplied by 1.5 from 0.01 ms, 20 of them, as Go prints them.
POINT_BOUNDS = [
    "0.0001",
    "0.0002",
    "0.0004",
    "0.0008",
    "0.0016",
    "0.0032",
    "0.0064",
    "0.0128",
    "0.0256",
    "0.0512",
    "0.1024",
    "0.2048",
    "+Inf",
]
PLUGIN_BOUNDS = [
    *("1e-05", "1.5000000000000002e-05", "2.2500000000000005e-05", "3.375000000000001e-05", "5.062500000000001e-05"),
    *("7.593750000000002e-05", "0.00011390625000000003", "0.00017085937500000006", "0.0002562890625000001"),
    *("0.00038443359375000017", "0.0005766503906250003", "0.0008649755859375004", "0.0012974633789062506"),
    *("0.0019461950683593758", "0.0029192926025390638", "0.004378938903808595", "0.006568408355712893"),
    *("0.009852612533569338", "0.014778918800354007", "0.02216837820053101", "+Inf"),
]


def decided() -> Scheduler:
    scheduler = make_scheduler()
    for name in ("a", "b", "c"):
        scheduler.handle(NodeApplied(now=1.0, node=make_node(name)))
    scheduler.handle(PodApplied(now=1.0, pod=make_pod("p")))
    scheduler.schedule_one(1.0)
    return scheduler


def test_there_is_no_histogram_of_a_plugin_before_it_was_timed() -> None:
    names = {name for name, _ in samples(make_scheduler())}

    for family in ("framework_extension_point", "plugin_execution", "event_handling"):
        assert f"scheduler_{family}_duration_seconds_bucket" not in names


@pytest.mark.parametrize(
    ("family", "labels", "bounds"),
    [
        (
            "scheduler_framework_extension_point_duration_seconds",
            (("extension_point", "ScoreExtensionNormalize"), ("profile", "reprise"), ("status", "Success")),
            POINT_BOUNDS,
        ),
        (
            "scheduler_plugin_execution_duration_seconds",
            (("extension_point", "ScoreExtensionNormalize"), ("plugin", "Crowding"), ("status", "Success")),
            PLUGIN_BOUNDS,
        ),
        ("scheduler_event_handling_duration_seconds", (("event", "NodeAdd"),), POINT_BOUNDS),
    ],
)
def test_each_histogram_has_kube_schedulers_labels_and_buckets(
    family: str, labels: tuple[tuple[str, str], ...], bounds: list[str]
) -> None:
    scheduler = make_scheduler()
    measurements = scheduler.state.measurements
    measurements.stopwatch = lambda: 0.5
    measurements.point_took(Stage.NORMALIZE, "reprise", Code.SUCCESS, 0.5)
    measurements.plugin_took("Crowding", Stage.NORMALIZE, Code.SUCCESS, 0.5)
    measurements.event_handled(NODE_ADD)
    found = samples(scheduler)

    assert (found[f"{family}_count", labels], found[f"{family}_sum", labels]) == (1, 0.5)
    assert [dict(key)["le"] for (name, key) in found if name == f"{family}_bucket"] == bounds


def test_the_points_of_a_decision_have_kube_schedulers_names() -> None:
    found = samples(decided())
    points = {
        dict(labels)["extension_point"]
        for (name, labels) in found
        if name == "scheduler_framework_extension_point_duration_seconds_count"
    }

    assert points == {"Sign", "PreEnqueue", "PreFilter", "Filter", "PreScore", "Score"}


def test_a_plugin_counts_the_nodes_that_it_looked_at() -> None:
    found = samples(decided())

    def evaluations(plugin: str, point: str) -> float:
        labels = (("extension_point", point), ("plugin", plugin), ("profile", "reprise"))
        return found["scheduler_plugin_evaluation_total", labels]

    assert evaluations("NodeResourcesFit", "PreFilter") == 1
    assert evaluations("NodeResourcesFit", "Filter") == 3
    assert evaluations("NodeResourcesFit", "Score") == 3
    assert evaluations("TaintToleration", "PreScore") == 1
