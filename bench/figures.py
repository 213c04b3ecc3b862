"""What was measured, and what it comes to: medians over rounds, and how many times as fast Reprise is."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec

from bench.machine import Machine


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One contestant, once. Rates are of the pods of the run; times start with the first bind."""

    contestant: str
    number: int
    """Of the round, from 1."""
    ready_seconds: float
    """From start to synced caches."""
    startup_cpu_seconds: float
    bind_seconds: float
    event_seconds: float
    """To the last Event."""
    events: int
    """Pods whose Scheduled Event was delivered; kube-scheduler drops some under load."""
    cpu_ms_per_pod: float
    """From ready to the last Event."""
    apiserver_cpu_ms_per_pod: float
    etcd_cpu_ms_per_pod: float
    rss_mb: float
    """At the last Event, in 10^6 bytes."""
    bound_twice: int
    overcommitted_nodes: int
    others_cores: float
    """Cores that worked for others meanwhile: with much of it, no figure is worth anything."""


class Median(msgspec.Struct, frozen=True, kw_only=True):
    """A contestant's rounds, each figure by its median; what must not happen by its sum."""

    contestant: str
    pods_per_second: float
    pods_per_second_events: float
    events: float
    cpu_ms_per_pod: float
    startup_cpu_seconds: float
    ready_seconds: float
    apiserver_cpu_ms_per_pod: float
    etcd_cpu_ms_per_pod: float
    rss_mb: float
    bound_twice: int
    overcommitted_nodes: int
    others_cores: float


class Result(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="compare"):
    """A run, as it is written to a file."""

    workload: str
    nodes: int
    pods: int
    command: str
    recorded_on: str
    machine: Machine
    rounds: list[Round]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The last line of ``--output json``. A ratio is Reprise's pods a second by the other's; None when one of them did not run."""

    workload: str
    nodes: int
    pods: int
    ratio_default: float | None
    ratio_tuned: float | None
    ratio_null: float | None
    ratio_default_events: float | None
    ratio_tuned_events: float | None
    cpu_ms_per_pod: dict[str, float]
    rss_mb: dict[str, float]
    bound_twice: int
    overcommitted_nodes: int


def medians(result: Result) -> dict[str, Median]:
    """By contestant, in the order of the first round."""
    names = dict.fromkeys(one.contestant for one in result.rounds)
    return {
        name: _median(name, result.pods, [one for one in result.rounds if one.contestant == name]) for name in names
    }


def _median(name: str, pods: int, rounds: Sequence[Round]) -> Median:
    return Median(
        contestant=name,
        # From the first bind to the last there are as many steps as pods, less one.
        pods_per_second=median((pods - 1) / one.bind_seconds for one in rounds),
        pods_per_second_events=median(pods / one.event_seconds for one in rounds),
        events=median(one.events for one in rounds),
        cpu_ms_per_pod=median(one.cpu_ms_per_pod for one in rounds),
        startup_cpu_seconds=median(one.startup_cpu_seconds for one in rounds),
        ready_seconds=median(one.ready_seconds for one in rounds),
        apiserver_cpu_ms_per_pod=median(one.apiserver_cpu_ms_per_pod for one in rounds),
        etcd_cpu_ms_per_pod=median(one.etcd_cpu_ms_per_pod for one in rounds),
        rss_mb=median(one.rss_mb for one in rounds),
        bound_twice=sum(one.bound_twice for one in rounds),
        overcommitted_nodes=sum(one.overcommitted_nodes for one in rounds),
        others_cores=max(one.others_cores for one in rounds),
    )


def ratio(found: dict[str, Median], other: str, figure: str) -> float | None:
    """How many times Reprise's figure is the other's."""
    if "reprise" not in found or other not in found:
        return None
    ours: float = getattr(found["reprise"], figure)
    theirs: float = getattr(found[other], figure)
    return round(ours / theirs, 2)


def summarize(result: Result) -> Summary:
    """What a run comes to."""
    found = medians(result)
    return Summary(
        workload=result.workload,
        nodes=result.nodes,
        pods=result.pods,
        ratio_default=ratio(found, "default", "pods_per_second"),
        ratio_tuned=ratio(found, "tuned", "pods_per_second"),
        ratio_null=ratio(found, "null", "pods_per_second"),
        ratio_default_events=ratio(found, "default", "pods_per_second_events"),
        ratio_tuned_events=ratio(found, "tuned", "pods_per_second_events"),
        cpu_ms_per_pod={name: round(one.cpu_ms_per_pod, 3) for name, one in found.items()},
        rss_mb={name: round(one.rss_mb, 1) for name, one in found.items()},
        bound_twice=sum(one.bound_twice for one in found.values()),
        overcommitted_nodes=sum(one.overcommitted_nodes for one in found.values()),
    )
