"""What a reader of a board chooses: where the metrics are, and of which schedulers.

Each choice narrows the next one. ``cluster`` and ``namespace`` may be labels that a Prometheus does not have: "All" then
matches their absence.
"""

from __future__ import annotations

from tools.dashboards.board import DATASOURCE, Document

JOB = "reprise"
ANY = ".*"
# Every scheduler has it from its first moment on, kube-scheduler too.
EVERY_SCHEDULER = "scheduler_preemption_attempts_total"
_CLUSTER = 'cluster=~"$cluster"'
_NAMESPACE = f'{_CLUSTER}, namespace=~"$namespace"'
_JOB = f'{_NAMESPACE}, job=~"$job"'
CHOSEN = f'{_JOB}, instance=~"$instance"'
"""What selects the series of the chosen schedulers; every selector has it."""


def chosen(metric: str, *matchers: str, **labels: str) -> str:
    """A selector of the metric's series that belong to the chosen schedulers and have these labels."""
    equal = [f'{name}="{value}"' for name, value in labels.items()]
    return f"{metric}{{{', '.join((*matchers, *equal, CHOSEN))}}}"


def per_second(metric: str, *matchers: str, **labels: str) -> str:
    """How fast a counter grows."""
    return f"rate({chosen(metric, *matchers, **labels)}[$__rate_interval])"


def _label(name: str, title: str, narrowed_by: str, **current: object) -> Document:
    selector = f"{EVERY_SCHEDULER}{{{narrowed_by}}}" if narrowed_by else EVERY_SCHEDULER
    question = f"label_values({selector}, {name})"
    return {
        "name": name,
        "label": title,
        "type": "query",
        "datasource": DATASOURCE,
        "definition": question,
        "query": {"query": question, "refId": f"variable-{name}"},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ANY,
        "current": current or {"text": ["All"], "value": ["$__all"]},
    }


VARIABLES: tuple[Document, ...] = (
    {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "refresh": 1},
    _label("cluster", "Cluster", ""),
    _label("namespace", "Namespace", _CLUSTER),
    _label("job", "Job", _NAMESPACE, text=[JOB], value=[JOB]),
    _label("instance", "Instance", _JOB),
)
