"""docs/metrics.md is what the collectors say, and says of every metric of kube-scheduler's whether it is here."""

from __future__ import annotations

import re

import pytest

from scheduler.app.metrics_document import DOCUMENT, names, render
from scheduler.telemetry.catalogue import BETA, LEFT_OUT, STABLE
from tests.docs.checkout import text

# kube-scheduler 1.37: pkg/scheduler/metrics, those that are always exported.
ALWAYS_THERE = [
    "scheduler_schedule_attempts_total",
    "scheduler_scheduling_attempt_duration_seconds",
    "scheduler_scheduling_algorithm_duration_seconds",
    "scheduler_event_handling_duration_seconds",
    "scheduler_preemption_victims",
    "scheduler_preemption_attempts_total",
    "scheduler_pending_pods",
    "scheduler_queued_entities",
    "scheduler_pod_scheduling_sli_duration_seconds",
    "scheduler_pod_scheduling_attempts",
    "scheduler_pod_scheduled_after_flush_total",
    "scheduler_framework_extension_point_duration_seconds",
    "scheduler_plugin_execution_duration_seconds",
    "scheduler_queue_incoming_pods_total",
    "scheduler_queue_incoming_entities_total",
    "scheduler_goroutines",
    "scheduler_permit_wait_duration_seconds",
    "scheduler_cache_size",
    "scheduler_unschedulable_pods",
    "scheduler_plugin_evaluation_total",
    "scheduler_batch_attempts_total",
    "scheduler_batch_cache_flushed_total",
    "scheduler_batch_rescore_attempts_total",
    "scheduler_batch_rescore_duration_seconds",
    "scheduler_get_node_hint_duration_seconds",
    "scheduler_store_schedule_results_duration_seconds",
    "scheduler_queueing_hint_execution_duration_seconds",
    "scheduler_inflight_events",
    "scheduler_pre_queueing_hint_evaluations_total",
    "scheduler_volume_binder_cache_requests_total",
    "scheduler_volume_scheduling_stage_error_total",
    "scheduler_preemption_goroutines_execution_total",
    "kube_pod_resource_request",
    "kube_pod_resource_limit",
    "rest_client_request_duration_seconds",
    "rest_client_rate_limiter_duration_seconds",
    "rest_client_request_size_bytes",
    "rest_client_response_size_bytes",
    "rest_client_requests_total",
    "rest_client_request_retries_total",
    "rest_client_exec_plugin_ttl_seconds",
    "rest_client_transport_cache_entries",
    "leader_election_master_status",
    "leader_election_slowpath_total",
    "workqueue_depth",
    "kubernetes_healthcheck",
    "kubernetes_healthchecks_total",
    "apiserver_delegated_authn_request_total",
    "apiserver_delegated_authz_request_duration_seconds",
    "process_cpu_seconds_total",
    "go_goroutines",
]


def is_left_out(name: str) -> bool:
    patterns = [pattern for one in LEFT_OUT for pattern in one.names]
    return any(re.fullmatch(pattern.replace("*", ".*"), name) for pattern in patterns)


def test_the_page_is_what_the_collectors_say() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == render(), "run `.venv/bin/python -m scheduler.app.metrics_document`"


@pytest.mark.parametrize("name", ALWAYS_THERE)
def test_each_metric_of_kube_scheduler_is_here_or_there_is_a_reason(name: str) -> None:
    assert (name in names()) != is_left_out(name)


@pytest.mark.parametrize("family", sorted(STABLE | BETA))
def test_what_has_a_promise_is_here_or_left_out(family: str) -> None:
    forms = {family, f"{family}_total"}

    assert bool(forms & names()) != any(map(is_left_out, forms))


def test_dashboards_and_alerts_ask_for_what_is_there() -> None:
    """Or for what Prometheus itself, or a rule, records."""
    asked = set(
        re.findall(
            r"\b(?:scheduler|rest_client|leader_election|process)_[a-z_]+[a-z]\b", text("deploy/alerts/alerts.yaml")
        )
    )
    served = {f"{name}{suffix}" for name in names() for suffix in ("", "_bucket", "_sum", "_count")}

    assert asked - served - {"scheduler_batch_hit_ratio"} == set()
