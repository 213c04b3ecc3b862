"""The board of the batch cache: how often decisions are reused, why not, what that costs and saves, and whether it is right."""

from __future__ import annotations

from tools.dashboards.board import Dashboard, Panel, Query, Row
from tools.dashboards.latency import latency, quantile
from tools.dashboards.variables import VARIABLES, chosen, per_second

ATTEMPTS = "scheduler_batch_attempts_total"
DECISION = "scheduler_batch_decision_duration_seconds"
HITS = 'result=~"hint_used|fit_error"'


def _hit_ratio(labels: str) -> str:
    return f"sum by ({labels}) ({per_second(ATTEMPTS, HITS)}) / sum by ({labels}) ({per_second(ATTEMPTS)})"


STATE = Row(
    "State",
    (
        Panel(
            title="Profiles that reuse decisions",
            description="1 while decisions of the profile are reused. The log and /debug/batch name the reason for a 0.",
            unit="none",
            kind="stat",
            width=6,
            height=4,
            steps=((None, "red"), (1, "green")),
            queries=(
                Query(
                    f"min by (cluster, namespace, job, profile) ({chosen('scheduler_batch_enabled')})",
                    "{{namespace}} {{job}} {{profile}}",
                ),
            ),
        ),
        Panel(
            title="Hit ratio",
            description="Decisions that came from a kept evaluation, among all that might have.",
            unit="percentunit",
            kind="stat",
            width=6,
            height=4,
            maximum=1,
            queries=(Query(_hit_ratio("cluster, namespace, job"), "{{namespace}} {{job}}"),),
        ),
        Panel(
            title="Kept evaluations",
            description="Evaluations in the cache: at most batching.maxSignatures.",
            unit="none",
            kind="stat",
            width=6,
            height=4,
            queries=(
                Query(
                    f"max by (cluster, namespace, job, profile) ({chosen('scheduler_batch_entries')})",
                    "{{namespace}} {{job}} {{profile}}",
                ),
            ),
        ),
        Panel(
            title="Wrong decisions found",
            description="Reused decisions that a check found to differ from an evaluation from scratch, in the chosen range. Each is a fault to report.",
            unit="none",
            kind="stat",
            width=6,
            height=4,
            steps=((None, "green"), (1, "red")),
            queries=(
                Query(
                    f"sum by (cluster, namespace, job) (increase({chosen('scheduler_batch_verifications_total', result='mismatch')}[$__range]))",
                    "{{namespace}} {{job}}",
                ),
            ),
        ),
    ),
)

USE = Row(
    "Use",
    (
        Panel(
            title="Hit ratio by profile",
            description="Decisions that came from a kept evaluation, among all that might have.",
            unit="percentunit",
            maximum=1,
            width=12,
            queries=(Query(_hit_ratio("cluster, namespace, job, profile"), "{{namespace}} {{job}} {{profile}}"),),
        ),
        Panel(
            title="Decisions by result",
            description="hint_used: the best node of a kept evaluation. fit_error: it knew that no node fits. hint_not_used: nominated pods took its best node. no_hint: all nodes were evaluated.",
            unit="ops",
            width=12,
            is_stacked=True,
            queries=(
                Query(
                    f"sum by (cluster, namespace, job, result) ({per_second(ATTEMPTS)})",
                    "{{namespace}} {{job}} {{result}}",
                ),
            ),
        ),
        Panel(
            title="Bypasses by reason",
            description="Decisions that did not look into the cache: the pod's plugins cannot sign it, it is nominated to a node, or batching is off.",
            unit="ops",
            queries=(
                Query(
                    f"sum by (cluster, namespace, job, reason) ({per_second('scheduler_batch_bypass_total')})",
                    "{{namespace}} {{job}} {{reason}}",
                ),
            ),
        ),
        Panel(
            title="Flushes by reason",
            description="Kept evaluations that were dropped. expired and evicted are usual; node_event and cluster_event tell of a cluster that changes much.",
            unit="ops",
            queries=(
                Query(
                    f"sum by (cluster, namespace, job, reason) ({per_second('scheduler_batch_cache_flushed_total')})",
                    "{{namespace}} {{job}} {{reason}}",
                ),
            ),
        ),
        Panel(
            title="Kept evaluations by profile",
            description="Evaluations in the cache: at most batching.maxSignatures for all profiles together.",
            unit="none",
            queries=(
                Query(
                    f"max by (cluster, namespace, job, profile) ({chosen('scheduler_batch_entries')})",
                    "{{namespace}} {{job}} {{profile}}",
                ),
            ),
        ),
    ),
)

TIME = Row(
    "Time",
    (
        Panel(
            title="Decision p50 by result",
            description="Half of the decisions took no longer, by how they were come to. The distance of no_hint from hint_used is what reuse saves.",
            unit="s",
            queries=(
                Query(quantile(0.5, DECISION, "cluster, namespace, job, result"), "{{namespace}} {{job}} {{result}}"),
            ),
        ),
        Panel(
            title="Decision p99 by result",
            description="Of 100 decisions 99 took no longer, by how they were come to.",
            unit="s",
            queries=(
                Query(quantile(0.99, DECISION, "cluster, namespace, job, result"), "{{namespace}} {{job}} {{result}}"),
            ),
        ),
        latency(
            "Rescoring",
            DECISION,
            "Decisions from a kept evaluation: the nodes that changed are filtered and scored again, and the best is taken.",
            result="hint_used",
        ),
    ),
)

VERIFICATION = Row(
    "Verification",
    (
        Panel(
            title="Checks by result",
            description="Reused decisions that were compared with an evaluation from scratch, a second; batching.verifyFraction says how many.",
            unit="ops",
            width=12,
            queries=(
                Query(
                    f"sum by (cluster, namespace, job, result) ({per_second('scheduler_batch_verifications_total')})",
                    "{{namespace}} {{job}} {{result}}",
                ),
            ),
        ),
        Panel(
            title="Checked decisions p50, p99",
            description="How long a decision takes when it is checked: the evaluation from scratch is made beside it.",
            unit="s",
            width=12,
            queries=tuple(
                Query(
                    quantile(share, DECISION, "cluster, namespace, job", result="checked"),
                    f"{{{{namespace}}}} {{{{job}}}} p{share * 100:g}",
                )
                for share in (0.5, 0.99)
            ),
        ),
    ),
)

BATCHING = Dashboard(
    uid="reprise-batching",
    title="Reprise / Batching",
    description="How often decisions are reused, why others are not, what reuse saves, and whether it is right.",
    rows=(STATE, USE, TIME, VERIFICATION),
    variables=VARIABLES,
)
