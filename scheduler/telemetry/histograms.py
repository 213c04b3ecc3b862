"""Histograms of the core as those of Prometheus."""

from __future__ import annotations

from prometheus_client.core import HistogramMetricFamily

from scheduler.core.measurements import Histogram


def add_histogram(family: HistogramMetricFamily, labels: list[str], histogram: Histogram) -> None:
    """Add one child."""
    cumulative, buckets = 0, []
    for bound, count in zip((*map(repr, histogram.bounds), "+Inf"), tuple(histogram.buckets), strict=True):
        cumulative += count
        buckets.append((bound, float(cumulative)))
    family.add_metric(labels, buckets, histogram.sum)


def sum_of(histograms: list[Histogram]) -> Histogram:
    """One with the counts of all, which have the same bounds."""
    total = Histogram(histograms[0].bounds)
    total.buckets = [sum(column) for column in zip(*(tuple(one.buckets) for one in histograms), strict=True)]
    total.sum = sum(one.sum for one in histograms)
    return total
