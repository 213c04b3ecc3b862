"""Quantiles of histograms."""

from __future__ import annotations

from tools.dashboards.board import Panel, Query
from tools.dashboards.variables import per_second

QUANTILES = (0.5, 0.9, 0.99)


def quantile(share: float, metric: str, by: str, **labels: str) -> str:
    """The bound below which a share of the observations lies, for each combination of the labels."""
    return f"histogram_quantile({share:g}, sum by ({by}, le) ({per_second(f'{metric}_bucket', **labels)}))"


def latency(title: str, metric: str, description: str, **labels: str) -> Panel:
    """A panel of three quantiles of a duration."""
    return Panel(
        title=f"{title} p50, p90, p99",
        description=description,
        unit="s",
        queries=tuple(
            Query(
                quantile(share, metric, "cluster, namespace, job", **labels),
                f"{{{{namespace}}}} {{{{job}}}} p{share * 100:g}",
            )
            for share in QUANTILES
        ),
    )
