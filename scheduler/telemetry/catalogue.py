"""How stable each metric is, and which of kube-scheduler's there are not here (kube-scheduler 1.37: metrics).

A STABLE or BETA metric keeps its name, its labels and its buckets, which are kube-scheduler's; everything else is ALPHA.
"""

from __future__ import annotations

from typing import NamedTuple

STABLE = frozenset(
    {
        "scheduler_schedule_attempts",
        "scheduler_scheduling_attempt_duration_seconds",
        "scheduler_preemption_victims",
        "scheduler_preemption_attempts",
        "scheduler_pending_pods",
        "scheduler_pod_scheduling_attempts",
        "scheduler_queue_incoming_pods",
        "scheduler_framework_extension_point_duration_seconds",
        "kube_pod_resource_request",
        "kube_pod_resource_limit",
        "kubernetes_healthcheck",
        "kubernetes_healthchecks",
    }
)
BETA = frozenset(
    {
        "scheduler_scheduling_algorithm_duration_seconds",
        "scheduler_pod_scheduling_sli_duration_seconds",
        "scheduler_plugin_execution_duration_seconds",
        "scheduler_permit_wait_duration_seconds",
        "scheduler_unschedulable_pods",
        "scheduler_plugin_evaluation",
    }
)
WITHOUT = ("process_", "python_")
"""Prefixes of those that libraries name and no Kubernetes component gives a stability."""


def stability_of(family: str) -> str:
    """STABLE, BETA or ALPHA, by the name without ``_total``; empty for what libraries give."""
    if family.startswith(WITHOUT):
        return ""
    if family in STABLE:
        return "STABLE"
    return "BETA" if family in BETA else "ALPHA"


class LeftOut(NamedTuple):
    """Metrics of kube-scheduler 1.37 that are not here; ``*`` stands for the rest of a name."""

    names: tuple[str, ...]
    why: str


LEFT_OUT = (
    LeftOut(
        ("scheduler_goroutines", "go_*"),
        "there are no goroutines; see `scheduler_event_loop_tasks`, `process_threads` and `python_gc_*`",
    ),
    LeftOut(
        (
            "scheduler_batch_rescore_attempts_total",
            "scheduler_batch_rescore_duration_seconds",
            "scheduler_get_node_hint_duration_seconds",
            "scheduler_store_schedule_results_duration_seconds",
        ),
        "steps of kube-scheduler's batching that there are not here: a kept evaluation is brought up to date; "
        "`scheduler_batch_decision_duration_seconds` times it",
    ),
    LeftOut(
        (
            "scheduler_queue_incoming_entities_total",
            "scheduler_pre_queueing_hint_evaluations_total",
            "scheduler_inflight_events",
        ),
        "of features that are off or absent here: pod groups, narrowing of hints by pod, events kept in a list of their own",
    ),
    LeftOut(("scheduler_volume_binder_cache_requests_total",), "no such cache: the storage index is always current"),
    LeftOut(("scheduler_preemption_goroutines_duration_seconds",), "deprecated and hidden by kube-scheduler 1.37"),
    LeftOut(
        ("scheduler_async_api_call_*", "scheduler_pending_async_api_calls"),
        "of a gate that is off; `scheduler_pending_api_writes` and `rest_client_*` tell of our dispatcher",
    ),
    LeftOut(
        (
            "scheduler_podgroup_*",
            "scheduler_workload_preemption_*",
            "scheduler_preemption_workload_disruptions",
            "scheduler_preemption_evaluation_duration_seconds",
            "scheduler_preemption_execution_duration_seconds",
            "scheduler_preemption_pdb_violations_total",
            "scheduler_generated_placements_total",
            "scheduler_placement_*",
        ),
        "of gates that are off: pods are scheduled one by one",
    ),
    LeftOut(("dynamic_resource_allocation_*", "scheduler_dra_*"), "pods with resource claims are refused by name"),
    LeftOut(("rest_client_rate_limiter_duration_seconds",), "requests wait for a free slot, not for a rate limiter"),
    LeftOut(
        ("rest_client_exec_plugin_*", "rest_client_transport_*"),
        "client-go's transport cache and its exec plugins; ours has one client a thread",
    ),
    LeftOut(("workqueue_*",), "there is no work queue: the scheduling queue is not one in kube-scheduler either"),
    LeftOut(("informer_*",), "no informers; see `scheduler_watch_*` and `scheduler_relists_total`"),
    LeftOut(
        ("kubernetes_build_info", "kubernetes_feature_enabled", "version_info"),
        "no Kubernetes binary and none of its gates",
    ),
    LeftOut(
        (
            "authentication_*",
            "authenticated_user_requests",
            "authorization_*",
            "apiserver_client_certificate_expiration_seconds",
            "apiserver_audit_*",
            "apiserver_envelope_*",
        ),
        "of the generic API server's library; `apiserver_delegated_*` are here",
    ),
    LeftOut(
        (
            "registered_metrics_total",
            "hidden_metrics_total",
            "disabled_metrics_total",
            "cardinality_enforcement_unexpected_categorizations_total",
        ),
        "of the registry of Kubernetes components",
    ),
)
