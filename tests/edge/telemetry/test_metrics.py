"""Names and labels: kube-scheduler 1.37's metrics, read back from the exposition text."""

from __future__ import annotations

from itertools import count

from prometheus_client.parser import text_string_to_metric_families

from scheduler.config.configuration import load
from scheduler.core.scheduler import Scheduler
from scheduler.core.stimulus import NodeApplied, PodApplied, PodBound
from scheduler.telemetry.metrics import CountersCollector, SchedulerCollector, registry, render
from tests.support.builders import make_node, make_pod

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def make_scheduler() -> Scheduler:
    configuration = load(None)
    profiles = {one.scheduler_name: one for one in configuration.profiles}
    return Scheduler(profiles, seed=1, backoff=configuration.backoff)


def samples(scheduler: Scheduler) -> Samples:
    text = render(registry(SchedulerCollector(scheduler.state))).decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_attempts_are_there_at_zero_before_anything_happened() -> None:
    found = samples(make_scheduler())

    for result in ("scheduled", "unschedulable", "error"):
        key = (("profile", "reprise"), ("result", result))
        assert found["scheduler_schedule_attempts_total", key] == 0


def test_a_bound_pod_counts_once_with_its_durations() -> None:
    scheduler = make_scheduler()
    scheduler.handle(NodeApplied(now=10.0, node=make_node("n")))
    pod = make_pod("a")
    scheduler.handle(PodApplied(now=10.0, pod=pod))
    scheduler.schedule_one(11.0)
    scheduler.handle(PodBound(now=11.25, uid=pod.metadata.uid, node_name="n"))
    found = samples(scheduler)

    scheduled = (("profile", "reprise"), ("result", "scheduled"))
    assert found["scheduler_schedule_attempts_total", scheduled] == 1
    assert found["scheduler_scheduling_attempt_duration_seconds_sum", scheduled] == 0.25
    assert found["scheduler_pod_scheduling_sli_duration_seconds_sum", (("attempts", "1"),)] == 1.25
    assert found["scheduler_pod_scheduling_attempts_sum", ()] == 1


def test_preemption_is_there_at_zero_and_counts_victims_by_their_number() -> None:
    """kube-scheduler 1.37: preemption_victims has the bounds 1, 2, 4, ... 64."""
    scheduler = make_scheduler()
    found = samples(scheduler)
    assert found["scheduler_preemption_attempts_total", ()] == 0
    assert found["scheduler_preemption_victims_count", ()] == 0
    for result in ("success", "error"):
        assert found["scheduler_preemption_goroutines_execution_total", (("result", result),)] == 0

    measurements = scheduler.state.measurements
    measurements.preemption_attempts = 2
    measurements.preemption_victims.observe(3.0)
    measurements.preemption_runs["success"] = 1
    found = samples(scheduler)
    assert found["scheduler_preemption_attempts_total", ()] == 2
    bounds = [labels[0][1] for (name, labels) in found if name == "scheduler_preemption_victims_bucket"]
    assert bounds == ["1.0", "2.0", "4.0", "8.0", "16.0", "32.0", "64.0", "+Inf"]
    assert found["scheduler_preemption_victims_bucket", (("le", "2.0"),)] == 0
    assert found["scheduler_preemption_victims_bucket", (("le", "4.0"),)] == 1
    assert found["scheduler_preemption_victims_sum", ()] == 3
    assert found["scheduler_preemption_goroutines_execution_total", (("result", "success"),)] == 1


def test_waiting_on_permit_shows_by_what_came_of_it() -> None:
    scheduler = make_scheduler()
    for result, seconds in (("Success", 0.5), ("Success", 1.0), ("Unschedulable", 20.0)):
        scheduler.state.measurements.permit_waited(result, seconds)
    found = samples(scheduler)

    name = "scheduler_permit_wait_duration_seconds"
    assert found[f"{name}_sum", (("result", "Success"),)] == 1.5
    assert found[f"{name}_count", (("result", "Success"),)] == 2
    assert found[f"{name}_bucket", (("le", "16.384"), ("result", "Unschedulable"))] == 0


def test_histogram_buckets_are_cumulative() -> None:
    scheduler = make_scheduler()
    for seconds in (0.0005, 0.0015, 100.0):
        scheduler.state.measurements.algorithm_seconds.observe(seconds)
    found = samples(scheduler)

    name = "scheduler_scheduling_algorithm_duration_seconds_bucket"
    assert [found[name, (("le", bound),)] for bound in ("0.001", "0.002", "16.384", "+Inf")] == [1, 2, 2, 3]


def test_rooms_and_the_cache_are_gauges() -> None:
    scheduler = make_scheduler()
    scheduler.handle(NodeApplied(now=1.0, node=make_node("n")))
    for name in ("a", "b"):
        scheduler.handle(PodApplied(now=1.0, pod=make_pod(name)))
    scheduler.schedule_one(2.0)
    found = samples(scheduler)

    assert found["scheduler_pending_pods", (("queue", "active"),)] == 1
    assert found["scheduler_queued_entities", (("queue", "active"), ("type", "pod"))] == 1
    assert found["scheduler_cache_size", (("type", "nodes"),)] == 1
    assert found["scheduler_cache_size", (("type", "assumed_pods"),)] == 1


def test_a_rejected_pod_shows_under_its_plugin_and_its_event() -> None:
    scheduler = make_scheduler()
    scheduler.handle(NodeApplied(now=1.0, node=make_node("n")))
    scheduler.handle(PodApplied(now=1.0, pod=make_pod("a", requests={"cpu": "4000"})))
    scheduler.schedule_one(2.0)
    found = samples(scheduler)

    rejected = (("plugin", "NodeResourcesFit"), ("profile", "reprise"))
    assert found["scheduler_unschedulable_pods", rejected] == 1
    moved = (("event", "ScheduleAttemptFailure"), ("queue", "unschedulable"))
    assert found["scheduler_queue_incoming_pods_total", moved] == 1


def test_hints_show_by_plugin_event_and_answer_with_the_time_that_they_took() -> None:
    """kube-scheduler 1.37: queueing_hint_execution_duration_seconds."""
    scheduler = make_scheduler()
    scheduler.state.measurements.stopwatch = count(1.0, 0.25).__next__
    scheduler.handle(NodeApplied(now=10.0, node=make_node("n")))
    scheduler.handle(PodApplied(now=10.0, pod=make_pod("a", requests={"cpu": "100"})))
    scheduler.schedule_one(10.0)
    scheduler.handle(NodeApplied(now=11.0, node=make_node("big", allocatable={"cpu": "200"})))
    found = samples(scheduler)

    labels = (("event", "NodeAdd"), ("hint", "Queue"), ("plugin", "NodeResourcesFit"))
    assert found["scheduler_queueing_hints_total", labels] == 1
    name = "scheduler_queueing_hint_execution_duration_seconds"
    assert (found[f"{name}_count", labels], found[f"{name}_sum", labels]) == (1, 0.25)
    bounds = [dict(key)["le"] for (sample, key) in found if sample == f"{name}_bucket"]
    assert (len(bounds), bounds[0], bounds[-1]) == (21, "1e-05", "+Inf")


def test_each_plugin_of_a_profile_is_there_at_zero_before_it_fails() -> None:
    """An alert on growth needs a value to grow from."""
    scheduler = make_scheduler()
    scheduler.state.measurements.plugin_failures["NodeAffinity"] += 1
    found = {
        dict(labels)["plugin"]: value
        for (name, labels), value in samples(scheduler).items()
        if name == "scheduler_plugin_failures_total"
    }

    in_place = {"SchedulingGates", "NodeResourcesFit", "DefaultPreemption", "VolumeBinding", "ImageLocality"}
    assert {plugin: found[plugin] for plugin in sorted(in_place)} == dict.fromkeys(sorted(in_place), 0.0)
    assert found["NodeAffinity"] == 1.0


def test_errors_of_volume_binding_count_by_what_it_was_about_to_do() -> None:
    """Each operation is there at zero; only VolumeBinding counts, and only at these points."""
    scheduler = make_scheduler()
    errors = scheduler.state.measurements.stage_errors
    points = ["Filter", "Filter", "PreFilter", "PreBind"]
    errors.update([("VolumeBinding", point) for point in points] + [("VolumeZone", "Reserve")])
    found = samples(scheduler)

    name = "scheduler_volume_scheduling_stage_error_total"
    counts = {operation: found[name, (("operation", operation),)] for operation in ("predicate", "assume", "bind")}
    assert counts == {"predicate": 2, "assume": 0, "bind": 1}


def test_counters_of_other_parts_are_read_at_scrape_time() -> None:
    counts: dict[tuple[str, ...], float] = {("pods",): 1.0}
    made = registry(CountersCollector([("scheduler_relists", "Lists.", ["resource"], lambda: counts)]))
    counts["pods",] = 5.0

    assert b'scheduler_relists_total{resource="pods"} 5.0' in render(made)
