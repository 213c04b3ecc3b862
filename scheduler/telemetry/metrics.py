"""Rendering of the core's plain counters at scrape time (names and buckets: kube-scheduler 1.37)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from scheduler.batch.outcomes import Attempt, Bypass, Flush
from scheduler.core.extenders import ANSWERED, FAILED
from scheduler.core.instruction import ExtenderVerb
from scheduler.core.kubelet_rejections import USUAL_REASONS
from scheduler.core.measurements import ERROR, FITS, REFUSED, SCHEDULED, UNSCHEDULABLE
from scheduler.core.state import State
from scheduler.profile.failure import Stage
from scheduler.queue.queued_pod import Room
from scheduler.telemetry.histograms import add_histogram
from scheduler.telemetry.plugin_metrics import plugin_metrics

VOLUME_BINDING = "VolumeBinding"
_VOLUME_OPERATIONS = {"predicate": Stage.FILTER, "assume": Stage.RESERVE, "bind": Stage.PRE_BIND}

Counts = Mapping[tuple[str, ...], float]


class SchedulerCollector(Collector):
    """All ``scheduler_*`` metrics that the core's state gives."""

    def __init__(self, state: State) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        yield from self._attempts()
        yield from self._queue()
        yield from self._batch()
        yield from self._preemption()
        yield from self._faults()
        yield from plugin_metrics(self._state.measurements)
        yield self._bind_checks()
        yield from self._kubelet_rejections()
        if self._state.extenders:
            yield self._extender_calls()
        yield self._cache_size()

    def _attempts(self) -> Iterator[Metric]:
        measurements = self._state.measurements
        attempts = CounterMetricFamily(
            "scheduler_schedule_attempts",
            "Attempts to schedule pods, by result.",
            labels=["profile", "result"],
        )
        for profile in self._state.profiles:
            for result in (SCHEDULED, UNSCHEDULABLE, ERROR):
                attempts.add_metric([profile, result], measurements.attempts[result, profile])
        yield attempts
        seconds = HistogramMetricFamily(
            "scheduler_scheduling_attempt_duration_seconds",
            "From taking the pod out of the queue to its confirmed bind or its failure.",
            labels=["profile", "result"],
        )
        for (result, profile), histogram in sorted(measurements.attempt_seconds.items()):
            add_histogram(seconds, [profile, result], histogram)
        yield seconds
        algorithm = HistogramMetricFamily("scheduler_scheduling_algorithm_duration_seconds", "Time of a decision.")
        add_histogram(algorithm, [], measurements.algorithm_seconds)
        yield algorithm
        sli = HistogramMetricFamily(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "From the pod's first entry into the active queue to its confirmed bind.",
            labels=["attempts"],
        )
        for attempts_label, histogram in sorted(measurements.sli_seconds.items()):
            add_histogram(sli, [attempts_label], histogram)
        yield sli
        needed = HistogramMetricFamily(
            "scheduler_pod_scheduling_attempts", "Attempts that a pod needed until it was bound."
        )
        add_histogram(needed, [], measurements.pod_attempts)
        yield needed
        waits = HistogramMetricFamily(
            "scheduler_permit_wait_duration_seconds",
            "How long pods waited that a Permit plugin held back, by what came of it.",
            labels=["result"],
        )
        for result, histogram in sorted(measurements.permit_wait_seconds.items()):
            add_histogram(waits, [result], histogram)
        yield waits
        yield CounterMetricFamily(
            "scheduler_pod_scheduled_after_flush",
            "Pods bound after the flush of long unschedulable pods woke them.",
            value=measurements.scheduled_after_flush,
        )

    def _queue(self) -> Iterator[Metric]:
        queue = self._state.queue
        counts = queue.counts()
        pending = GaugeMetricFamily("scheduler_pending_pods", "Waiting pods by room.", labels=["queue"])
        entities = GaugeMetricFamily(
            "scheduler_queued_entities", "Waiting entities by room and type.", labels=["queue", "type"]
        )
        for room in (Room.ACTIVE, Room.BACKOFF, Room.UNSCHEDULABLE, Room.GATED):
            pending.add_metric([room.value], counts[room])
            entities.add_metric([room.value, "pod"], counts[room])
        yield pending
        yield entities
        incoming = CounterMetricFamily(
            "scheduler_queue_incoming_pods", "Moves of pods into a room, by event.", labels=["queue", "event"]
        )
        for (room_name, event), count in sorted(queue.incoming.items()):
            incoming.add_metric([room_name, event], count)
        yield incoming
        hints = CounterMetricFamily(
            "scheduler_queueing_hints",
            "Plugins asked whether an event helps parked pods that are alike.",
            labels=["plugin", "event", "hint"],
        )
        for labels, count in sorted(self._state.measurements.hints.items()):
            hints.add_metric(labels, count)
        yield hints
        took = HistogramMetricFamily(
            "scheduler_queueing_hint_execution_duration_seconds",
            "Time of a plugin's answer whether an event helps parked pods that are alike.",
            labels=["plugin", "event", "hint"],
        )
        for labels, histogram in sorted(self._state.measurements.hint_seconds.items()):
            add_histogram(took, list(labels), histogram)
        yield took
        rejected = GaugeMetricFamily(
            "scheduler_unschedulable_pods",
            "Waiting pods by the plugin that rejected them.",
            labels=["plugin", "profile"],
        )
        for (plugin, profile), count in sorted(queue.unschedulable_plugins().items()):
            rejected.add_metric([plugin, profile], count)
        yield rejected

    def _batch(self) -> Iterator[Metric]:
        batching = self._state.batching
        enabled = GaugeMetricFamily(
            "scheduler_batch_enabled", "Whether decisions of the profile are reused.", labels=["profile"]
        )
        for profile, why_off in batching.off.items():
            enabled.add_metric([profile], float(not why_off))
        yield enabled
        counters = batching.counters
        yield self._by_label(
            "scheduler_batch_attempts",
            "Decisions that may have come from a kept evaluation, by what came of it.",
            "result",
            {(profile, label): counters.attempts[profile, label] for profile in batching.off for label in Attempt},
        )
        yield self._by_label(
            "scheduler_batch_bypass",
            "Decisions that did not look for a kept evaluation, by reason.",
            "reason",
            {(profile, label): counters.bypasses[profile, label] for profile in batching.off for label in Bypass},
        )
        yield self._by_label(
            "scheduler_batch_cache_flushed",
            "Kept evaluations that were dropped, by reason.",
            "reason",
            {(profile, label): counters.flushes[profile, label] for profile in batching.off for label in Flush},
        )
        checks = CounterMetricFamily(
            "scheduler_batch_verifications",
            "Reused decisions that were checked against an evaluation from scratch.",
            labels=["profile", "result"],
        )
        for profile in batching.off:
            mismatched = counters.mismatched[profile]
            checks.add_metric([profile, "match"], counters.verified[profile] - mismatched)
            checks.add_metric([profile, "mismatch"], mismatched)
        yield checks
        took = HistogramMetricFamily(
            "scheduler_batch_decision_duration_seconds",
            "Time of a decision by how the batch cache was used; checked: with the evaluation from scratch beside it.",
            labels=["profile", "result"],
        )
        for labels, histogram in sorted(self._state.measurements.decision_seconds.items()):
            add_histogram(took, list(labels), histogram)
        yield took
        kept = Counter(entry.key.pod.scheduler_name for entry in batching.entries)
        entries = GaugeMetricFamily("scheduler_batch_entries", "Evaluations that are kept.", labels=["profile"])
        for profile in batching.off:
            entries.add_metric([profile], kept[profile])
        yield entries

    @staticmethod
    def _by_label(name: str, text: str, label: str, counts: Mapping[tuple[str, str], int]) -> Metric:
        family = CounterMetricFamily(name, text, labels=["profile", label])
        for (profile, value), count in counts.items():
            family.add_metric([profile, str(value)], count)
        return family

    def _preemption(self) -> Iterator[Metric]:
        measurements = self._state.measurements
        yield CounterMetricFamily(
            "scheduler_preemption_attempts",
            "Attempts to make room for a pod that fits nowhere, also of pods that may not preempt.",
            value=measurements.preemption_attempts,
        )
        victims = HistogramMetricFamily(
            "scheduler_preemption_victims", "Pods that had to go for one that was nominated to their node."
        )
        add_histogram(victims, [], measurements.preemption_victims)
        yield victims
        runs = CounterMetricFamily(
            "scheduler_preemption_goroutines_execution",
            "Preemptions whose victims have been dealt with, by what came of it.",
            labels=["result"],
        )
        for result in ("success", "error"):
            runs.add_metric([result], measurements.preemption_runs[result])
        yield runs

    def _faults(self) -> Iterator[Metric]:
        measurements = self._state.measurements
        bad = CounterMetricFamily(
            "scheduler_bad_objects", "Objects that could not be understood and were left out.", labels=["kind"]
        )
        for kind, count in sorted(measurements.bad_objects.items()):
            bad.add_metric([kind], count)
        yield bad
        failures = CounterMetricFamily(
            "scheduler_plugin_failures",
            "Times that a plugin failed: in a cycle, in PreEnqueue, or while a pod or a kept evaluation was prepared for reuse.",
            labels=["plugin"],
        )
        for plugin in sorted({*self._plugin_names(), *measurements.plugin_failures}):
            failures.add_metric([plugin], measurements.plugin_failures[plugin])
        yield failures
        stages = CounterMetricFamily(
            "scheduler_volume_scheduling_stage_error",
            "Attempts that VolumeBinding ended with an error, by what it was about to do.",
            labels=["operation"],
        )
        for operation, point in _VOLUME_OPERATIONS.items():
            stages.add_metric([operation], measurements.stage_errors[VOLUME_BINDING, point.value])
        yield stages

    def _plugin_names(self) -> Iterator[str]:
        for one in self._state.profiles.values():
            for plugin in (*one.pre_enqueue, *one.deciding_plugins(), *one.post_filter, *one.binding_plugins):
                yield plugin.name

    def _bind_checks(self) -> Metric:
        checks = CounterMetricFamily(
            "scheduler_bind_checks",
            "Nodes that others touched between decision and bind and so were filtered again, by what came of it.",
            labels=["result"],
        )
        for result in (FITS, REFUSED):
            checks.add_metric([result], self._state.measurements.bind_checks[result])
        return checks

    def _extender_calls(self) -> Metric:
        calls = CounterMetricFamily(
            "scheduler_extender_calls",
            "Questions to extenders that have come to an end, by what was asked and whether there was an answer.",
            labels=["verb", "result"],
        )
        for verb in ExtenderVerb:
            for result in (ANSWERED, FAILED):
                calls.add_metric([verb.value, result], self._state.extenders.calls[verb.value, result])
        return calls

    def _kubelet_rejections(self) -> Iterator[Metric]:
        rejections, counts = self._state.kubelet_rejections, self._state.measurements.kubelet_rejections
        rejected = CounterMetricFamily(
            "scheduler_kubelet_rejections",
            "Pods that were bound by this scheduler and that their kubelet refused, by the reason in their status.",
            labels=["reason"],
        )
        for reason in sorted({*USUAL_REASONS, *counts}):
            rejected.add_metric([reason], counts[reason])
        yield rejected
        reads = CounterMetricFamily(
            "scheduler_ended_pod_reads",
            "Pods that ended before they were seen running, by whether they were read to learn why.",
            labels=["result"],
        )
        reads.add_metric(["read"], rejections.reads)
        reads.add_metric(["skipped"], rejections.skipped_reads)
        yield reads
        yield GaugeMetricFamily(
            "scheduler_cooling_nodes",
            "Nodes that are kept from one kind of pods for a while, because their kubelet refused one; counted for each kind.",
            value=len(rejections.cooling),
        )

    def _cache_size(self) -> Metric:
        size = GaugeMetricFamily("scheduler_cache_size", "Objects in the cache.", labels=["type"])
        cache = self._state.cache
        size.add_metric(["nodes"], cache.table.node_count)
        size.add_metric(["pods"], cache.pod_count)
        size.add_metric(["assumed_pods"], cache.assumed_count)
        return size


class CountersCollector(Collector):
    """Counters that other parts own, as functions that give them: (name, help, label names, counts by label values)."""

    def __init__(self, families: Iterable[tuple[str, str, list[str], Callable[[], Counts]]]) -> None:
        self._families = list(families)

    def collect(self) -> Iterator[Metric]:
        for name, text, labels, read in self._families:
            family = CounterMetricFamily(name, text, labels=labels)
            for values, count in sorted(read().items()):
                family.add_metric(list(values), count)
            yield family


def registry(*collectors: Collector) -> CollectorRegistry:
    """A registry of its own, with the process's memory, CPU and garbage collection beside the given collectors."""
    made = CollectorRegistry()
    for collector in collectors:
        made.register(collector)
    ProcessCollector(registry=made)
    PlatformCollector(registry=made)
    GCCollector(registry=made)
    return made


def render(made: CollectorRegistry) -> bytes:
    """The exposition text, without a word on how stable anything is: see ``exposition``."""
    return generate_latest(made)
