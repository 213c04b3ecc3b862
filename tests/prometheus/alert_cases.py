"""For each alert what it fires at, with what it then says, and what it does not fire at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ME = 'job="reprise", namespace="n"'
A, B = f'{ME}, instance="a"', f'{ME}, instance="b"'
OF_A = {"job": "reprise", "namespace": "n", "instance": "a"}
OF_ALL = {"job": "reprise", "namespace": "n"}


@dataclass(frozen=True)
class Fires:
    """At ``minute`` the alert of these labels fires, and says this."""

    alert: str
    series: Mapping[str, str]
    minute: int
    labels: Mapping[str, str]
    says: str


@dataclass(frozen=True)
class Quiet:
    """At none of the minutes does it fire."""

    alert: str
    why: str
    series: Mapping[str, str]
    minutes: tuple[int, ...] = field(default=(5, 12, 24, 40))


def _pods(queue: str, who: str = A) -> str:
    return f'scheduler_pending_pods{{{who}, queue="{queue}"}}'


def _attempts(result: str, who: str = A) -> str:
    return f'scheduler_schedule_attempts_total{{{who}, profile="reprise", result="{result}"}}'


def _sli(attempts: str, **by_bound: str) -> dict[str, str]:
    bounds = {"small": "2.56", "large": "10.24", "inf": "+Inf"}
    name = "scheduler_pod_scheduling_sli_duration_seconds_bucket"
    return {f'{name}{{{A}, attempts="{attempts}", le="{bounds[key]}"}}': values for key, values in by_bound.items()}


def _leading(who: str, name: str = "reprise") -> str:
    return f'leader_election_master_status{{{who}, name="{name}"}}'


def _batch(result: str) -> str:
    return f'scheduler_batch_attempts_total{{{A}, profile="reprise", result="{result}"}}'


def _checks(result: str) -> str:
    return f'scheduler_batch_verifications_total{{{A}, profile="reprise", result="{result}"}}'


def _silence(resource: str) -> str:
    return f'scheduler_watch_silence_seconds{{{A}, resource="{resource}"}}'


UP_A, UP_B, UP_KUBE = f"up{{{A}}}", f"up{{{B}}}", 'up{job="kube-scheduler", instance="k"}'
RELISTS = f'scheduler_relists_total{{{A}, resource="pods"}}'
LEFT_OUT = f'scheduler_undecodable_objects_total{{{A}, resource="pods"}}'
FAILED = f'scheduler_plugin_failures_total{{{A}, plugin="Mine"}}'
DROPPED = f"scheduler_events_dropped_total{{{A}}}"
CONFLICTS = f"scheduler_bind_conflicts_total{{{A}}}"
REFUSED = f'scheduler_kubelet_rejections_total{{{A}, reason="OutOfcpu"}}'
OTHERWISE_REFUSED = f'scheduler_kubelet_rejections_total{{{A}, reason="NodeAffinity"}}'
MEMORY, LIMIT = f"process_resident_memory_bytes{{{A}}}", f"scheduler_memory_limit_bytes{{{A}}}"
IN_FORCE = f"scheduler_configuration_last_reload_successful{{{A}}}"
LAG = f"scheduler_inbox_lag_seconds{{{A}}}"
ALIVE = {UP_A: "1x90"}

CASES: tuple[Fires | Quiet, ...] = (
    Fires(
        "RepriseDown",
        {UP_A: "0x90", UP_KUBE: "1x90"},
        6,
        {},
        "No instance of Reprise has answered Prometheus for 5 minutes. Pods with its schedulerName stay Pending.",
    ),
    Fires(
        "RepriseDown",
        {UP_KUBE: "1x90"},
        6,
        {},
        "No instance of Reprise has answered Prometheus for 5 minutes. Pods with its schedulerName stay Pending.",
    ),
    Quiet("RepriseDown", "one of two answers", {UP_A: "0x90", UP_B: "1x90"}),
    Quiet("RepriseDown", "it is back after three minutes", {UP_A: "1 0 0 0 1x90"}),
    Fires(
        "RepriseInstanceUnreachable",
        {UP_A: "0x90", UP_B: "1x90"},
        16,
        OF_A,
        "Instance a has not answered Prometheus for 15 minutes. There may be nobody to take over.",
    ),
    Quiet("RepriseInstanceUnreachable", "both answer", {UP_A: "1x90", UP_B: "1x90"}),
    Quiet("RepriseInstanceUnreachable", "it is another scheduler's", {UP_KUBE: "0x90", UP_A: "1x90"}),
    Fires(
        "RepriseNoLeader",
        {_leading(A): "0x90", _leading(B): "0x90"},
        3,
        {**OF_ALL, "name": "reprise"},
        "For 2 minutes no instance has held the Lease reprise. Pods stay Pending.",
    ),
    Quiet("RepriseNoLeader", "one leads", {_leading(A): "0x90", _leading(B): "1x90"}),
    Quiet("RepriseNoLeader", "another one takes over", {_leading(A): "1 1 0x90", _leading(B): "0 0 0 1x90"}),
    Fires(
        "RepriseManyLeaders",
        {_leading(A): "1x90", _leading(B): "1x90"},
        3,
        {**OF_ALL, "name": "reprise"},
        "2 instances have said for 2 minutes that they hold the Lease reprise.",
    ),
    Quiet(
        "RepriseManyLeaders", "each leads for a Lease of its own", {_leading(A): "1x90", _leading(B, "other"): "1x90"}
    ),
    Quiet("RepriseManyLeaders", "one was seen before it had gone", {_leading(A): "1 1 0x90", _leading(B): "0 1x90"}),
    Fires(
        "RepriseQueueStalled",
        {_pods("active"): "7x90", _pods("backoff"): "2x90", _attempts("scheduled"): "10x90"},
        12,
        OF_ALL,
        "9 pods have been waiting to be tried, and for 10 minutes no attempt has come to an end.",
    ),
    Quiet(
        "RepriseQueueStalled",
        "who stands by holds the same pods, and the leader tries them",
        {_pods("active", B): "7x90", _attempts("scheduled", B): "0x90", _attempts("scheduled"): "0+1x90"},
    ),
    Quiet(
        "RepriseQueueStalled",
        "those that wait fit nowhere",
        {_pods("active"): "0x90", _pods("unschedulable"): "9x90", _attempts("unschedulable"): "9x90"},
    ),
    Fires(
        "RepriseSchedulingSlow",
        _sli("1", small="0+1x90", large="0+60x90", inf="0+60x90"),
        16,
        OF_ALL,
        "p99 from the queue to the bind of pods that needed one attempt has been 10.16s for 10 minutes; 5 s is what users notice.",
    ),
    Quiet("RepriseSchedulingSlow", "they are quick", _sli("1", small="0+60x90", large="0+60x90", inf="0+60x90")),
    Quiet(
        "RepriseSchedulingSlow",
        "what takes long is pods that had to wait for room",
        {
            **_sli("1", small="0+60x90", large="0+60x90", inf="0+60x90"),
            **_sli("4", small="0x90", large="0+60x90", inf="0+60x90"),
        },
    ),
    Fires(
        "RepriseSchedulingErrors",
        {_attempts("error"): "0+6x90", _attempts("scheduled"): "0+54x90"},
        16,
        OF_ALL,
        '10% of the attempts have ended in an error, not in a node or in "does not fit", for 10 minutes.',
    ),
    Quiet("RepriseSchedulingErrors", "few do", {_attempts("error"): "0+2x90", _attempts("scheduled"): "0+58x90"}),
    Quiet("RepriseSchedulingErrors", "nothing is tried", {_attempts("error"): "5x90", _attempts("scheduled"): "5x90"}),
    Fires(
        "RepriseUnschedulableRatioHigh",
        {_attempts("unschedulable"): "0+95x90", _attempts("scheduled"): "0+5x90"},
        40,
        OF_ALL,
        "95% of the attempts have found no node for 30 minutes.",
    ),
    Quiet(
        "RepriseUnschedulableRatioHigh",
        "four in five find one",
        {_attempts("unschedulable"): "0+20x90", _attempts("scheduled"): "0+80x90"},
    ),
    Quiet(
        "RepriseUnschedulableRatioHigh",
        "it is a handful of pods",
        {_attempts("unschedulable"): "0+1x90", _attempts("scheduled"): "0x90"},
    ),
    Fires(
        "RepriseBindConflicts",
        {CONFLICTS: "0+10x90", _attempts("scheduled"): "0+90x90", _attempts("error"): "0+10x90"},
        20,
        OF_ALL,
        "10% of the attempts have met a conflict at the bind for 15 minutes: somebody else binds or deletes the same pods.",
    ),
    Quiet("RepriseBindConflicts", "there are few", {CONFLICTS: "0+1x90", _attempts("scheduled"): "0+100x90"}),
    Fires(
        "RepriseKubeletRejections",
        {REFUSED: "0+1x90", OTHERWISE_REFUSED: "0+9x90"},
        25,
        {**OF_ALL, "reason": "OutOfcpu"},
        "In 15 minutes kubelets have refused 15 pods that were bound to them (OutOfcpu).",
    ),
    Quiet("RepriseKubeletRejections", "there are two in a while", {REFUSED: "0 0 1 2x90", OTHERWISE_REFUSED: "0x90"}),
    Quiet("RepriseKubeletRejections", "it is not for want of room", {REFUSED: "0x90", OTHERWISE_REFUSED: "0+9x90"}),
    Fires(
        "RepriseWatchSilent",
        {_silence("pods"): "0+60x90", _silence("nodes"): "5x90"},
        7,
        {**OF_A, "resource": "pods"},
        "For 7m 0s the API server has told instance a nothing of pods: it decides on old news.",
    ),
    Quiet("RepriseWatchSilent", "it is asked after 90 s and answers", {_silence("pods"): "0 60 30 90x90"}),
    Fires("RepriseInboxLag", {LAG: "12x90"}, 6, OF_A, "Instance a is 12s behind what it has received."),
    Quiet("RepriseInboxLag", "a burst is over soon", {LAG: "0 12 12 12 0x90"}),
    Quiet("RepriseInboxLag", "it is a moment behind", {LAG: "0.2x90"}),
    Fires(
        "RepriseRelisting",
        {RELISTS: "0+1x90"},
        40,
        {**OF_A, "resource": "pods"},
        "In 30 minutes instance a has listed all pods 30 times.",
    ),
    Quiet("RepriseRelisting", "it happened once", {RELISTS: "0x10 1x80"}),
    Fires(
        "RepriseObjectsLeftOut",
        {LEFT_OUT: "0 0 1x90"},
        4,
        OF_A,
        "Instance a has left out objects that it cannot decode. What they ask for is not in its account.",
    ),
    Quiet("RepriseObjectsLeftOut", "there is none", {LEFT_OUT: "0x90"}),
    Fires(
        "ReprisePluginFailing",
        {FAILED: "0+2x90"},
        20,
        {**OF_ALL, "plugin": "Mine"},
        "Plugin Mine has failed 30 times in 15 minutes. The pods of those cycles go back into the queue.",
    ),
    Quiet("ReprisePluginFailing", "none fails", {FAILED: "0x90"}),
    Fires(
        "RepriseEventsDropped",
        {DROPPED: "0+100x90"},
        20,
        OF_A,
        "1500 Events were not recorded in 15 minutes, because too many waited. Placement is not affected.",
    ),
    Quiet("RepriseEventsDropped", "none is", {DROPPED: "0x90"}),
    Fires(
        "RepriseBatchMismatch",
        {_checks("mismatch"): "0 0 0 1x90", _checks("match"): "0+1x90"},
        5,
        {**OF_ALL, "profile": "reprise"},
        "A check found a reused decision of profile reprise to differ from a full evaluation."
        " Batching of the profile is off from then on.",
    ),
    Quiet("RepriseBatchMismatch", "all are right", {_checks("mismatch"): "0x90", _checks("match"): "0+1x90"}),
    Fires(
        "RepriseBatchHitRatioCollapsed",
        {_batch("hint_used"): "0+54x60 3240x40", _batch("no_hint"): "0+6x60 360+60x40"},
        92,
        {**OF_ALL, "profile": "reprise"},
        "0% of the decisions of profile reprise come from the batch cache, less than a quarter of the share over a day.",
    ),
    Quiet(
        "RepriseBatchHitRatioCollapsed",
        "it is as ever",
        {_batch("hint_used"): "0+54x100", _batch("no_hint"): "0+6x100"},
        (50, 92),
    ),
    Quiet(
        "RepriseBatchHitRatioCollapsed",
        "pods never were alike",
        {_batch("hint_used"): "0+6x60 360x40", _batch("no_hint"): "0+54x60 3240+60x40"},
        (50, 92),
    ),
    Quiet(
        "RepriseBatchHitRatioCollapsed",
        "hardly a pod comes",
        {_batch("hint_used"): "0+54x60 3240x40", _batch("no_hint"): "0+6x60 360+1x40"},
        (50, 92),
    ),
    Fires(
        "RepriseConfigurationRejected",
        {IN_FORCE: "1 1 0x90"},
        6,
        OF_A,
        "Instance a has found a configuration that it cannot use, and goes on with the one before.",
    ),
    Quiet("RepriseConfigurationRejected", "the last one is in force", {IN_FORCE: "1x90"}),
    Quiet("RepriseConfigurationRejected", "it was put right at once", {IN_FORCE: "1 0 1x90"}),
    Fires(
        "RepriseMemoryNearLimit",
        {MEMORY: "95e6x90", LIMIT: "100e6x90"},
        11,
        OF_A,
        "Instance a uses 95% of the memory that its container may use. Beyond that it is killed.",
    ),
    Quiet("RepriseMemoryNearLimit", "there is room", {MEMORY: "60e6x90", LIMIT: "100e6x90"}),
    Quiet("RepriseMemoryNearLimit", "there is no limit", {MEMORY: "95e6x90"}),
)
