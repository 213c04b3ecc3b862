"""Rows of the overview on the process and what it has to do with the API server."""

from __future__ import annotations

from tools.dashboards.board import Panel, Query, Row
from tools.dashboards.latency import quantile
from tools.dashboards.variables import chosen, per_second

API_SERVER = Row(
    "API server",
    (
        Panel(
            title="Requests by code",
            description="Requests to the API server and their answers, a second.",
            unit="reqps",
            queries=(
                Query(
                    f"sum by (cluster, namespace, job, code) ({per_second('rest_client_requests_total')})",
                    "{{namespace}} {{job}} {{code}}",
                ),
            ),
        ),
        *(
            Panel(
                title=f"{verb} p99",
                description=f"Of 100 {verb} requests to the API server, how long 99 took at most, for each instance.",
                unit="s",
                queries=(
                    Query(
                        quantile(
                            0.99, "rest_client_request_duration_seconds", "cluster, namespace, job, instance", verb=verb
                        ),
                        "{{namespace}} {{job}} {{instance}}",
                    ),
                ),
            )
            for verb in ("POST", "GET")
        ),
        Panel(
            title="Silence of watches",
            description="How long ago the API server last said anything of a resource. Up to two minutes are usual where nothing happens.",
            unit="s",
            queries=(
                Query(
                    f"max by (cluster, namespace, job, resource) ({chosen('scheduler_watch_silence_seconds')})",
                    "{{namespace}} {{job}} {{resource}}",
                ),
            ),
        ),
        Panel(
            title="Watch events and new lists",
            description="Objects that watches deliver, a second, and how often everything had to be listed again within the range.",
            unit="short",
            queries=(
                Query(
                    f"sum by (cluster, namespace, job, resource) ({per_second('scheduler_watch_events_total')})",
                    "{{namespace}} {{job}} {{resource}} events",
                ),
                Query(
                    f"sum by (cluster, namespace, job, resource) (increase({chosen('scheduler_relists_total')}[$__rate_interval]))",
                    "{{namespace}} {{job}} {{resource}} lists",
                ),
            ),
        ),
        Panel(
            title="What has not been taken note of",
            description="Age of the oldest change that was received and waits: decisions are made on what was before it.",
            unit="s",
            queries=(
                Query(
                    f"max by (cluster, namespace, job, instance) ({chosen('scheduler_inbox_lag_seconds')})",
                    "{{namespace}} {{job}} {{instance}}",
                ),
            ),
        ),
        Panel(
            title="Writes that wait or are under way",
            description="Binds go first; Events may wait while there are many.",
            unit="none",
            queries=(
                Query(
                    f"sum by (cluster, namespace, job, lane) ({chosen('scheduler_pending_api_writes')})",
                    "{{namespace}} {{job}} {{lane}}",
                ),
            ),
        ),
        Panel(
            title="Events dropped",
            description="Events that were not recorded because too many waited, a second.",
            unit="ops",
            queries=(
                Query(
                    f"sum by (cluster, namespace, job) ({per_second('scheduler_events_dropped_total')})",
                    "{{namespace}} {{job}}",
                ),
            ),
        ),
        Panel(
            title="Objects left out, plugins failed",
            description="Objects that could not be decoded, and failures of plugins, a second. The log names them.",
            unit="ops",
            queries=(
                Query(
                    f"sum by (cluster, namespace, job, resource) ({per_second('scheduler_undecodable_objects_total')})",
                    "{{namespace}} {{job}} {{resource}}",
                ),
                Query(
                    f"sum by (cluster, namespace, job, plugin) ({per_second('scheduler_plugin_failures_total')})",
                    "{{namespace}} {{job}} {{plugin}}",
                ),
            ),
        ),
    ),
)

PROCESS = Row(
    "Process",
    (
        Panel(
            title="Configuration in force",
            description="1 while the configuration that was found last is in force, 0 while it is one before that.",
            unit="none",
            kind="stat",
            width=24,
            height=3,
            steps=((None, "red"), (1, "green")),
            queries=(
                Query(
                    f"min by (cluster, namespace, job, instance) ({chosen('scheduler_configuration_last_reload_successful')})",
                    "{{namespace}} {{job}} {{instance}}",
                ),
            ),
        ),
        Panel(
            title="Memory",
            description="Resident memory of each instance, and the limit of its container where there is one.",
            unit="bytes",
            queries=(
                Query(
                    f"max by (cluster, namespace, job, instance) ({chosen('process_resident_memory_bytes')})",
                    "{{namespace}} {{job}} {{instance}}",
                ),
                Query(
                    f"min by (cluster, namespace, job) ({chosen('scheduler_memory_limit_bytes')})",
                    "{{namespace}} {{job}} limit",
                ),
            ),
        ),
        Panel(
            title="CPU",
            description="Processor time of each instance, in seconds a second.",
            unit="none",
            decimals=2,
            queries=(
                Query(
                    f"sum by (cluster, namespace, job, instance) ({per_second('process_cpu_seconds_total')})",
                    "{{namespace}} {{job}} {{instance}}",
                ),
            ),
        ),
        Panel(
            title="Threads and tasks",
            description="Threads and tasks of the event loop, or goroutines of a scheduler in Go. What only grows is a leak.",
            unit="none",
            queries=(
                Query(
                    f"max by (cluster, namespace, job, instance) ({chosen('process_threads')})",
                    "{{namespace}} {{job}} {{instance}} threads",
                ),
                Query(
                    f"max by (cluster, namespace, job, instance) ({chosen('scheduler_event_loop_tasks')})",
                    "{{namespace}} {{job}} {{instance}} tasks",
                ),
                Query(
                    f"max by (cluster, namespace, job, instance) ({chosen('go_goroutines')})",
                    "{{namespace}} {{job}} {{instance}} goroutines",
                ),
            ),
        ),
    ),
)
