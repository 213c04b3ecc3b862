"""What a KubeSchedulerConfiguration must keep to (kube-scheduler 1.37: apis/config/validation), profiles' plugins aside.

Upstream's rules come with upstream's words. Ours besides: features that are not there yet are refused by name, and so is
what would make this scheduler act as the cluster's kube-scheduler.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

from scheduler.api.field_errors import child, duplicate, element, invalid, required
from scheduler.config import extenders
from scheduler.config.decoding import encode
from scheduler.config.duration import format_duration
from scheduler.config.kube_document import (
    ClientConnection,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
)
from scheduler.config.report import Report

KUBE_SCHEDULER_NAME = "default-scheduler"
KUBE_SCHEDULER_LEASE = ("kube-system", "kube-scheduler")
RETRY_JITTER = 1.2


class Purpose(enum.Enum):
    """What the configuration is for; this decides what is refused besides upstream's rules."""

    RUN = "run beside kube-scheduler"
    REPLACE = "run instead of kube-scheduler"
    EVALUATE = "decide without a cluster: nothing is bound, led or asked"

    @property
    def runs(self) -> bool:
        return self is not Purpose.EVALUATE


def validate(document: KubeSchedulerConfiguration, purpose: Purpose, report: Report) -> None:
    """Report every rule that the document breaks. Defaults have been filled in."""
    _client_connection(document.client_connection, report)
    _leader_election(document.leader_election, purpose, report)
    if document.parallelism <= 0:
        report.error(
            invalid("parallelism", document.parallelism, "should be an integer value greater than zero"),
        )
    _profile_names(document.profiles, purpose, report)
    _common_queue_sort(document.profiles, report)
    _percentage("percentageOfNodesToScore", document.percentage_of_nodes_to_score, purpose, report)
    for index, profile in enumerate(document.profiles):
        path = child(element("profiles", index), "percentageOfNodesToScore")
        _percentage(path, profile.percentage_of_nodes_to_score, purpose, report)
    initial, highest = document.pod_initial_backoff_seconds, document.pod_max_backoff_seconds
    if initial <= 0:
        report.error(invalid("podInitialBackoffSeconds", initial, "must be greater than 0"))
    if highest < initial and not report.is_unread("podInitialBackoffSeconds"):
        wanted = "must be greater than or equal to PodInitialBackoffSeconds"
        report.error(invalid("podMaxBackoffSeconds", highest, wanted))
    extenders.validate(document.extenders, report, runs=purpose.runs)


def _client_connection(client: ClientConnection, report: Report) -> None:
    if client.burst < 0:
        report.error(invalid("clientConnection.burst", client.burst, "must be non-negative"))


def _leader_election(election: LeaderElection, purpose: Purpose, report: Report) -> None:
    path = "leaderElection"
    lease = (election.resource_namespace, election.resource_name)
    if lease == KUBE_SCHEDULER_LEASE and purpose is Purpose.RUN:
        report.error(
            invalid(
                child(path, "resourceName"),
                election.resource_name,
                "this is the Lease of kube-scheduler; choose another name or namespace, "
                "or pass --replace-kube-scheduler if no kube-scheduler runs",
            )
        )
    if not election.leader_elect:
        return
    durations = {
        "leaseDuration": election.lease_duration_seconds,
        "renewDeadline": election.renew_deadline_seconds,
        "retryPeriod": election.retry_period_seconds,
    }
    for name, seconds in durations.items():
        if seconds <= 0:
            report.error(invalid(child(path, name), format_duration(seconds), "must be greater than zero"))
    if election.lease_duration_seconds <= election.renew_deadline_seconds:
        shown = format_duration(election.renew_deadline_seconds)
        report.error(invalid(child(path, "leaseDuration"), shown, "must be greater than `RenewDeadline`"))
    if election.renew_deadline_seconds <= election.retry_period_seconds * RETRY_JITTER:
        # kube-scheduler finds this out when it starts; here it is known before.
        shown = format_duration(election.renew_deadline_seconds)
        report.error(invalid(child(path, "renewDeadline"), shown, "must be greater than `RetryPeriod` * 1.2"))
    if election.resource_lock != "leases":
        wanted = 'resourceLock value must be "leases"'
        report.error(invalid(child(path, "resourceLock"), election.resource_lock, wanted))


def _profile_names(profiles: Sequence[KubeSchedulerProfile], purpose: Purpose, report: Report) -> None:
    first_with: dict[str, int] = {}
    for index, profile in enumerate(profiles):
        path = child(element("profiles", index), "schedulerName")
        name = profile.scheduler_name
        if not name:
            report.error(required(path, "a name that pods give as spec.schedulerName"))
            continue
        if name == KUBE_SCHEDULER_NAME and purpose is Purpose.RUN:
            report.error(
                invalid(
                    path,
                    name,
                    "this is the name of kube-scheduler's profile; choose another, "
                    "or pass --replace-kube-scheduler if no kube-scheduler runs",
                )
            )
        if name in first_with:
            report.error(duplicate(path, child(element("profiles", first_with[name]), "schedulerName")))
        first_with[name] = index


def _common_queue_sort(profiles: Sequence[KubeSchedulerProfile], report: Report) -> None:
    """All profiles share one queue, so they must order it alike."""
    first = profiles[0]
    chosen = first.plugins.queue_sort
    if len(chosen.enabled) > 1:
        path = "profiles[0].plugins.queueSort.enabled"
        report.error(invalid(path, len(chosen.enabled), "only one queue sort plugin can be enabled"))
    sorter = chosen.enabled[0].name if chosen.enabled else ""
    first_args = {one.name: one.args for one in first.plugin_config}.get(sorter)
    for index, profile in enumerate(profiles[1:], start=1):
        path = element("profiles", index)
        if profile.plugins.queue_sort != chosen:
            shown = encode(profile.plugins.queue_sort)
            report.error(invalid(child(path, "plugins.queueSort"), shown, "must be the same for all profiles"))
        for position, config in enumerate(profile.plugin_config):
            if sorter and config.name == sorter and config.args != first_args:
                at = child(element(child(path, "pluginConfig"), position), "args")
                report.error(invalid(at, config.args, "queueSort must be the same for all profiles"))


def _percentage(path: str, percentage: int | None, purpose: Purpose, report: Report) -> None:
    if percentage is None:
        return
    if not 0 <= percentage <= 100:
        report.error(invalid(path, percentage, "not in valid range [0-100]"))
    elif purpose.runs and percentage not in (0, 100):
        wanted = "examining a part of the nodes is not implemented yet; use 0 or 100, which both examine every node"
        report.error(invalid(path, percentage, wanted))
