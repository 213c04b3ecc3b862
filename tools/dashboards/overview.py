"""The overview: is it up, how fast are pods placed, who waits, what does the API server say, what does the process use."""

from __future__ import annotations

from tools.dashboards.board import Dashboard, Panel, Query, Row
from tools.dashboards.latency import latency, quantile
from tools.dashboards.process import API_SERVER, PROCESS
from tools.dashboards.variables import VARIABLES, chosen, per_second

ATTEMPT = "scheduler_scheduling_attempt_duration_seconds"
ALGORITHM = "scheduler_scheduling_algorithm_duration_seconds"
SLI = "scheduler_pod_scheduling_sli_duration_seconds"
SLOW = ((None, "green"), (1.0, "orange"), (5.0, "red"))

STATE = Row(
    "State",
    (
        Panel(
            title="Up",
            description="Instances that answer Prometheus.",
            unit="none",
            kind="stat",
            width=4,
            height=4,
            steps=((None, "red"), (1, "green")),
            queries=(Query(f"sum by (cluster, namespace, job) ({chosen('up')})", "{{namespace}} {{job}}"),),
        ),
        Panel(
            title="Leaders",
            description="Instances that lead, for each Lease. Anything but 1 is wrong for more than a moment.",
            unit="none",
            kind="stat",
            width=4,
            height=4,
            steps=((None, "red"), (1, "green"), (2, "red")),
            queries=(
                Query(
                    f"sum by (cluster, namespace, job, name) ({chosen('leader_election_master_status')})",
                    "{{namespace}} {{job}} {{name}}",
                ),
            ),
        ),
        Panel(
            title="Pods waiting to be tried",
            description="Pods in the active queue. One that stands by holds the same pods, so the larger number counts.",
            unit="none",
            kind="stat",
            width=4,
            height=4,
            queries=(
                Query(
                    f"max by (cluster, namespace, job) ({chosen('scheduler_pending_pods', queue='active')})",
                    "{{namespace}} {{job}}",
                ),
            ),
        ),
        Panel(
            title="Unschedulable pods",
            description="Pods that fit nowhere and wait for a change in the cluster.",
            unit="none",
            kind="stat",
            width=4,
            height=4,
            steps=((None, "green"), (1, "orange")),
            queries=(
                Query(
                    f"max by (cluster, namespace, job) ({chosen('scheduler_pending_pods', queue='unschedulable')})",
                    "{{namespace}} {{job}}",
                ),
            ),
        ),
        Panel(
            title="Pods bound",
            description="Pods that were bound, a second.",
            unit="ops",
            kind="stat",
            width=4,
            height=4,
            queries=(
                Query(
                    f"sum by (cluster, namespace, job) ({per_second('scheduler_schedule_attempts_total', result='scheduled')})",
                    "{{namespace}} {{job}}",
                ),
            ),
        ),
        Panel(
            title="p99 from queue to bind",
            description="Of 100 pods, how long 99 took at most from the first entry into the active queue to their bind.",
            unit="s",
            kind="stat",
            width=4,
            height=4,
            steps=SLOW,
            queries=(Query(quantile(0.99, SLI, "cluster, namespace, job"), "{{namespace}} {{job}}"),),
        ),
    ),
)

SCHEDULING = Row(
    "Scheduling",
    (
        Panel(
            title="Scheduling rate",
            description="Attempts, decisions and pods bound, a second, of each instance.",
            unit="ops",
            width=12,
            queries=tuple(
                Query(
                    f"sum by (cluster, namespace, job, instance) ({per_second(f'{metric}_count')})",
                    f"{{{{namespace}}}} {{{{job}}}} {{{{instance}}}} {word}",
                )
                for metric, word in ((ATTEMPT, "attempts"), (ALGORITHM, "decisions"), (SLI, "pods bound"))
            ),
        ),
        Panel(
            title="Attempts by result",
            description="What attempts came to, a second. An error is not a pod that does not fit: the log names its cause.",
            unit="ops",
            width=12,
            queries=(
                Query(
                    f"sum by (cluster, namespace, job, result) ({per_second('scheduler_schedule_attempts_total')})",
                    "{{namespace}} {{job}} {{result}}",
                ),
            ),
        ),
        latency("Attempt", ATTEMPT, "From taking a pod out of the queue to its confirmed bind or its failure."),
        latency("Algorithm", ALGORITHM, "From taking a pod out of the queue to the choice of a node."),
        latency(
            "SLI",
            SLI,
            "From a pod's first entry into the active queue to its confirmed bind, all its attempts included.",
        ),
    ),
)

QUEUE = Row(
    "Queue",
    (
        Panel(
            title="Pending pods by queue",
            description="Waiting pods: to be tried (active), after a failure (backoff), for a change (unschedulable), for their gates (gated).",
            unit="none",
            is_stacked=True,
            queries=(
                Query(
                    f"max by (cluster, namespace, job, queue) ({chosen('scheduler_pending_pods')})",
                    "{{namespace}} {{job}} {{queue}}",
                ),
            ),
        ),
        Panel(
            title="Entries into queues by event",
            description="What moves pods into a queue, a second. Many moves by one event tell of pods that are woken in vain.",
            unit="ops",
            queries=(
                Query(
                    f"sum by (cluster, namespace, job, queue, event) ({per_second('scheduler_queue_incoming_pods_total')})",
                    "{{namespace}} {{job}} {{queue}} {{event}}",
                ),
            ),
        ),
        Panel(
            title="Unschedulable pods by plugin",
            description="Which plugins keep waiting pods from nodes; a pod counts for each of them.",
            unit="none",
            queries=(
                Query(
                    f"max by (cluster, namespace, job, plugin) ({chosen('scheduler_unschedulable_pods')})",
                    "{{namespace}} {{job}} {{plugin}}",
                ),
            ),
        ),
        Panel(
            title="Preemption",
            description="Attempts to make room for a pod, and pods that had to go for it, a second.",
            unit="ops",
            queries=(
                Query(
                    f"sum by (cluster, namespace, job) ({per_second('scheduler_preemption_attempts_total')})",
                    "{{namespace}} {{job}} attempts",
                ),
                Query(
                    f"sum by (cluster, namespace, job) ({per_second('scheduler_preemption_victims_sum')})",
                    "{{namespace}} {{job}} victims",
                ),
            ),
        ),
        Panel(
            title="Binds that did not hold",
            description="Conflicts at the API server, nodes found changed right before a bind, and pods that their kubelet refused, a second.",
            unit="ops",
            queries=(
                Query(
                    f"sum by (cluster, namespace, job) ({per_second('scheduler_bind_conflicts_total')})",
                    "{{namespace}} {{job}} conflicts",
                ),
                Query(
                    f"sum by (cluster, namespace, job) ({per_second('scheduler_bind_checks_total', result='refused')})",
                    "{{namespace}} {{job}} refused before the bind",
                ),
                Query(
                    f"sum by (cluster, namespace, job, reason) ({per_second('scheduler_kubelet_rejections_total')})",
                    "{{namespace}} {{job}} kubelet: {{reason}}",
                ),
            ),
        ),
        Panel(
            title="Cache",
            description="Nodes and pods that the scheduler knows, and pods whose bind is not confirmed yet.",
            unit="none",
            queries=(
                Query(
                    f"max by (cluster, namespace, job, type) ({chosen('scheduler_cache_size')})",
                    "{{namespace}} {{job}} {{type}}",
                ),
            ),
        ),
    ),
)

OVERVIEW = Dashboard(
    uid="reprise-scheduler",
    title="Reprise / Scheduler",
    description="Whether the scheduler is up, how fast it places pods, who waits and why, and what it costs.",
    rows=(STATE, SCHEDULING, QUEUE, API_SERVER, PROCESS),
    variables=VARIABLES,
)
