"""Writes docs/metrics.md: `python -m scheduler.app.metrics_document`. What it says of a metric is what the collectors say."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scheduler.app.edge_counters import edge_counters
from scheduler.app.runtime import Runtime
from scheduler.config.configuration import from_object
from scheduler.core.changes import NODE_ADD
from scheduler.core.measurements import Measurements
from scheduler.framework.status import Code
from scheduler.kube.request_counts import RequestCounts
from scheduler.kube.reviews import ReviewCounts
from scheduler.kube.transport import Transport
from scheduler.profile.failure import Stage
from scheduler.serving.health import HealthCounts
from scheduler.telemetry.catalogue import LEFT_OUT, stability_of
from scheduler.telemetry.configuration_metrics import ConfigurationCollector
from scheduler.telemetry.election_metrics import LeaderElectionCollector
from scheduler.telemetry.exposition import CollectorRegistry, Metric
from scheduler.telemetry.freshness_metrics import FreshnessCollector
from scheduler.telemetry.health_metrics import HealthCollector
from scheduler.telemetry.metrics import SchedulerCollector, registry
from scheduler.telemetry.pod_resources import PodResourcesCollector
from scheduler.telemetry.process_metrics import LimitsCollector, UnderWayCollector
from scheduler.telemetry.rest_client_metrics import DelegationCollector, RestClientCollector

DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"
A_NUMBER = Path("/proc/sys/kernel/pid_max")
"""Some file with a number in it, as the one of a memory limit is."""
EXTENDER = {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "filter"}

HEAD = """\
# Metrics

Made of the collectors by `python -m scheduler.app.metrics_document`; do not edit. Who may read them, and where they are served:
[configuration.md](configuration.md). What to make of them: [runbook.md](runbook.md), and the boards in `deploy/dashboards/`.

Names, labels and buckets of `scheduler_*`, `rest_client_*`, `leader_election_*`, `kube_pod_*` and `kubernetes_*` are kube-scheduler 1.37's where it has such a
metric. STABLE and BETA ones stay as they are; ALPHA ones may change with any version. A child with labels appears with its first
observation, except where its labels are known beforehand and few: those begin at 0.
"""
LAST = """
## Of kube-scheduler's, not here

| metrics | why |
| --- | --- |
"""


class _Nobody:
    """A transport that is never asked."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name}: nobody is there")


def pages() -> dict[str, CollectorRegistry]:
    """The collectors of each page, of a scheduler that does not run."""
    nobody: Any = _Nobody()
    transport: Transport = nobody
    runtime = Runtime(from_object({"extenders": [EXTENDER]}), transport, hostname="", seed=0)
    _observe_everything(runtime.state.measurements)
    requests, reviews, health = RequestCounts("HOST"), ReviewCounts(), HealthCounts()
    requests.seen("GET", 200, 0.0, 0, 0)
    reviews.seen("201", 0.0)
    main = registry(
        LeaderElectionCollector("reprise", is_leader=lambda: True, slow_paths=lambda: 0),
        SchedulerCollector(runtime.state),
        ConfigurationCollector(Counter(), (), lambda: (1, ""), lambda: True),
        FreshnessCollector(silences=dict, lag_seconds=lambda: 0.0, waiting=lambda: 0),
        LimitsCollector(limit_files=[A_NUMBER]),
        UnderWayCollector(tasks=lambda: 0, jobs=dict),
        edge_counters(runtime),
        RestClientCollector(lambda: [requests]),
        DelegationCollector(reviews, reviews),
        HealthCollector(health),
    )
    found = {"/metrics": main}
    for path, collector in (
        ("/metrics/resources", PodResourcesCollector(list)),
        ("/metrics/slis", HealthCollector(health)),
    ):
        found[path] = CollectorRegistry()
        found[path].register(collector)
    return found


def _observe_everything(measurements: Measurements) -> None:
    """One observation for each histogram with labels: only then does it have buckets."""
    measurements.attempt("scheduled", "reprise", 0.0)
    measurements.decision_took("reprise", "no_hint", 0.0)
    measurements.permit_waited("Success", 0.0)
    measurements.scheduled(1, 0.0, after_flush=False)
    measurements.point_took(Stage.FILTER, "reprise", Code.SUCCESS, 0.0)
    measurements.plugin_took("NodeName", Stage.FILTER, Code.SUCCESS, 0.0)
    measurements.event_handled(NODE_ADD)


def render() -> str:
    """The document."""
    parts = [HEAD]
    for path, collectors in pages().items():
        parts.append(
            f"\n## {path}\n\n| metric | type | labels | stability | meaning |\n| --- | --- | --- | --- | --- |\n"
        )
        parts += [_row(family) for family in sorted(collectors.collect(), key=lambda one: one.name)]
        buckets = list(dict.fromkeys(_buckets(collectors)))
        if buckets:
            parts.append("\n| histogram | upper bounds |\n| --- | --- |\n" + "".join(buckets))
    parts.append(LAST)
    parts += [f"| {', '.join(f'`{name}`' for name in one.names)} | {one.why} |\n" for one in LEFT_OUT]
    return "".join(parts)


def names() -> set[str]:
    """All that is served, on any page, as HELP lines name it."""
    return {_name(family) for collectors in pages().values() for family in collectors.collect()}


def _name(family: Metric) -> str:
    suffix = {"counter": "_total", "info": "_info"}.get(family.type, "")
    return f"{family.name}{suffix}"


def _row(family: Metric) -> str:
    labels = ", ".join(getattr(family, "_labelnames", ()))
    kind = "gauge" if family.type == "info" else family.type
    return f"| `{_name(family)}` | {kind} | {labels} | {stability_of(family.name)} | {family.documentation} |\n"


def _buckets(collectors: CollectorRegistry) -> Iterator[str]:
    for family in sorted(collectors.collect(), key=lambda one: one.name):
        bounds = dict.fromkeys(sample.labels["le"] for sample in family.samples if sample.name.endswith("_bucket"))
        if bounds:
            yield f"| `{family.name}` | {', '.join(bounds)} |\n"


def main() -> int:
    """Write it."""
    DOCUMENT.write_text(render(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
