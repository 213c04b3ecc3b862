"""What a healthy minute does not show: what does show it, and the test that brings that about."""

from __future__ import annotations

from typing import NamedTuple


class Condition(NamedTuple):
    """When what a selector selects is more than 0, and the test in which it is."""

    when: str
    test: str


# By how a selector begins.
CONDITIONS: dict[str, Condition] = {
    'scheduler_pending_pods{queue="active"': Condition(
        "more pods have come than are decided on between two scrapes",
        "tests/edge/telemetry/test_metrics.py::test_rooms_and_the_cache_are_gauges",
    ),
    "scheduler_bind_conflicts_total": Condition(
        "a pod is deleted or bound by somebody else while its bind is on its way",
        "tests/edge/kube/test_binder.py::test_a_conflict_on_an_unbound_pod_is_not_repeated",
    ),
    'scheduler_bind_checks_total{result="refused"': Condition(
        "somebody else fills the node between decision and bind",
        "tests/integration/test_beside_kube_scheduler.py::test_a_node_that_others_fill_while_a_volume_is_made_does_not_get_the_pod",
    ),
    "scheduler_relists_total": Condition(
        "the API server has forgotten what a watch wants to go on from",
        "tests/edge/kube/test_reflector_connections.py::test_a_server_that_went_back_in_time_is_listed_anew",
    ),
    "scheduler_inbox_lag_seconds": Condition(
        "a scrape comes while changes wait",
        "tests/edge/app/test_loop.py::test_what_waits_is_as_old_as_its_oldest_stimulus",
    ),
    "scheduler_events_dropped_total": Condition(
        "more Events wait than are kept",
        "tests/edge/kube/test_events.py::test_events_beyond_the_queue_are_dropped_counted_and_logged_once",
    ),
    "scheduler_undecodable_objects_total": Condition(
        "an object cannot be decoded",
        "tests/edge/kube/test_reflector_objects.py::test_an_object_that_cannot_be_decoded_is_logged_once_with_its_name_and_the_others_go_on",
    ),
    "scheduler_plugin_failures_total": Condition(
        "a plugin raises",
        "tests/unit/core/test_batching_failures.py::test_a_plugin_that_fails_while_a_row_is_refreshed_ends_the_entry_and_not_the_pod",
    ),
    'scheduler_batch_verifications_total{result="mismatch"': Condition(
        "a check finds a wrong decision",
        "tests/unit/core/test_batching_failures.py::test_a_wrong_plugin_is_caught_and_the_pod_gets_the_right_node",
    ),
    "scheduler_pending_api_writes": Condition(
        "a scrape comes while writes are under way",
        "tests/edge/telemetry/test_process_metrics.py::test_tasks_and_writes_are_read_at_scrape_time",
    ),
    "go_goroutines": Condition(
        "the job of a scheduler in Go is chosen",
        "tests/prometheus/test_questions.py::test_with_two_schedulers_each_is_shown_by_itself",
    ),
    "scheduler_memory_limit_bytes": Condition(
        "the container has a memory limit",
        "tests/edge/telemetry/test_process_metrics.py::test_the_memory_limit_of_the_container_shows_whatever_the_version_of_control_groups",
    ),
}


def is_conditional(selector: str) -> bool:
    """Whether a healthy minute may leave it at 0."""
    return selector.startswith(tuple(CONDITIONS))
